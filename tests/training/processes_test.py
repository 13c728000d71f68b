"""`allennlp train` on two processes, for each kind of model."""

import json

import pytest
import torch
from allennlp.common import Params
from allennlp.data import DataLoader
from allennlp.evaluation import SimpleEvaluator
from allennlp.models import load_archive

from tests.small_experiment import ROOT, config_of
from tests.small_transformer import save_bert
from tests.training.small_run import PROCESSES, run_in_child

pytestmark = pytest.mark.usefixtures("plugins_once")
# One of each class of model, with all metrics.
NAMES = [
    "qe_nef_f_sentences",
    "qe_transformer",
    "ner_nef_f_crf_5",
    "sick_entailment_bilstm",
    "sst_tree_lstm",
    "parse_arc_mlp",
]


def small(name, folder, **overrides):
    """A config with a small transformer, 32 sentences of training and of validation data, and one epoch."""
    text = json.dumps(config_of(name))
    if "word_pieces" in text:
        save_bert(folder / "bert")
        pretrained = config_of(name)["model"]["pair_embedder"]["model_name"]
        text = text.replace(pretrained, str(folder / "bert"))
    config = {**json.loads(text), **PROCESSES, **overrides}
    for reader in ("dataset_reader", "validation_dataset_reader"):
        config[reader]["max_instances"] = 32
    config["validation_data_loader"] = {"batch_size": 4}
    config["trainer"].update(num_epochs=1, cuda_device=-1)
    return config


@pytest.mark.parametrize("name", NAMES)
def test_validation_scores_are_those_of_one_process(name, tmp_path, monkeypatch):
    monkeypatch.chdir(ROOT)
    monkeypatch.setenv("GLOO_SOCKET_IFNAME", "lo")
    config = small(name, tmp_path)
    assert run_in_child(config, tmp_path / "run") == 0
    scores = json.loads((tmp_path / "run" / "metrics.json").read_text())
    archive = load_archive(str(tmp_path / "run" / "model.tar.gz"))
    loader = DataLoader.from_params(
        Params({"batch_size": 4}),
        reader=archive.validation_dataset_reader,
        data_path=config["validation_data_path"],
    )
    loader.index_with(archive.model.vocab)
    with torch.no_grad():
        expected = SimpleEvaluator()(archive.model, loader)
    expected.pop("loss")  # a mean over batches
    found = {metric: scores[f"best_validation_{metric}"] for metric in expected}
    assert found == pytest.approx(expected, rel=1e-4, abs=1e-6)
