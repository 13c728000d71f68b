"""`allennlp train` with configs of parts of speech and named entities, on a few sentences of the fixtures."""

import json
import math

import pytest
from allennlp.common.checks import ConfigurationError
from allennlp.models import load_archive
from allennlp.predictors import Predictor

from allennlp_nef.models import NefTagger
from tests.small_experiment import ROOT

CONFIGS = ROOT / "training_configs"
CHAR_BILSTM_CRF = CONFIGS / "ner_char_bilstm_crf.jsonnet"
SCORES = {"pos": ["accuracy"], "ner": ["precision-overall", "recall-overall", "f1-overall"]}


@pytest.fixture
def train(allennlp, small, tmp_path):
    """`train(config, name)`: a short training; the folder that it wrote."""

    def run(config, name="run", *options, epochs=1):
        limit = {"validation_dataset_reader.max_instances": 12}
        folder = tmp_path / name
        allennlp("train", config, "-s", folder, *small(32, epochs=epochs, **limit), *options)
        return folder

    return run


def test_training_of_a_quality_estimator(archive_path):
    metrics = json.loads((archive_path.parent / "metrics.json").read_text())
    for name in ("f1_ok", "f1_bad", "f1_mult", "mcc", "accuracy"):
        for part in ("training", "validation", "best_validation"):
            assert -1 <= metrics[f"{part}_{name}"] <= 1
    product = metrics["validation_f1_ok"] * metrics["validation_f1_bad"]
    assert metrics["validation_f1_mult"] == pytest.approx(product)
    assert metrics["epoch"] == 2
    archive = load_archive(str(archive_path))
    assert isinstance(archive.model, NefTagger)
    assert set(archive.model.vocab.get_token_to_index_vocabulary("labels")) == {"OK", "BAD"}
    first, last = (
        json.loads((archive_path.parent / f"metrics_epoch_{epoch}.json").read_text())
        for epoch in (0, 2)
    )
    assert last["training_loss"] < first["training_loss"]


@pytest.mark.parametrize("name", ["ner_char_bilstm_crf", "pos_easy_first"])
def test_training_writes_finite_metrics_and_an_archive_that_tags(train, name):
    folder = train(CONFIGS / f"{name}.jsonnet")
    metrics = json.loads((folder / "metrics.json").read_text())
    for score in SCORES[name[:3]]:
        for part in ("training", "best_validation"):
            assert 0 <= metrics[f"{part}_{score}"] <= 1
    assert math.isfinite(metrics["training_loss"]) and math.isfinite(metrics["validation_loss"])

    archive = load_archive(str(folder / "model.tar.gz"))
    labels = archive.model.vocab.get_token_to_index_vocabulary("labels")
    answer = Predictor.from_archive(archive).predict_json({"sentence": "a new sentence"})
    assert len(answer["tags"]) == 3 and {*answer["tags"]} <= {*labels}


def write_config(folder, text):
    """`ner_char_bilstm_crf` with other fields."""
    path = folder / "config.jsonnet"
    path.write_text(f"(import '{CHAR_BILSTM_CRF}') {{ {text} }}", encoding="utf-8")
    return path


def test_an_archive_does_not_need_the_pretrained_vectors(train, tmp_path):
    vectors = tmp_path / "vectors.txt"
    vectors.write_text("Zanzibar 0.25 0.5 0.75\n", encoding="utf-8")
    config = write_config(tmp_path, f"pretrained_file: '{vectors}', embedding_dim: 3")
    folder = train(config)
    vectors.unlink()
    model = load_archive(str(folder / "model.tar.gz")).model
    table = model.input_representation.text_field_embedder.token_embedder_tokens.weight
    assert table[model.vocab.get_token_index("Zanzibar")].tolist() == [0.25, 0.5, 0.75]


class TestRareWords:
    """Their counts go with the model."""

    @staticmethod
    def counts_of(folder):
        model = load_archive(str(folder / "model.tar.gz")).model
        return model.input_representation.rare_words.counts

    def test_training_goes_on_from_an_archive(self, train, tmp_path):
        first = train(CHAR_BILSTM_CRF, "first")
        counts = self.counts_of(first)
        assert (counts[2:] > 0).all() and (counts == 1).any()
        config = write_config(
            tmp_path,
            f"vocabulary: {{ type: 'from_files', directory: '{first}/vocabulary' }}, "
            f"model: {{ type: 'from_archive', archive_file: '{first}/model.tar.gz' }}",
        )
        assert self.counts_of(train(config, "second")).equal(counts)

    def test_training_is_recovered(self, train):
        folder = train(CHAR_BILSTM_CRF)
        counts = self.counts_of(folder)
        # As if the training had been stopped after the first of two epochs.
        config = json.loads((folder / "config.json").read_text())
        config["trainer"]["num_epochs"] = 2
        (folder / "config.json").write_text(json.dumps(config))
        train(CHAR_BILSTM_CRF, "run", "--recover", epochs=2)
        assert (folder / "metrics_epoch_1.json").exists()
        assert self.counts_of(folder).equal(counts)

    def test_training_with_a_vocabulary_from_files_is_refused(self, train, tmp_path):
        first = train(CHAR_BILSTM_CRF, "first")
        config = write_config(
            tmp_path, f"vocabulary: {{ type: 'from_files', directory: '{first}/vocabulary' }}"
        )
        with pytest.raises(
            ConfigurationError, match="rare_words: training needs to know how often"
        ):
            train(config, "second")
