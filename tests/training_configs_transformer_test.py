"""The config with a pretrained transformer, with a small one that the test makes."""

import math
import shutil
from types import SimpleNamespace

import pytest
import torch
from allennlp.common.checks import ConfigurationError
from transformers import PreTrainedModel

from allennlp_nef.modules.token_embedders import WordPiecesEmbedder
from allennlp_nef.predictors.archives import load_predictor
from allennlp_nef.training import SaveTransformer
from allennlp_nef_console import main
from tests.small_experiment import CONFIGS, ROOT, experiment, step
from tests.small_transformer import DIM, save_bert

pytestmark = pytest.mark.usefixtures("offline")
CONFIG = ROOT / "training_configs" / "ner_nef_f_crf_5_transformer.jsonnet"


@pytest.fixture
def write_config(tmp_path):
    """`write_config(knobs)`: writes the config with a small transformer and these knobs; its path."""
    bert = tmp_path / "bert"
    save_bert(bert)

    def write(knobs=""):
        path = tmp_path / "config.jsonnet"
        path.write_text(
            f"(import '{CONFIG}') {{ transformer_model: '{bert}', transformer_dim: {DIM}, "
            f"transformer_length: 64, {knobs} }}",
            encoding="utf-8",
        )
        return path

    return write


@pytest.fixture
def build(tmp_path, monkeypatch):
    monkeypatch.chdir(ROOT)
    return lambda path: experiment(path, tmp_path / "run")


def test_transformer_and_decoder_learn_in_one_step(build, write_config):
    trainer = build(write_config()).trainer
    loss, changed = step(trainer)
    assert math.isfinite(loss)
    assert any("_transformer.transformer.encoder.layer.0." in name for name in changed)
    assert any(name.startswith("decoder.") for name in changed)


def test_learning_rate_of_the_transformer_is_lower_and_follows_the_schedule(build, write_config):
    trainer = build(write_config("transformer_lr: 1e-4, lr: 1e-2,")).trainer
    names = {id(parameter): name for name, parameter in trainer.model.named_parameters()}
    transformer, rest = trainer.optimizer.param_groups
    assert all(
        ".token_embedder_transformer.transformer." in names[id(p)] for p in transformer["params"]
    )
    assert not any(
        ".token_embedder_transformer.transformer." in names[id(p)] for p in rest["params"]
    )
    assert len(transformer["params"]) + len(rest["params"]) == len(names)

    schedule = trainer._learning_rate_scheduler
    rates = []
    for batch in range(10):
        schedule.step_batch(batch)
        rates.append(rest["lr"])
        assert transformer["lr"] == pytest.approx(rest["lr"] / 100)
    assert max(rates) <= 1e-2 and min(rates) > 0 and len(set(rates)) > 2


@pytest.mark.parametrize(
    ("knobs", "dim"),
    [
        ("", DIM),
        ("embedding_dim: 6,", DIM + 6),
        ("embedding_dim: 6, affix_dim: 2, case_dim: 3,", DIM + 13),
        ("character_dim: 3, character_lstm_dim: 4,", DIM + 8),
    ],
)
def test_transformer_goes_with_words_affixes_and_characters(build, write_config, knobs, dim):
    trainer = build(write_config(knobs)).trainer
    assert trainer.model.input_representation.get_output_dim() == dim
    loss, _ = step(trainer)
    assert math.isfinite(loss)


@pytest.mark.parametrize(
    ("task", "predictor", "request_of"),
    [
        ("ner", "nef_tagger", lambda words: {"tokens": words}),
        ("pos", "nef_tagger", lambda words: {"tokens": words}),
        ("trec", "sentence_classifier", lambda words: {"sentence": " ".join(words)}),
    ],
)
def test_archive_needs_neither_the_pretrained_folder_nor_its_weights(
    allennlp, small, tmp_path, monkeypatch, capfd, task, predictor, request_of
):
    bert, run, moved = tmp_path / "bert", tmp_path / "run", tmp_path / "elsewhere"
    save_bert(bert)
    config = tmp_path / "config.jsonnet"
    config.write_text(
        f"(import '{CONFIGS}/parts/{task}.libsonnet') + (import '{CONFIGS}/parts/transformer.libsonnet') "
        f"{{ transformer_model: '{bert}', transformer_dim: {DIM} }}",
        encoding="utf-8",
    )
    limits = {"validation_dataset_reader.max_instances": 12}
    allennlp("train", config, "-s", run, *small(24, epochs=1, **limits))
    # The second sentence is longer than what the transformer reads at once.
    requests = [request_of(["Sheldon", "met", "Selby", "."] * times) for times in (1, 30)]

    def answers(archive):
        return load_predictor(str(archive), name=predictor).predict_batch_json(requests)

    expected = answers(run / "model.tar.gz")
    moved.mkdir()
    shutil.move(str(run / "model.tar.gz"), str(moved))
    shutil.rmtree(str(run))
    shutil.rmtree(str(bert))
    monkeypatch.setattr(PreTrainedModel, "from_pretrained", None)
    capfd.readouterr()
    assert answers(moved / "model.tar.gz") == expected
    assert "TRAIN" not in capfd.readouterr().err
    check = ["check-archive", str(moved / "model.tar.gz")]
    assert main(check) == 0


def test_two_transformers_in_a_model_are_an_error(tmp_path):
    for name in ("a", "b"):
        save_bert(tmp_path / name)
    model = torch.nn.ModuleList(WordPiecesEmbedder(str(tmp_path / name)) for name in ("a", "b"))
    with pytest.raises(
        ConfigurationError, match="expected one transformer in a model, got .* and "
    ):
        SaveTransformer(str(tmp_path)).on_start(SimpleNamespace(model=model))
