"""What holds for every model with gold labels: their namespace, and labels that the training data lack."""

import logging
import math
from copy import deepcopy

import pytest
import torch
from allennlp.common import Params
from allennlp.data import DatasetReader
from allennlp.models import Model

from allennlp_nef.data import fields
from tests.small_batches import batch_of

EMBEDDER = {"token_embedders": {"tokens": {"type": "embedding", "embedding_dim": 3}}}
INDEXERS = {"tokens": {"type": "single_id"}}
LSTM = {"type": "lstm", "input_size": 3, "hidden_size": 3}
WORDS = ["a", "b"]
# The reader, the model, the arguments of a training instance and of one with a label that it lacks, and the name and
# the highest possible value of a metric.
CASES = {
    "nef_tagger": (
        {"type": "conll_tags"},
        {"type": "nef_tagger", "text_field_embedder": EMBEDDER, "encoder": LSTM},
        {"tokens": WORDS, "tags": ["X", "Y"]},
        {"tokens": WORDS, "tags": ["X", "Z"]},
        ("accuracy", 0.5),
    ),
    "word_qe_tagger": (
        {
            "type": "wmt_word_qe",
            "source_token_indexers": INDEXERS,
            "target_token_indexers": INDEXERS,
        },
        {
            "type": "word_qe_tagger",
            "pair_embedder": {
                "type": "aligned_pair",
                "source_embedder": EMBEDDER,
                "target_embedder": deepcopy(EMBEDDER),
            },
            "encoder": {**LSTM, "input_size": None},
        },
        {"source": WORDS, "target": WORDS, "tags": ["OK", "minor"]},
        {"source": WORDS, "target": WORDS, "tags": ["OK", "major"]},
        ("accuracy", 0.5),
    ),
    "tree_lstm": (
        {"type": "labeled_trees"},
        {
            "type": "tree_lstm",
            "text_field_embedder": EMBEDDER,
            "tree_encoder": {"type": "binary_tree_lstm", "input_dim": 3, "hidden_dim": 3},
        },
        {"tree": "(1 (2 a) (1 b))", "has_labels": True},
        {"tree": "(3 (2 a) (1 b))", "has_labels": True},
        ("accuracy", 0),
    ),
    "sentence_pair": (
        {"type": "sentence_pairs"},
        {"type": "sentence_pair", "text_field_embedder": EMBEDDER, "seq2vec_encoder": LSTM},
        {"first": WORDS, "second": WORDS, "label": "X"},
        {"first": WORDS, "second": WORDS, "label": "Z"},
        ("accuracy", 0),
    ),
    "arc_mlp_parser": (
        {"type": "conllu_trees"},
        {"type": "arc_mlp_parser", "text_field_embedder": EMBEDDER, "encoder": LSTM},
        {"words": WORDS, "heads": [0, 1], "labels": ["root", "x"]},
        {"words": WORDS, "heads": [0, 1], "labels": ["root", "z"]},
        ("LAS", 0.5),
    ),
    "sentence_classifier": (
        {"type": "labeled_sentences"},
        {"type": "sentence_classifier", "text_field_embedder": EMBEDDER, "seq2vec_encoder": LSTM},
        {"tokens": WORDS, "label": "X"},
        {"tokens": WORDS, "label": "Z"},
        ("accuracy", 0),
    ),
}


@pytest.fixture
def build(name):
    """A function that returns the model, and the instances with known and with unseen labels."""
    reader_options, options, known, unseen, _ = CASES[name]

    def build(label_namespace=None):
        namespace = {} if label_namespace is None else {"label_namespace": label_namespace}
        reader = DatasetReader.from_params(Params({**reader_options, **namespace}))
        instances = [reader.text_to_instance(**each) for each in (known, unseen)]
        _, vocab = batch_of(instances[:1], reader=reader)
        reader.apply_token_indexers(instances[1])
        if name == "sentence_pair":
            namespace = {"output": {"type": "classes", **namespace}}
        params = Params({**options, **namespace}).duplicate()
        return Model.from_params(params, vocab=vocab).eval(), instances

    return build


@pytest.mark.parametrize("name", CASES)
class TestEveryModel:
    @pytest.mark.parametrize("is_extended", [False, True], ids=["unknown", "extended"])
    def test_labels_that_the_model_lacks_count_as_errors_and_not_in_the_loss(
        self, name, build, is_extended, caplog, monkeypatch
    ):
        """Also if `evaluate --extend-vocab` has added them to the vocabulary."""
        model, (known, unseen) = build()
        metric, highest = CASES[name][-1]
        if is_extended:
            model.vocab.extend_from_instances([unseen])
        monkeypatch.setattr(fields, "_warned_namespaces", set())
        with torch.no_grad(), caplog.at_level(logging.WARNING):
            loss = model(**batch_of([known, unseen, unseen], model.vocab)[0])["loss"]
        warnings = [record for record in caplog.records if record.name == fields.__name__]
        assert len(warnings) == (not is_extended)
        assert math.isfinite(loss)
        model.get_metrics(reset=True)
        loss = model(**batch_of([unseen, unseen], model.vocab)[0])["loss"]
        assert math.isfinite(loss.item())
        assert model.get_metrics(reset=True)[metric] <= highest

    def test_labels_may_be_in_any_namespace(self, name, build):
        namespace = "other_labels" if name != "arc_mlp_parser" else "other_tags"
        (model, instances), (other, others) = build(), build(namespace)
        other.load_state_dict(model.state_dict())
        loss = model(**batch_of(instances[:1], model.vocab)[0])["loss"]
        assert torch.equal(other(**batch_of(others[:1], other.vocab)[0])["loss"], loss)
