"""`softmax`, `csoftmax` and `csparsemax`: attention of adjusted scores."""

import math

import pytest
import torch
from allennlp.common import Params
from allennlp.common.checks import ConfigurationError

from allennlp_nef.modules.attention_transforms import (
    AttentionTransform,
    ConstrainedSoftmaxTransform,
    ConstrainedSparsemaxTransform,
    SoftmaxTransform,
)
from allennlp_nef.nn.constrained_softmax import constrained_softmax
from allennlp_nef.nn.constrained_sparsemax import constrained_sparsemax
from allennlp_nef.nn.sketching import SketchState

REGISTERED = {
    "softmax": SoftmaxTransform,
    "csoftmax": ConstrainedSoftmaxTransform,
    "csparsemax": ConstrainedSparsemaxTransform,
}
BOUNDED = [
    (ConstrainedSoftmaxTransform, constrained_softmax),
    (ConstrainedSparsemaxTransform, constrained_sparsemax),
]


def state_of(coverage, lengths, step=1):
    lengths = torch.tensor(lengths)
    mask = torch.arange(coverage.size(1)) < lengths.unsqueeze(1)
    return SketchState(step, coverage, mask, lengths)


def example():
    generator = torch.Generator().manual_seed(0)
    scores = 2 * torch.randn(2, 4, generator=generator)
    coverage = torch.tensor([[0.9, 0.1, 0.5, 0.5], [0.25, 0.75, 0.0, 0.0]])
    return scores, state_of(coverage, [4, 2])


@pytest.mark.parametrize("name", sorted(REGISTERED))
class TestAll:
    def test_options_come_from_params(self, name):
        params = Params({"type": name, "temperature": 0.5, "coverage_penalty": 3.0})
        transform = AttentionTransform.from_params(params)
        assert type(transform) is REGISTERED[name]
        assert (transform.temperature, transform.coverage_penalty) == (0.5, 3.0)
        assert "temperature=0.5, coverage_penalty=3.0" in repr(transform)

    def test_scores_are_adjusted_by_temperature_and_coverage_penalty(self, name):
        """(z - penalty * beta) / temperature stands for z."""
        scores, state = example()
        adjusted = (scores - 3 * state.coverage) / 20
        expected = REGISTERED[name]()(adjusted, state)
        weights = REGISTERED[name](temperature=20.0, coverage_penalty=3.0)(scores, state)
        torch.testing.assert_close(weights, expected)
        assert not torch.allclose(REGISTERED[name]()(scores, state), expected, atol=1e-3)

    def test_gradient_at_padding_does_not_change_the_gradient_of_the_scores(self, name):
        scores, state = example()
        gradients = []
        for junk in (0.0, math.nan):
            leaf = scores.clone().requires_grad_()
            gradient = torch.arange(8.0).view(2, 4).masked_fill(~state.mask, junk)
            REGISTERED[name]()(leaf, state).backward(gradient)
            gradients.append(leaf.grad)
        assert torch.equal(*gradients)
        assert torch.isfinite(gradients[0]).all()

    @pytest.mark.parametrize(
        "options, message",
        [
            ({"temperature": 0.0}, "temperature: expected a number of at least 1e-6, got 0.0"),
            ({"temperature": math.nan}, "temperature: .* got nan"),
            ({"temperature": math.inf}, "temperature: .* got inf"),
            ({"coverage_penalty": -0.5}, "coverage_penalty: .* at least 0, got -0.5"),
        ],
        ids=str,
    )
    def test_option_out_of_range_is_an_error(self, name, options, message):
        with pytest.raises(ConfigurationError, match=message):
            AttentionTransform.from_params(Params({"type": name, **options}))


def test_default_is_csoftmax():
    assert isinstance(AttentionTransform.from_params(Params({})), ConstrainedSoftmaxTransform)


def test_softmax_ignores_the_coverage():
    scores, state = example()
    weights = SoftmaxTransform()(scores, state)
    torch.testing.assert_close(weights[0], scores[0].softmax(-1))
    torch.testing.assert_close(weights[1, :2], scores[1, :2].softmax(-1))


@pytest.mark.parametrize("transform, function", BOUNDED)
class TestBounded:
    def test_upper_bounds_are_one_minus_coverage(self, transform, function):
        """Eq. 11: u = 1 - beta."""
        scores, state = example()
        weights = transform()(scores, state)
        torch.testing.assert_close(weights, function(scores, 1 - state.coverage, state.mask))
        assert (weights + state.coverage <= 1 + 1e-6).all()

    def test_coverage_slightly_above_one_gets_no_attention(self, transform, function):
        coverage = torch.tensor([[1 + 1e-6, 0.0, 0.0]])
        weights = transform()(torch.zeros(1, 3), state_of(coverage, [3]))
        torch.testing.assert_close(weights, torch.tensor([[0.0, 0.5, 0.5]]))

    def test_fully_covered_sentence_gets_finite_attention(self, transform, function):
        """Everything is covered: no weight, finite gradients."""
        scores = torch.zeros(1, 3, requires_grad=True)
        state = state_of(torch.tensor([[1.0, 1.0, 0.0]]), [2])
        weights = transform()(scores, state)
        weights.sum().backward()
        assert weights.tolist() == [[0, 0, 0]]
        assert torch.isfinite(scores.grad).all()

    def test_upper_bound_is_what_a_word_may_get_in_all(self, transform, function):
        scores, state = example()
        for bound in (0.95, 1.5):
            weights = transform(upper_bound=bound)(scores, state)
            bounds = (bound - state.coverage).clamp(min=0)
            torch.testing.assert_close(weights[0], function(scores[0], bounds[0]))
            assert not torch.allclose(weights[0], transform()(scores, state)[0], atol=1e-3)

    def test_a_step_uses_up_what_is_left(self, transform, function):
        """Two words of 0.6 have 1 + 0.2 in all."""
        attend = transform(upper_bound=0.6)
        first = attend(torch.tensor([[0.0, 9.0]]), state_of(torch.zeros(1, 2), [2], 0))
        second = attend(torch.zeros(1, 2), state_of(first, [2], 1))
        third = attend(torch.zeros(1, 2), state_of(first + second, [2], 2))
        torch.testing.assert_close(torch.cat([first, second]), torch.tensor([[0.4, 0.6], [0.2, 0]]))
        assert third.abs().max() < 1e-6

    @pytest.mark.parametrize("upper_bound", [0.0, -1.0, math.inf, math.nan])
    def test_upper_bound_out_of_range_is_an_error(self, transform, function, upper_bound):
        with pytest.raises(ConfigurationError, match="upper_bound: expected a number above 0, got"):
            transform(upper_bound=upper_bound)


def test_csparsemax_gives_low_scores_exactly_zero():
    scores, state = example()
    weights = ConstrainedSparsemaxTransform()(scores, state)
    assert (weights[0] == 0).any() and (ConstrainedSoftmaxTransform()(scores, state)[0] > 0).all()
