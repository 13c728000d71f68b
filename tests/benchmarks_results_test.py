"""The studies of benchmarks/results.py and their configs."""

import json
import math
import subprocess
import sys

import _jsonnet
import pytest

from tests.conftest import ROOT
from tests.small_experiment import can_be_built, experiment, step, with_encoder

CONFIGS = {path.stem: path for path in sorted(ROOT.glob("benchmarks/configs/*.jsonnet"))}
FILES = {"train": "a", "dev": "b", "test": "c"}


@pytest.fixture
def results(benchmarks):
    import results

    return results


def test_all_rows_have_a_config_and_all_configs_are_used(results):
    used: set[str] = set()
    for task, study in results.STUDIES.items():
        rows = {*study.rows.split(), *study.more_rows.split()}
        assert {*study.pairs.replace(",", " ").split(), *study.row_overrides} <= rows
        assert all(results.Run(task, row, 7, FILES, "", {}).config.is_file() for row in rows)
        used |= rows
    assert used >= CONFIGS.keys()
    params = results.Run("ner-baselines", "ner_lan_unscaled", 7, FILES, "", {}).params()
    assert params["pytorch_seed"] == 7 and params["validation_data_path"] == "b"
    assert params["trainer"]["num_epochs"] == 8


@pytest.mark.parametrize("name", [name for name in CONFIGS if can_be_built(name)])
def test_each_config_takes_a_training_step(name, tmp_path, monkeypatch, xlm_roberta):
    monkeypatch.chdir(ROOT)
    config = json.loads(_jsonnet.evaluate_file(str(CONFIGS[name])))
    config = with_encoder(config, xlm_roberta)
    loss, changed = step(experiment(config, tmp_path / "run").trainer)
    assert math.isfinite(loss) and changed


def test_trivial_labels_and_arcs(results):
    label_of = results.most_frequent([["a", "b", "a"], ["b", "c"]], [["X", "Y", "X"], ["Z", "X"]])
    assert list(map(label_of, ("a", "b", "new"))) == ["X", "Y", "X"]
    gold = results.STUDIES["parsing"].labels.predicted
    answer = {"heads": [2, 0, 2], "labels": ["nsubj:pass", "root", "obj"]}
    assert gold(answer) == ["1 nsubj", "root root", "-1 obj"]


def test_data_that_are_missing_or_ambiguous(results, tmp_path):
    for name in ("esp.train", "esp.testa", "esp.testb", "ned.train"):
        (tmp_path / name).touch()
    study = results.STUDIES["ner"]
    assert results.find_data(study, tmp_path, "esp")["dev"] == str(tmp_path / "esp.testa")
    for language in (None, "ned"):
        with pytest.raises(SystemExit):
            results.find_data(study, tmp_path, language)


def test_the_predicted_score_is_one_that_answers_have(results):
    from studies import HTER

    assert HTER.predicted({"hter": 0.3, "expected_bad_share": 0.2}) == [0.3]
    assert HTER.predicted({"expected_bad_share": 0.2}) == [0.2]


@pytest.mark.slow
def test_a_study_from_training_to_tables(tmp_path):
    command = [sys.executable, "benchmarks/results.py", "thresholds", "--data", "fixtures/qe"]
    command += ["--configs", "qe_bilstm_affixes", "--output", str(tmp_path), "--seeds", "1", "2"]
    first, again, other = (
        subprocess.run(
            [*command, "--overrides", json.dumps({"trainer.num_epochs": epochs})],
            cwd=ROOT,
            capture_output=True,
            text=True,
        )
        for epochs in (1, 1, 2)
    )
    rows = [line for line in first.stdout.splitlines() if line.startswith("| `qe_bilstm")]
    assert len(rows) == 3  # given, computed and no alignments
    assert again.stdout == first.stdout and other.returncode == 1
