import entmax
import pytest
import torch
from allennlp.common import Params
from allennlp.common.checks import ConfigurationError

from allennlp_nef.modules.attention_transforms import AttentionTransform, BudgetTransform
from allennlp_nef.modules.seq2seq_encoders import NeuralEasyFirst
from allennlp_nef.nn.sketching import SketchState

LENGTHS = [6, 3, 1]


def example():
    generator = torch.Generator().manual_seed(0)
    scores = torch.randn(3, 6, generator=generator, dtype=torch.float64)
    mask = torch.arange(6) < torch.tensor(LENGTHS).unsqueeze(1)
    return scores, SketchState(0, torch.zeros_like(scores), mask, torch.tensor(LENGTHS))


@pytest.mark.parametrize("num_words", [1, 2, 2.5])
def test_weights_and_gradients_are_those_of_entmax(num_words):
    scores, state = example()
    gradient = torch.randn(6, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    ours, theirs = scores[0].clone().requires_grad_(), scores[0].clone().requires_grad_()
    weights = BudgetTransform(num_words)(ours[None], state._replace(mask=state.mask[:1]))[0]
    expected = entmax.budget_bisect(theirs, num_words)
    torch.testing.assert_close(weights, expected)
    weights.backward(gradient)
    expected.backward(gradient)
    torch.testing.assert_close(ours.grad, theirs.grad)


def test_a_step_has_the_budget_or_all_words():
    scores, state = example()
    weights = BudgetTransform(2)(scores.masked_fill(~state.mask, 1e30), state)
    torch.testing.assert_close(weights.sum(-1), torch.tensor([2, 2, 1], dtype=torch.float64))
    assert weights.min() >= 0 and weights.max() <= 1 and (weights[~state.mask] == 0).all()


def test_fused_recursion_gives_what_the_plain_one_gives():
    attention = AttentionTransform.from_params(Params({"type": "budget", "num_words": 3}))
    torch.manual_seed(0)
    encoder = NeuralEasyFirst(4, attention=attention, num_steps=2)
    inputs, (_, state) = torch.randn(3, 6, 4), example()
    plain, trace = encoder.encode(inputs, state.mask, trace=True)
    torch.testing.assert_close(encoder(inputs, state.mask), plain)
    totals = torch.tensor([[3.0, 3.0], [3.0, 3.0], [1.0, 0.0]])
    torch.testing.assert_close(trace.attention.sum(-1), totals)


def test_bad_options_are_refused():
    with pytest.raises(
        ConfigurationError, match="num_words: expected a number of at least 1, got 0.5"
    ):
        BudgetTransform(0.5)
    with pytest.raises(ConfigurationError, match="attention: budget sums to more than 1"):
        NeuralEasyFirst(4, "single", attention=BudgetTransform())
