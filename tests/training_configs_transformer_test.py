"""The config with a pretrained transformer, with a small one that the test makes."""

import math

import pytest
from allennlp.models import load_archive
from allennlp.predictors import Predictor

from tests.small_experiment import ROOT, experiment, step
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
    # The tagger does not use BERT's pooler.
    loss, changed = step(trainer, without_gradient=[".pooler."])
    assert math.isfinite(loss)
    assert any(".transformer_model.encoder.layer.0." in name for name in changed)
    assert any(name.startswith("decoder.") for name in changed)


def test_learning_rate_of_the_transformer_is_lower_and_follows_the_schedule(build, write_config):
    trainer = build(write_config("transformer_lr: 1e-4, lr: 1e-2,")).trainer
    names = {id(parameter): name for name, parameter in trainer.model.named_parameters()}
    transformer, rest = trainer.optimizer.param_groups
    assert all(".transformer_model." in names[id(p)] for p in transformer["params"])
    assert not any(".transformer_model." in names[id(p)] for p in rest["params"])
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
    loss, _ = step(trainer, without_gradient=[".pooler."])
    assert math.isfinite(loss)


def test_archive_tags_sentences_longer_than_the_transformer_reads_at_once(
    allennlp, small, write_config, tmp_path
):
    folder = tmp_path / "run"
    limits = {"validation_dataset_reader.max_instances": 12}
    allennlp("train", write_config(), "-s", folder, *small(24, epochs=1, **limits))
    archive = load_archive(str(folder / "model.tar.gz"))
    predictor = Predictor.from_archive(archive, "nef_tagger")
    words = ["Sheldon", "met", "Selby", "."] * 30
    answers = [predictor.predict_json({"tokens": tokens}) for tokens in (words, words[:3])]
    assert [len(answer["tags"]) for answer in answers] == [120, 3]
