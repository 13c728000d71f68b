"""`train`, one short training for each task: its metrics and its archive."""

import json
import math

import pytest

from allennlp_nef import load
from allennlp_nef.training.trainer import NefTrainer

SCORES = {
    "archive_path": ["f1_mult", "mcc"],
    "pos_archive": ["accuracy"],
    "ner_archive": ["precision-overall", "recall-overall", "f1-overall"],
}


@pytest.mark.parametrize("name", SCORES)
def test_metrics_are_written_and_the_loss_decreases(name, request):
    archive, names = request.getfixturevalue(name), SCORES[name]
    metrics = json.loads((archive.parent / "metrics.json").read_text())
    for name in names:
        for part in ("training", "validation", "best_validation"):
            assert -1 <= metrics[f"{part}_{name}"] <= 1
    assert math.isfinite(metrics["training_loss"]) and math.isfinite(metrics["validation_loss"])
    first, last = (
        json.loads((archive.parent / f"metrics_epoch_{epoch}.json").read_text())
        for epoch in (0, metrics["epoch"])
    )
    assert metrics["epoch"] == 2 and last["training_loss"] < first["training_loss"]


@pytest.mark.parametrize(
    ("config", "request_", "field"),
    [
        ("trec_nef_f", {"sentence": "Who wrote Hamlet ?"}, "label"),
        ("sst_tree_lstm", {"tree": "(3 (2 a) (4 film))"}, "label"),
        ("sick_relatedness_bilstm", {"first": "a dog runs", "second": "a dog sleeps"}, "score"),
        ("parse_arc_mlp", {"sentence": "dogs bark", "tags": ["NOUN", "VERB"]}, "heads"),
    ],
)
def test_sentences_pairs_and_trees_are_trained_and_answered(trained, config, request_, field):
    archive = trained(config, sentences=40, epochs=1)
    metrics = json.loads((archive.parent / "metrics.json").read_text())
    assert math.isfinite(metrics["training_loss"])
    assert field in load(str(archive)).predict_json(request_)


def test_a_training_ends_with_the_best_epoch_and_the_archive(nef, tmp_path, small, capsys):
    run, config = tmp_path / "run", "training_configs/ner_nef_f_crf_5.jsonnet"
    assert nef("train", config, "-s", run, *small(sentences=20, epochs=1)) == 0
    score = json.loads((run / "metrics.json").read_text())["best_validation_f1-overall"]
    *_, best, model = capsys.readouterr().err.splitlines()
    assert best == f"best epoch: 0 (of 0 to 0), f1-overall: {score:.4f}"
    assert model == f"model: {run / 'model.tar.gz'}"


def test_an_interrupted_training_says_how_to_continue(nef, tmp_path, small, capsys, monkeypatch):
    run, config = tmp_path / "run", "training_configs/ner_nef_f_crf_5.jsonnet"
    for epochs, advice in ((0, "--force"), (1, "--recover")):
        count = iter(range(epochs + 1))

        def train(self, epoch, train=NefTrainer._train_epoch, count=count):
            if next(count, None) == epochs:  # noqa: B023
                raise KeyboardInterrupt
            return train(self, epoch)

        with monkeypatch.context() as patches:
            patches.setattr(NefTrainer, "_train_epoch", train)
            assert nef("train", config, "-s", run, "-f", *small(sentences=20, epochs=3)) == 130
        assert advice in capsys.readouterr().err.splitlines()[-1]
        assert nef("train", config, "-s", run) == 2
        assert advice in capsys.readouterr().err


def test_a_dry_run_prints_the_sizes_of_the_vocabulary(nef, tmp_path, small, capsys):
    config = "training_configs/ner_nef_f_crf_5.jsonnet"
    assert nef("train", config, "-s", tmp_path / "run", "--dry-run", *small(sentences=20)) == 0
    assert "\n  labels: 9\n" in capsys.readouterr().err


def test_a_recovery_with_another_config_names_the_key(nef, tmp_path, small, capsys):
    run, config = tmp_path / "run", "training_configs/ner_nef_f_crf_5.jsonnet"
    assert nef("train", config, "-s", run, *small(sentences=20, epochs=1)) == 0
    capsys.readouterr()
    assert nef("train", config, "-s", run, "--recover", *small(sentences=20, epochs=2)) == 2
    assert "error: trainer.num_epochs: expected 1 as " in capsys.readouterr().err
