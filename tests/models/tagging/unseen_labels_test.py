"""Evaluation on data whose gold labels the training data lack."""

import copy
import logging
from functools import cache

import pytest
import torch
from allennlp.common import Params
from allennlp.common.checks import ConfigurationError
from allennlp.data import DatasetReader, Vocabulary
from allennlp.data.data_loaders import SimpleDataLoader
from allennlp.training.util import evaluate

from allennlp_nef.data import ConllTagsReader, WmtWordQeReader
from tests.models.tagging.small_tagger import batch_of, lstm, make

INDEXERS = {"tokens": {"type": "single_id"}, "affixes": {"type": "affixes", "case": True}}
EMBEDDERS = {
    "tokens": {"type": "embedding", "embedding_dim": 4},
    "affixes": {"type": "affixes", "embedding_dim": 3, "case_dim": 2},
}
READER = {"type": "conll_tags", "token_indexers": INDEXERS}
MODEL = {
    "input_representation": {
        "type": "sentence",
        "text_field_embedder": {"token_embedders": EMBEDDERS},
    },
    "encoder": lstm(12),
    "metrics": ["tag_accuracy", "conlleval"],
}
HEADS = {"softmax": {}, "crf": {"tag_head": {"type": "crf"}}}
TRAIN = [
    ("Anna sleeps", "B-PER O"),
    ("in Rome today", "O B-LOC O"),
    ("Ann Lee left", "B-PER I-PER O"),
]
# New: I-LOC after B-LOC, B-ORG and I-ORG. The second sentence has none.
TEST = [
    ("New York sleeps", "B-LOC I-LOC O"),
    ("Anna left", "B-PER O"),
    ("Red Cross and Red Cross", "B-ORG I-ORG O B-ORG I-ORG"),
]


def reader():
    return DatasetReader.from_params(Params(copy.deepcopy(READER)))


def instances(sentences):
    made = reader()
    found = [made.text_to_instance(words.split(), tags.split()) for words, tags in sentences]
    for instance in found:
        made.apply_token_indexers(instance)
    return found


VOCAB = Vocabulary.from_instances(instances(TRAIN))


def unseen_warnings(caplog):
    messages = [r.getMessage() for r in caplog.records if r.levelno == logging.WARNING]
    return [message for message in messages if "the vocabulary lacks" in message]


@cache
def learned(head):
    """A model that was trained on three sentences until it knows them."""
    model = make(VOCAB, **MODEL, **HEADS[head]).train()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.05)
    for _ in range(60):
        optimizer.zero_grad()
        model(**batch_of(instances(TRAIN), VOCAB))["loss"].backward()
        optimizer.step()
    model.get_metrics(reset=True)
    return model.eval()


@pytest.mark.parametrize("head", list(HEADS))
class TestEvaluation:
    @pytest.mark.parametrize("batch_size", [1, 3])
    def test_unseen_labels_are_counted_as_errors(self, head, batch_size, caplog):
        model = learned(head)
        model.get_metrics(reset=True)
        loader = SimpleDataLoader(instances(TEST), batch_size, vocab=VOCAB)
        for _ in range(2):  # the counts begin anew
            caplog.clear()
            scores = evaluate(model, loader)
            assert unseen_warnings(caplog) == [
                "5 gold tags are labels that the vocabulary lacks: no prediction is right for them, and their "
                "sentences are left out of the loss. They are B-ORG (2), I-ORG (2), I-LOC (1)."
            ]
        tags = [model.forward_on_instance(instance)["tags"] for instance in instances(TEST)]
        pairs = [pair for (_, gold), row in zip(TEST, tags) for pair in zip(gold.split(), row)]
        assert scores["accuracy"] == sum(gold == tag for gold, tag in pairs) / len(pairs)
        assert scores["accuracy"] <= 5 / 10
        assert scores["recall-overall"] <= 1 / 4
        assert torch.isfinite(torch.tensor(scores["loss"]))

    def test_sentences_with_unseen_labels_are_left_out_of_the_loss(self, head):
        model = make(VOCAB, **MODEL, **HEADS[head])
        known = model(**batch_of(instances(TEST[1:2]), VOCAB))["loss"]
        with_others = model(**batch_of(instances(TEST), VOCAB))["loss"]
        torch.testing.assert_close(with_others, known)

    def test_loss_of_such_sentences_alone_is_zero(self, head):
        model = make(VOCAB, **MODEL, **HEADS[head]).train()
        loss = model(**batch_of(instances(TEST[::2]), VOCAB))["loss"]
        assert loss.item() == 0
        loss.backward()
        assert all(p.grad is None or not p.grad.any() for p in model.parameters())

    def test_negative_tags_in_padding_are_no_unseen_labels(self, head, caplog):
        """Other readers may pad with any number."""
        model = make(VOCAB, **MODEL, **HEADS[head])
        batch = batch_of(instances(TRAIN), VOCAB)
        expected = model(**batch)
        scores = model.get_metrics(reset=True)
        batch["tags"][~expected["mask"]] = -100
        assert (batch["tags"] < 0).any()
        assert torch.equal(model(**batch)["loss"], expected["loss"])
        assert model.get_metrics(reset=True) == scores
        assert unseen_warnings(caplog) == []


def test_severities_that_the_vocabulary_lacks_are_bad(caplog):
    quality_reader = WmtWordQeReader(severities=True)

    def sentence(tags):
        instance = quality_reader.text_to_instance(["ein", "Haus"], ["a", "house"], [], tags)
        quality_reader.apply_token_indexers(instance)
        return instance

    vocab = Vocabulary.from_instances([sentence(["OK", "minor"])])
    model = make(vocab, metrics=["word_qe", "calibration"])
    output = model(**batch_of([sentence(["OK", "major"])], vocab))
    scores = model.get_metrics(reset=True)
    ok = vocab.get_token_index("OK", "labels")
    tagged = (output["tag_ids"] != ok).tolist()[0]
    assert scores["accuracy"] == sum(a == b for a, b in zip(tagged, [False, True])) / 2
    assert output["loss"].item() == 0
    (message,) = unseen_warnings(caplog)
    assert message.endswith("They are major (1).")


def test_a_long_list_of_labels_is_cut(caplog):
    tags = " ".join(f"B-T{i}" for i in range(30))
    model = make(VOCAB, **MODEL)
    model(**batch_of(instances([(tags, tags)]), VOCAB))
    model.get_metrics(reset=True)
    (message,) = unseen_warnings(caplog)
    assert message.startswith("30 gold tags are labels that the vocabulary lacks")
    assert message.endswith("B-T19 (1) and 10 others.")


def test_a_namespace_with_padding_is_refused():
    made = ConllTagsReader(label_namespace="entities")
    instance = made.text_to_instance(["a"], ["O"])
    made.apply_token_indexers(instance)
    vocab = Vocabulary.from_instances([instance])
    representation = {"text_field_embedder": {"token_embedders": {"tokens": EMBEDDERS["tokens"]}}}
    options = {"input_representation": representation, "encoder": lstm(4)}
    with pytest.raises(ConfigurationError, match="label_namespace: expected one whose name ends "):
        make(vocab, label_namespace="entities", **options)
    vocab = Vocabulary.from_instances([instance], non_padded_namespaces=["entities"])
    assert make(vocab, label_namespace="entities", **options).tag_head.num_labels == 1
