"""Attention to labels against its equations in loops."""

import numpy
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.autograd import gradcheck

from allennlp_nef.nn.label_attention import label_attention
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
    refined, weights = label_attention(states, labels, *matrices, num_heads, scale)
    return refined - states, weights


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


@pytest.mark.parametrize("num_labels", [1, 3, 8])
def test_gradients_are_those_of_finite_differences(num_labels):
    tensors = [tensor.requires_grad_() for tensor in problem(num_labels, (1, 2))]
    assert gradcheck(attend, tensors)


@pytest.mark.parametrize("num_labels", [3])
class TestWords:
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
