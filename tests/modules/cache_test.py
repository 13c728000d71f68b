import contextlib
import copy
import pickle

import pytest
import torch

from allennlp_nef.modules.seq2seq_encoders.label_attention import Cache


class Doubled:
    """A cached value, twice a weight, and how often it was computed."""

    def __init__(self):
        self.cache, self.computed = Cache(), 0

    def of(self, weight, is_training=False):
        def compute(weight):
            self.computed += 1
            return 2 * weight

        return self.cache.get(compute, (weight,), is_training)


def weight_of(*numbers):
    return torch.nn.Parameter(torch.tensor(numbers))


def test_value_is_computed_once_in_an_evaluation_without_gradients():
    doubled, weight = Doubled(), weight_of(1.0, 2.0)
    with torch.no_grad():
        values = [doubled.of(weight) for _ in range(3)]
    assert doubled.computed == 1
    assert all(torch.equal(value, 2 * weight) for value in values)


@pytest.mark.parametrize(
    "is_training, context",
    [
        (True, torch.no_grad),
        (False, contextlib.nullcontext),
        (False, lambda: torch.autocast("cpu", dtype=torch.bfloat16)),
    ],
    ids=["training", "gradients", "autocast"],
)
def test_value_is_computed_each_time_otherwise(is_training, context):
    doubled, weight = Doubled(), weight_of(1.0)
    with context():
        for _ in range(2):
            assert doubled.of(weight, is_training) == 2
    assert doubled.computed == 2


@torch.no_grad()
def test_value_is_computed_again_for_a_changed_weight():
    doubled, weight, other = Doubled(), weight_of(1.0), weight_of(3.0)
    assert doubled.of(weight) == 2
    weight.mul_(5)
    assert doubled.of(weight) == 10
    assert doubled.of(other) == 6
    assert doubled.of(weight) == 10
    weight.data = weight.data.double()
    assert doubled.of(weight).dtype == torch.float64


@torch.no_grad()
def test_changes_through_data_go_unnoticed_until_the_cache_is_cleared():
    doubled, weight = Doubled(), weight_of(1.0)
    doubled.of(weight)
    weight.data.mul_(5)
    assert doubled.of(weight) == 2
    doubled.cache.clear()
    assert doubled.of(weight) == 10


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))])
@torch.no_grad()
def test_copies_have_no_value(copied):
    doubled, weight = Doubled(), weight_of(1.0)
    doubled.of(weight)
    other = copied(doubled)
    weight.data.mul_(5)
    assert (other.of(weight), doubled.of(weight)) == (10, 2)


def test_value_of_inference_mode_is_of_use_outside():
    doubled, weight = Doubled(), weight_of(1.0)
    with torch.inference_mode():
        assert not doubled.of(weight).is_inference()
    (doubled.of(weight) ** 2).backward()
    assert weight.grad == 8


def test_weights_of_inference_mode_are_not_cached():
    """They have no version that would tell of a change."""
    with torch.inference_mode():
        doubled, weight = Doubled(), torch.ones(1)
        doubled.of(weight)
        weight.mul_(5)
        assert doubled.of(weight) == 10
