"""`card`: what the hub reads from a model card."""

import json

import pytest
from huggingface_hub import ModelCard

from allennlp_nef.cli import card as command
from allennlp_nef.cli.card import _names, card
from allennlp_nef.errors import UserError
from tests.cli.commands import output


def test_card_has_what_the_hub_reads(ner_archive, tmp_path):
    metrics, path = tmp_path / "metrics.json", tmp_path / "README.md"
    metrics.write_text('{"f1-overall": 0.5, "f1-PER": 0.4, "loss": 3}')
    options = ["--dataset", "CoNLL-2002", "--language", "es", "nl", "--license", "mit"]
    options += ["--metrics", f"test={metrics}", "--output", path]
    assert output(command, ner_archive, *options) == f"{path}\n"
    head = ModelCard.load(path).data
    assert (head.language, head.license) == (["es", "nl"], "mit")
    scores = {
        (each.dataset_split, each.metric_type): each.metric_value for each in head.eval_results
    }
    best = json.loads((ner_archive.parent / "metrics.json").read_text())
    assert scores["test", "f1"] == 0.5
    assert scores["validation", "f1"] == best["best_validation_f1-overall"]
    assert {name for _, name in scores} == {"f1", "precision", "recall", "accuracy"}
    text = path.read_text()
    assert "B-PER" in text and "`neural_easy_first`" in text and "CoNLL-2002" in text


def test_card_of_a_run_has_the_names_of_its_folder_and_data(ner_archive):
    text = card(str(ner_archive.parent))
    assert text.startswith("---\n") and output(command, ner_archive.parent).strip() == text.strip()
    assert f"# {ner_archive.parent.name}\n" in text and "on train.conll" in text
    assert "# Spanish names\n" in card(str(ner_archive.parent), name="Spanish names")


def test_data_paths_of_several_files_are_named():
    assert _names(["data/a.tsv", {"spans": "data/b.tsv"}]) == ["a.tsv", "b.tsv"]


def test_metrics_need_a_split(ner_archive):
    with pytest.raises(UserError):
        output(command, ner_archive, "--metrics", "metrics.json")
