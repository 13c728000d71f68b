"""Attention to labels against its equations in loops."""

import math

import numpy
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.autograd import gradcheck

from allennlp_nef.nn.label_attention import (
    LabelProjections,
    attend_to_labels,
    folded_weight,
    label_scale,
    project_labels,
    refined_states,
)
from tests import oracles

DIM = 6


def oracle(states, labels, W_Q, W_K, W_V, num_heads, scale):
    """Section 3.2 for words (words, dim): the heads side by side, and alpha (words, heads, labels)."""
    words, dim = states.shape
    size = dim // num_heads
    outputs = numpy.zeros((words, dim))
    alpha = numpy.zeros((words, num_heads, len(labels)))
    for i in range(words):
        for k in range(num_heads):
            block = slice(k * size, (k + 1) * size)
            query = states[i] @ W_Q[:, block]
            scores = [scale * (query @ (label @ W_K[:, block])) for label in labels]
            alpha[i, k] = oracles.softmax(numpy.array(scores))
            for weight, label in zip(alpha[i, k], labels):
                outputs[i, block] += weight * (label @ W_V[:, block])
    return outputs, alpha


def problem(num_labels, shape=(2, 3), dim=DIM, seed=0, dtype=torch.float64):
    """States, labels and the three matrices."""
    generator = torch.Generator().manual_seed(seed)
    shapes = [(*shape, dim), (num_labels, dim), *[(dim, dim)] * 3]
    return [torch.randn(*s, generator=generator, dtype=torch.float64).to(dtype) for s in shapes]


def attend(states, labels, *matrices, num_heads=2, scale=0.7):
    """H^l - H^w, and alpha."""
    projections = project_labels(labels, *matrices, num_heads, scale)
    return attended(states, projections)


def attended(states, projections):
    weights = attend_to_labels(states, projections)
    return refined_states(torch.zeros_like(states), weights, projections.values), weights


def is_folded(projections):
    return projections.queries is None


@settings(max_examples=60, deadline=None, derandomize=True)
@given(
    num_heads=st.integers(1, 4),
    size=st.integers(1, 4),
    num_labels=st.integers(1, 9),
    shape=st.tuples(st.integers(1, 3), st.integers(1, 4)),
    scale=st.sampled_from([1.0, 0.3, 5.0]),
    seed=st.integers(0, 1000),
)
def test_attention_equals_that_of_loops(num_heads, size, num_labels, shape, scale, seed):
    tensors = problem(num_labels, shape, num_heads * size, seed)
    heads, weights = attend(*tensors, num_heads=num_heads, scale=scale)
    assert weights.shape == (*shape, num_heads, num_labels)
    torch.testing.assert_close(weights.sum(-1), torch.ones_like(weights[..., 0]))
    states, *rest = (tensor.numpy() for tensor in tensors)
    for row in range(shape[0]):
        expected = oracle(states[row], *rest, num_heads, scale)
        for ours, loops in zip((heads[row], weights[row]), expected):
            torch.testing.assert_close(ours, torch.tensor(loops), rtol=1e-9, atol=1e-9)


