"""`benchmarks/results.py`, on the fixtures and small taggers."""

import json
import shutil
import subprocess
import sys

import pytest

CONFIGS = "pos_lan_bilstm_softmax", "pos_lan_bilstm_crf"
STEP = "trainer.optimizer.lr"


@pytest.fixture(scope="module")
def results(root, tmp_path_factory):
    """A call of it with other overrides: status, what it printed, its errors and its folder."""
    data, output = (tmp_path_factory.mktemp(name) for name in ("data", "results"))
    for part in ("train", "dev", "test"):
        text = (root / "fixtures" / "pos" / f"{part}.conllu").read_text(encoding="utf-8")
        few = "\n\n".join(text.split("\n\n")[:20])
        (data / f"few-{part}.conllu").write_text(few + "\n\n", encoding="utf-8")

    def run(overrides, configs=CONFIGS, seeds="12"):
        command = [sys.executable, str(root / "benchmarks" / "results.py"), "pos-baselines"]
        command += ["--data", str(data), "--output", str(output), "--configs", *configs]
        command += ["--seeds", *seeds, "--overrides", json.dumps(overrides)]
        done = subprocess.run(command, capture_output=True, encoding="utf-8", check=False)
        return done.returncode, done.stdout, done.stderr, output

    return run


def test_runs_tables_and_what_is_kept(results):
    status, printed, errors, output = results({"trainer.num_epochs": 1})
    assert status == 0, errors
    assert printed == (output / "results.md").read_text() + "\n"
    rows = [line.split(" | ") for line in printed.splitlines()]
    seeds = {row[0]: row[3] for row in rows[2:4]}
    assert seeds == {f"| `{config}`": "2" for config in CONFIGS}
    assert "`pos_lan_bilstm_crf` minus `pos_lan_bilstm_softmax`, 2 seeds" in printed
    finished = json.loads((output / "results.json").read_text())
    assert {config: len(runs) for config, runs in finished.items()} == dict.fromkeys(CONFIGS, 2)
    for config in CONFIGS:
        for seed in (1, 2):
            folder = output / config / str(seed)
            run = json.loads((folder / "config.json").read_text())
            assert run["pytorch_seed"] == seed and run["trainer"]["num_epochs"] == 1
            assert run["trainer"]["optimizer"]["lr"] == 0.03
            tagged = (folder / "test.conllu").read_text(encoding="utf-8")
            assert tagged.count("\n\n") == 20
            assert len(json.loads((folder / "result.json").read_text())["counts"]["dev"]) == 20

    # What is finished is not repeated; what is not is run.
    kept = output / CONFIGS[0] / "1" / "model.tar.gz"
    written = kept.stat().st_mtime_ns
    shutil.rmtree(output / CONFIGS[1] / "2")
    assert results({"trainer.num_epochs": 1})[0] == 0
    assert kept.stat().st_mtime_ns == written
    assert (output / CONFIGS[1] / "2" / "result.json").exists()

    # A run of another experiment is not taken for this one's.
    status, _, errors, _ = results({"trainer.num_epochs": 1, STEP: 0.2}, CONFIGS[:1], "1")
    path = output / CONFIGS[0] / "1" / "config.json"
    assert status == 2
    assert errors.splitlines()[-1].endswith(
        f"--output: {path}: {STEP}: expected 0.2, got 0.03. "
        "Runs are kept: delete this one, or choose another folder"
    )


def test_what_ends_badly_names_its_log(results):
    status, _, errors, output = results({"model.dropout": "much"}, CONFIGS[:1], "3")
    log = output / CONFIGS[0] / "3.log"
    assert status == 1
    last = errors.splitlines()[-1]
    assert last == f"RuntimeError: {CONFIGS[0]}, seed 3 ended with status 1: see {log}"
    assert "much" in log.read_text()
