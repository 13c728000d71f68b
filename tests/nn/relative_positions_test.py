"""What distances do to scores, against Eqs. 10 and 11 of Wei et al. in loops."""

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.autograd import gradcheck

from allennlp_nef.nn.relative_positions import (
    distances,
    gaussian_bias,
    relative_bias,
    sinusoids,
)

CPU = torch.device("cpu")
LENGTHS = st.integers(1, 12)


@settings(max_examples=40, deadline=None, derandomize=True)
@given(LENGTHS, st.integers(1, 15))
def test_distances_are_clipped(length, max_distance):
    expected = [[min(abs(i - j), max_distance) for j in range(length)] for i in range(length)]
    found = distances(length, max_distance, CPU)
    assert found.dtype == torch.long
    assert found.tolist() == expected


@settings(max_examples=40, deadline=None, derandomize=True)
@given(LENGTHS, st.integers(1, 15))
def test_gaussian_bias_is_that_of_equation_10(length, window):
    epsilon = window / 2
    expected = torch.tensor(
        [[-((i - j) ** 2) / (2 * epsilon**2) for j in range(length)] for i in range(length)]
    )
    torch.testing.assert_close(gaussian_bias(length, window, CPU), expected)


def problem(length, reach, dim=3, batch=2, seed=0):
    generator = torch.Generator().manual_seed(seed)
    shapes = (batch, length, dim), (reach + 1, dim), (dim,)
    return [torch.randn(*shape, generator=generator, dtype=torch.float64) for shape in shapes]


@settings(max_examples=40, deadline=None, derandomize=True)
@given(LENGTHS, st.integers(1, 15), st.integers(0, 1000))
def test_relative_bias_equals_that_of_loops(length, reach, seed):
    states, embeddings, vector = problem(length, reach, seed=seed)
    found = relative_bias(states, embeddings, vector)
    assert found.shape == (2, length, length)
    for row, i, j in torch.ones_like(found).nonzero().tolist():
        of_distance = embeddings[min(abs(i - j), reach)]
        expected = states[row, i] @ of_distance + vector @ of_distance
        torch.testing.assert_close(found[row, i, j], expected)


@pytest.mark.parametrize("reach", [1, 2, 9])
def test_gradients_of_relative_bias_are_those_of_finite_differences(reach):
    assert gradcheck(relative_bias, [tensor.requires_grad_() for tensor in problem(4, reach)])


@settings(max_examples=30, deadline=None, derandomize=True)
@given(LENGTHS, st.integers(1, 9))
def test_sinusoids_are_those_of_the_paper(length, dim):
    found = sinusoids(length, dim, CPU)
    assert found.shape == (length, dim)
    for position in range(length):
        for place in range(dim):
            angle = position / 10000 ** (2 * (place // 2) / dim)
            expected = math.cos(angle) if place % 2 else math.sin(angle)
            assert found[position, place].item() == pytest.approx(expected, abs=1e-5)
