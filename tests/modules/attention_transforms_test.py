"""Attention transforms by themselves. The tests of the decoder compare it with oracles and the authors' numbers."""

import math

import pytest
import torch
from allennlp.common import Params
from allennlp.common.checks import ConfigurationError

from allennlp_nef.modules.attention_transforms import (
    AttentionTransform,
    ConstrainedSoftmaxTransform,
    EasyFirstTransform,
)
from allennlp_nef.modules.seq2seq_encoders import NeuralEasyFirst
from allennlp_nef.nn.sketching import SketchState

BOUNDED = ["csoftmax", "csparsemax"]
SCORED = [*BOUNDED, "softmax", "sparsemax", "entmax15"]
FIXED = ["uniform", "left_to_right", "right_to_left", "easy_first"]


def make(name, **options):
    return AttentionTransform.from_params(Params({"type": name, **options}))


def state_of(coverage, lengths, step=1):
    lengths = torch.tensor(lengths)
    mask = torch.arange(coverage.size(1)) < lengths.unsqueeze(1)
    return SketchState(step, coverage, mask, lengths)


def example():
    scores = 2 * torch.randn(2, 4, generator=torch.Generator().manual_seed(0))
    coverage = torch.tensor([[0.9, 0.1, 0.5, 0.5], [0.25, 0.75, 0.0, 0.0]])
    return scores, state_of(coverage, [4, 2])


def test_names_are_registered_and_csoftmax_is_the_default():
    assert sorted(AttentionTransform.list_available()) == sorted(SCORED + FIXED)
    assert isinstance(AttentionTransform.from_params(Params({})), ConstrainedSoftmaxTransform)


@pytest.mark.parametrize("name", SCORED)
def test_scores_are_adjusted_by_temperature_and_coverage_penalty(name):
    """(z - penalty * beta) / temperature stands for z."""
    scores, state = example()
    expected = make(name)((scores - 3 * state.coverage) / 20, state)
    weights = make(name, temperature=20.0, coverage_penalty=3.0)(scores, state)
    torch.testing.assert_close(weights, expected)
    assert not torch.allclose(make(name)(scores, state), expected, atol=1e-3)


@pytest.mark.parametrize(
    "option, value",
    [
        *(("temperature", value) for value in (0.0, math.nan, math.inf)),
        *(("coverage_penalty", value) for value in (-0.5, math.nan, math.inf)),
    ],
)
def test_option_out_of_range_is_an_error(option, value):
    with pytest.raises(ConfigurationError, match=option):
        make("softmax", **{option: value})


@pytest.mark.parametrize("name", BOUNDED)
def test_coverage_slightly_above_one_gets_no_attention(name):
    coverage = torch.tensor([[1 + 1e-6, 0.0, 0.0]])
    weights = make(name)(torch.zeros(1, 3), state_of(coverage, [3]))
    torch.testing.assert_close(weights, torch.tensor([[0.0, 0.5, 0.5]]))


@pytest.mark.parametrize("name", ["csparsemax", "sparsemax", "entmax15"])
def test_low_scores_get_exactly_zero(name):
    weights = make(name)(torch.tensor([[0.0, 5.0, 4.9]]), state_of(torch.zeros(1, 3), [3]))
    assert weights[0, 0] == 0 and weights[0, 1] > weights[0, 2] > 0


def test_easy_first_takes_the_highest_tag_score_among_the_open_words():
    tag_scores = torch.tensor([[3.0, 2.0, 9.0, 1.0]])
    coverage = torch.tensor([[1.0, 0.0, 0.0, 0.0]])
    mask = torch.tensor([[True, True, False, True]])
    state = SketchState(1, coverage, mask, torch.tensor([3]), lambda: tag_scores)
    assert EasyFirstTransform()(torch.randn(1, 4), state).tolist() == [[0, 1, 0, 0]]


def test_easy_first_needs_the_output_layer():
    with pytest.raises(ConfigurationError, match="easy_first"):
        NeuralEasyFirst(4, attention=EasyFirstTransform())(torch.randn(1, 3, 4))
