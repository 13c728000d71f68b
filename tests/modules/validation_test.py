"""Options with values that make no sense: the error names the option, what was expected and what came."""

import math

import pytest
import torch
from allennlp.common import Params
from allennlp.common.checks import ConfigurationError
from allennlp.data import Vocabulary
from allennlp.modules.seq2seq_encoders import Seq2SeqEncoder

from allennlp_nef.modules.attention_transforms import AttentionTransform
from allennlp_nef.modules.tag_heads import SoftmaxTagHead
from allennlp_nef.nn.constrained_softmax import constrained_softmax


@pytest.mark.parametrize(
    ("option", "value", "got"),
    [
        ("num_steps", 2.5, "2.5"),
        ("num_steps", True, "True"),
        ("num_steps", "lenght", "'lenght'"),
        ("num_steps", None, "None"),
        ("sketch_dim", None, "None"),
        ("context_size", -1, "-1"),
        ("dropout", None, "None"),
        ("dropout", 1.0, "1.0"),
    ],
)
def test_neural_easy_first(option, value, got):
    params = Params({"type": "neural_easy_first", "input_dim": 4, option: value})
    with pytest.raises(ConfigurationError, match=f"{option}: expected .*, got {got}"):
        Seq2SeqEncoder.from_params(params)


@pytest.mark.parametrize("option", ["temperature", "coverage_penalty"])
@pytest.mark.parametrize("value", [math.inf, math.nan, -1.0])
def test_scored_transforms(option, value):
    with pytest.raises(ConfigurationError, match=f"{option}: expected a number of at least"):
        AttentionTransform.from_params(Params({"type": "softmax", option: value}))


@pytest.mark.parametrize("weight", [0.0, -1.0, math.inf, math.nan, 1e60, 1e-60])
def test_label_weights(weight):
    vocab = Vocabulary(non_padded_namespaces=["labels"])
    vocab.add_token_to_namespace("BAD", "labels")
    with pytest.raises(ConfigurationError, match="label_weights: expected a number above 0"):
        SoftmaxTagHead(3, vocab, label_weights={"BAD": weight})


def test_csoftmax_takes_no_integer_scores():
    with pytest.raises(ValueError, match="expected floating-point scores, got torch.int64"):
        constrained_softmax(torch.tensor([1, 2]), torch.ones(2))


def test_csoftmax_takes_integer_bounds():
    weights = constrained_softmax(torch.tensor([0.0, 0.0]), torch.tensor([1, 1]))
    assert weights.tolist() == [0.5, 0.5]
