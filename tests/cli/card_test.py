import json

import pytest
from huggingface_hub import ModelCard

from allennlp_nef.cli.card import card
from allennlp_nef.errors import UserError
from allennlp_nef_console import main


@pytest.fixture(scope="module")
def run(allennlp, small, tmp_path_factory):
    folder = tmp_path_factory.mktemp("card") / "ner"
    allennlp(
        "train", "training_configs/ner_nef_f_crf_5.jsonnet", "-s", folder, *small(24, epochs=1)
    )
    return folder


def test_card_has_what_the_hub_reads(run, tmp_path, capsys):
    metrics = tmp_path / "metrics.json"
    metrics.write_text('{"f1-overall": 0.5, "f1-PER": 0.4, "loss": 3}')
    output = tmp_path / "README.md"
    options = ["--dataset", "CoNLL-2002", "--language", "es", "nl", "--license", "mit"]
    options += ["--metrics", f"test={metrics}", "--output", str(output)]
    assert main(["card", str(run / "model.tar.gz"), *options]) == 0
    assert str(output) in capsys.readouterr().out
    head = ModelCard.load(output).data
    assert (head.language, head.license, head.model_name) == (["es", "nl"], "mit", "ner")
    scores = {
        (result.dataset_split, result.metric_type): result.metric_value
        for result in head.eval_results
    }
    best = json.loads((run / "metrics.json").read_text())
    assert scores["test", "f1"] == 0.5
    assert scores["validation", "f1"] == best["best_validation_f1-overall"]
    assert len(scores) == 5 and "loss" not in dict(scores)
    text = output.read_text()
    assert "B-PER" in text and "`neural_easy_first`" in text and "train.conll" in text


def test_function_returns_the_facts(run):
    facts = card(str(run), name="Spanish names")
    assert facts["card"].startswith("---\n") and "# Spanish names" in facts["card"]
    assert facts["parameters"] > 1000 and facts["bytes"] > 1000 and "O" in facts["labels"]


@pytest.mark.parametrize(
    ("content", "message"),
    [(None, "SPLIT=FILE"), ("[]", "JSON object of metrics"), ("{", "JSON file of metrics")],
)
def test_wrong_metrics_are_errors(run, tmp_path, content, message):
    path = tmp_path / "metrics.json"
    if content is not None:
        path.write_text(content)
    with pytest.raises(UserError, match=message):
        card(str(run), metrics=[f"test={path}" if content else str(path)])


def test_files_that_are_read_are_not_overwritten(run):
    for name in ("model.tar.gz", "metrics.json"):
        with pytest.raises(UserError, match="output: expected a file of its own"):
            card(str(run), output=str(run / name))


def test_damaged_archive_is_an_error(tmp_path):
    (tmp_path / "model.tar.gz").write_bytes(b"none")
    with pytest.raises(UserError, match="expected an archive"):
        card(str(tmp_path / "model.tar.gz"))
