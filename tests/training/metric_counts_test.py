import io

import numpy
import pytest
import torch
from allennlp.data import Vocabulary
from allennlp.training.metrics import CategoricalAccuracy, F1Measure, SpanBasedF1Measure

from allennlp_nef.training.recovery import counts_of, decode, encode, set_counts


class Model(torch.nn.Module):
    """With metrics as attributes, in a list, and in an object."""

    def __init__(self):
        super().__init__()
        vocab = Vocabulary()
        for label in ("O", "B-X", "I-X"):
            vocab.add_token_to_namespace(label, "labels")
        self.accuracy = CategoricalAccuracy()
        self.holder = Holder([SpanBasedF1Measure(vocab, "labels"), F1Measure(1)])

    def count(self, gold):
        self.holder.is_used = True
        scores = torch.eye(3)[torch.tensor([[0, 1, 2, 0]])]
        for metric in [self.accuracy, *self.holder.metrics]:
            metric(scores, torch.tensor([gold]))

    def scores(self):
        return [metric.get_metric() for metric in [self.accuracy, *self.holder.metrics]]


class Holder:
    def __init__(self, metrics):
        self.metrics = metrics
        self.is_used = False


def saved_and_loaded(value):
    file = io.BytesIO()
    torch.save(value, file)
    file.seek(0)
    return torch.load(file)


def test_metrics_go_on_counting_where_others_stopped():
    whole, first, second = Model(), Model(), Model()
    batches = [[0, 1, 2, 0], [1, 2, 0, 0], [1, 1, 2, 0]]
    for gold in batches:
        whole.count(gold)
    first.count(batches[0])
    set_counts(second, saved_and_loaded(counts_of(first)))
    assert second.holder.is_used
    for gold in batches[1:]:
        second.count(gold)
    assert second.scores() == whole.scores()


def test_encoded_data_are_loaded_as_they_were():
    data = {
        "a": [1, 2.5, None, "x", True],
        ("b", 1): {3},
        "c": numpy.arange(3),
        "d": numpy.float64(0.1),
    }
    result = decode(saved_and_loaded(encode(data)))
    assert (result["c"] == data["c"]).all() and result["c"].dtype == data["c"].dtype
    assert type(result["d"]) is float
    assert {**result, "c": 0} == {**data, "c": 0}


def test_what_is_no_data_is_not_encoded():
    with pytest.raises(TypeError, match="expected data, got <class 'function'>"):
        encode([saved_and_loaded])