class TestFolding:
    """W^Q inside the keys, where these are few."""

    @pytest.mark.parametrize("num_heads, num_labels", [(1, 9), (2, 3), (2, 6), (3, 3), (6, 1)])
    def test_folded_queries_give_the_same_attention(self, num_heads, num_labels):
        states, labels, *matrices = problem(num_labels)
        projections = project_labels(labels, *matrices, num_heads, 0.7)
        assert is_folded(projections)
        split = num_labels, num_heads, DIM // num_heads
        keys = (0.7 * labels @ matrices[1]).view(split).permute(1, 2, 0)
        apart = LabelProjections(matrices[0], keys, projections.values)
        for ours, other in zip(attended(states, projections), attended(states, apart)):
            torch.testing.assert_close(ours, other, rtol=1e-10, atol=1e-10)

    @pytest.mark.parametrize("num_heads", [1, 2, 3, 6])
    def test_queries_are_folded_where_that_is_smaller(self, num_heads):
        for num_labels in range(1, 12):
            _, labels, *matrices = problem(num_labels)
            queries, keys, values = project_labels(labels, *matrices, num_heads, 1.0)
            own = num_heads * num_labels * DIM
            apart = DIM * DIM + num_labels * DIM
            assert (queries is None) == (own <= apart)
            assert keys.numel() == (own if queries is None else num_labels * DIM)
            assert values.shape == (num_heads, num_labels, DIM // num_heads)


@pytest.mark.parametrize("num_labels", [1, 3, 8])  # the last is not folded
def test_gradients_are_those_of_finite_differences(num_labels):
    tensors = [tensor.requires_grad_() for tensor in problem(num_labels, (1, 2))]
    assert is_folded(project_labels(*tensors[1:], 2, 1.0)) == (num_labels < 8)
    assert gradcheck(attend, tensors)


def test_a_single_label_has_weight_one():
    states, labels, *matrices = problem(1)
    heads, weights = attend(states, labels, *matrices)
    assert (weights == 1).all()
    expected = (labels @ matrices[2]).expand(2, 3, DIM)
    torch.testing.assert_close(heads, expected)


@pytest.mark.parametrize("num_labels", [3, 8])
class TestWords:
    def test_words_do_not_affect_each_other(self, num_labels):
        states, *rest = problem(num_labels, (2, 5))
        expected = attend(states, *rest)
        states[0, 3] = math.nan
        for ours, other in zip(attend(states, *rest), expected):
            ours, other = ours.flatten(2), other.flatten(2)
            assert ours[0, 3].isnan().all()
            ours[0, 3] = other[0, 3] = 0
            torch.testing.assert_close(ours, other)

    def test_no_words_give_empty_output(self, num_labels):
        for shape in ((0, 4), (2, 0)):
            heads, weights = attend(*problem(num_labels, shape))
            assert heads.shape == (*shape, DIM)
            assert weights.shape == (*shape, 2, num_labels)

    def test_extreme_states_give_finite_weights(self, num_labels):
        states, *rest = (tensor.float() for tensor in problem(num_labels))
        states = (1e6 * states).requires_grad_()
        heads, weights = attend(states, *rest)
        torch.testing.assert_close(weights.sum(-1), torch.ones(2, 3, 2))
        assert weights.max(-1).values.min() > 0.999
        heads.sum().backward()
        assert heads.isfinite().all() and states.grad.isfinite().all()

    @pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float32])
    def test_low_precision_has_the_error_of_rounding(self, num_labels, dtype):
        tensors = problem(num_labels, dtype=dtype)
        expected = attend(*(tensor.double() for tensor in tensors))
        tolerance = 0.1 if dtype == torch.bfloat16 else 1e-5
        for ours, exact in zip(attend(*tensors), expected):
            assert ours.dtype == dtype
            torch.testing.assert_close(ours.double(), exact, rtol=tolerance, atol=tolerance)


def test_scale_is_that_of_the_paper_or_of_its_code():
    assert label_scale(400, 5, by_head=False) == 1 / 20
    assert label_scale(400, 4, by_head=True) == 1 / 10
    states, *rest = problem(4)
    small, large = (attend(states, *rest, scale=scale)[1] for scale in (0.1, 1.0))
    assert large.max() > small.max() + 0.1
    torch.testing.assert_close(attend(10 * states, *rest, scale=0.1)[1], large)


@pytest.mark.parametrize("num_labels", [1, 3, 8])
class TestFoldedWeight:
    """A matrix that reads [H^w; alpha] in place of [H^w; H^l]."""

    def test_folded_weights_give_the_same_product(self, num_labels):
        states, labels, *matrices = problem(num_labels)
        values = project_labels(labels, *matrices, 2, 0.7).values
        _, weights = attend(states, labels, *matrices)
        weight = torch.cat(matrices[:2], 1)
        joined = torch.cat([states, refined_states(states, weights, values)], -1)
        folded = folded_weight(weight, values)
        assert folded.shape == (DIM, DIM + 2 * num_labels)
        torch.testing.assert_close(
            torch.cat([states, weights.flatten(2)], -1) @ folded.t(),
            joined @ weight.t(),
            rtol=1e-10,
            atol=1e-10,
        )

    def test_gradients_are_those_of_finite_differences(self, num_labels):
        _, labels, *matrices = problem(num_labels)
        values = project_labels(labels, *matrices, 2, 0.7).values.detach().requires_grad_()
        weight = torch.cat(matrices[:2], 1).requires_grad_()
        assert gradcheck(folded_weight, [weight, values])
