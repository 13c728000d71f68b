"""Options with values that make no sense: the error names the option, what was expected and what came."""

import math

import pytest
import torch
from allennlp.common import Params
from allennlp.common.checks import ConfigurationError

from allennlp_nef.modules.attention_transforms import AttentionTransform
from allennlp_nef.nn.constrained_softmax import constrained_softmax


@pytest.mark.parametrize("option", ["temperature", "coverage_penalty"])
@pytest.mark.parametrize("value", [math.inf, math.nan, -1.0])
def test_scored_transforms(option, value):
    with pytest.raises(ConfigurationError, match=f"{option}: expected a number of at least"):
        AttentionTransform.from_params(Params({"type": "softmax", option: value}))


def test_csoftmax_takes_no_integer_scores():
    with pytest.raises(ValueError, match="expected floating-point scores, got torch.int64"):
        constrained_softmax(torch.tensor([1, 2]), torch.ones(2))


def test_csoftmax_takes_integer_bounds():
    weights = constrained_softmax(torch.tensor([0.0, 0.0]), torch.tensor([1, 1]))
    assert weights.tolist() == [0.5, 0.5]
