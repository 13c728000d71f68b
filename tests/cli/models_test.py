"""The trained models that come with the package."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from allennlp_nef import load
from allennlp_nef.cli.card import card
from allennlp_nef.cli.check_archive import check_archive
from allennlp_nef.errors import UserError
from allennlp_nef.predictors.archives import load_predictor
from allennlp_nef.resources import archive_path, trained_models
from allennlp_nef_console import main

MODELS = trained_models()
REQUEST = {
    "source": "the patient was sent home",
    "target": "der Patient wurde nach Hause geschickt",
}


def test_list_has_the_scores_and_the_sizes(capsys):
    assert main(["models"]) == 0
    table = capsys.readouterr().out
    assert main(["models", "--json"]) == 0
    models = json.loads(capsys.readouterr().out)
    assert models == MODELS and all(name in table for name in models)
    assert sum(os.path.getsize(model["path"]) for model in models.values()) < 8e6
    for model in models.values():
        assert set(model["scores"]) == {"MCC", "F1-MULT", "Pearson"}


@pytest.mark.parametrize("name", MODELS)
def test_model_has_a_card_and_no_path_of_a_machine(name):
    path = Path(MODELS[name]["path"])
    text = path.with_suffix("").with_suffix(".md").read_text()
    assert card(name)["card"] == text
    assert f"model-index:\n- name: {name}\n" in text and f'load("{name}")' in text
    report = check_archive(name)
    assert all(check["passed"] for check in report["checks"].values())


@pytest.mark.parametrize("name", MODELS)
def test_name_stands_for_the_archive(name):
    predictor = load(name)
    answer = predictor.predict(**REQUEST)
    assert answer["alignments_from"] == "computed" and answer["spans"] is not None
    assert 0 < answer["threshold"] < 1 and "expected_bad_share" in answer
    assert answer == load_predictor(MODELS[name]["path"]).predict(**REQUEST)
    assert {str(p.dtype) for p in predictor._model.parameters()} == {"torch.float32"}
    assert predictor.trace("a b", "c d").attention.shape[1] == 2


def test_predict_takes_a_name(tmp_path):
    requests, output = tmp_path / "requests.jsonl", tmp_path / "answers.jsonl"
    requests.write_text(json.dumps(REQUEST) + "\n")
    assert (
        main(["predict", "qe-en-de", str(requests), "--output-file", str(output), "--silent"]) == 0
    )
    assert json.loads(output.read_text()) == load("qe-en-de").predict(**REQUEST)


def test_archive_comes_before_a_model_and_another_folder_does_not(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("qe-en-de").mkdir()
    assert archive_path("qe-en-de") == MODELS["qe-en-de"]["path"]
    Path("qe-en-de", "config.json").write_text("{}")
    assert archive_path("qe-en-de") == "qe-en-de"
    with pytest.raises(UserError, match="^qe-en-de: expected the archive of a trained model"):
        load("qe-en-de")


@pytest.mark.parametrize("name, quoted", [("qe-xx", "qe-xx"), ("", "''")])
def test_unknown_name_is_an_error_that_lists_the_models(name, quoted):
    message = f"{quoted}: expected the path of an archive, or one of the trained models qe-en-de, qe-ro-en"
    with pytest.raises(UserError, match=f"^{message}"):
        load(name)
    assert archive_path("no/such/model.tar.gz") == "no/such/model.tar.gz"


@pytest.mark.skipif(
    "MLQE_PE" not in os.environ, reason="set MLQE_PE to the folder of the data; 15 minutes"
)
@pytest.mark.parametrize("name", MODELS)
def test_training_gives_the_scores_again(name, root, tmp_path):
    command = [
        sys.executable,
        "benchmarks/prepare_models.py",
        name,
        "--data",
        os.environ["MLQE_PE"],
    ]
    subprocess.run([*command, "--runs", str(tmp_path), "--check"], check=True, cwd=root)
