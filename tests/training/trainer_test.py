"""`allennlp train` on two processes. They are forks, which need no imports."""

import json
from functools import partial

import pytest
import torch
from allennlp.commands import train

PROCESSES = {"distributed": {"cuda_devices": [-1, -1]}}


@pytest.fixture
def run(allennlp, monkeypatch, tmp_path):
    """`run(config, **overrides)`: trains for an epoch; the folder."""
    fork = partial(torch.multiprocessing.start_processes, start_method="fork")
    monkeypatch.setattr(train.mp, "spawn", fork)
    monkeypatch.setenv("GLOO_SOCKET_IFNAME", "lo")
    monkeypatch.setenv("OMP_NUM_THREADS", "1")

    def start(config, **overrides):
        overrides = {"trainer.num_epochs": 1, "dataset_reader.max_instances": 41, **overrides}
        path = f"training_configs/{config}.jsonnet"
        allennlp("train", path, "-s", tmp_path / "run", "-o", json.dumps(overrides))
        return tmp_path / "run"

    return start


@pytest.fixture
def evaluate(allennlp):
    """`evaluate(folder, *options)`: the metrics of a trained model on its validation data."""

    def start(folder, *options):
        data = json.loads((folder / "config.json").read_text())["validation_data_path"]
        scores = folder / "scores.json"
        allennlp("evaluate", folder / "model.tar.gz", data, "--output-file", scores, *options)
        return json.loads(scores.read_text())

    return start


def validation_of(folder):
    metrics = json.loads((folder / "metrics.json").read_text())
    prefix = "best_validation_"
    scores = {name[len(prefix) :]: value for name, value in metrics.items() if prefix in name}
    scores.pop("reg_loss", None)  # of the trainer alone
    return scores


CASES = {
    # An odd number of sentences on both sides, and more batches in one process than in the other.
    "qe_nef_f_sentences": {
        **PROCESSES,
        "validation_dataset_reader.max_instances": 33,
        "validation_data_loader.batch_size": 4,
    },
    # A loss that is summed in training; one process has no validation data; worker processes; two batches an update.
    "ner_lan_bilstm_crf": {
        **PROCESSES,
        "validation_dataset_reader.max_instances": 1,
        "data_loader.num_workers": 1,
        "trainer.num_gradient_accumulation_steps": 2,
    },
    # Words are counted; some parameters are frozen; a loss that is a mean over words.
    "ner_char_bilstm_crf": {**PROCESSES, "trainer.no_grad": ["text_field_embedder"]},
    # The models beside the tagger.
    "sick_entailment_bilstm": {**PROCESSES, "validation_data_loader.batch_size": 4},
    "parse_arc_mlp": {**PROCESSES, "validation_data_loader.batch_size": 4},
    "sst_tree_lstm": {**PROCESSES, "validation_data_loader.batch_size": 4},
    # One process.
    "pos_psa_bilstm_crf": {"validation_data_loader.batch_size": 7},
}


@pytest.mark.parametrize("config", [*CASES])
def test_validation_scores_are_those_of_the_sentences_one_by_one(config, run, evaluate):
    folder = run(config, **CASES[config])
    expected = evaluate(folder, "--batch-size", "1")
    assert validation_of(folder) == pytest.approx(expected, rel=1e-5, abs=1e-7)


def test_losses_do_not_depend_on_batches(run, evaluate):
    """Of two processes, on the same 40 sentences in training and in validation, and of `evaluate`."""
    without_changes = {"trainer.optimizer.lr": 0, "model.dropout": 0}
    readers = {
        f"{name}.max_instances": 40 for name in ("dataset_reader", "validation_dataset_reader")
    }
    folder = run(
        "pos_bilstm",
        **PROCESSES,
        **without_changes,
        **readers,
        **{"dataset_reader.max_tokens": None, "train_data_path": "fixtures/pos/dev.conllu"},
        **{"model.tag_head.average": "token", "validation_data_loader.batch_size": 7},
    )
    scores = validation_of(folder)
    metrics = json.loads((folder / "metrics.json").read_text())
    assert scores == pytest.approx({name: metrics[f"training_{name}"] for name in scores}, rel=1e-5)
    assert scores == pytest.approx(evaluate(folder), rel=1e-5)
