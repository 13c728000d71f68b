"""csparsemax. What it shares with csoftmax is tested in `constrained_attention_test.py`."""

import math

import entmax
import numpy
import pytest
import torch

from allennlp_nef.nn.constrained_sparsemax import constrained_sparsemax, solve
from tests import oracles
from tests.nn.csoftmax_problems import KINDS, rows_by_oracle, values_of


def expected_rows(z, u):
    return rows_by_oracle(z, u, oracles.csparsemax)


class TestWeights:
    def test_large_bounds_give_the_sparsemax(self):
        z, _ = values_of("loose", 9, batch=5)
        for bound in (1.0, 1e9, math.inf):
            alpha = constrained_sparsemax(z, torch.tensor(bound, dtype=z.dtype))
            torch.testing.assert_close(alpha, entmax.sparsemax(z, -1))

    @pytest.mark.parametrize("shift", [1e4, -1e4, 1e9])
    @pytest.mark.parametrize("kind", KINDS)
    def test_large_scores_have_the_error_of_rounding(self, kind, shift):
        """Scores that float32 holds exactly."""
        z, u = values_of(kind, 30, batch=4)
        z, u = (z.float() + shift).double(), u.float().double()
        alpha = constrained_sparsemax(z.float(), u.float())
        expected = expected_rows(z - shift, u)
        torch.testing.assert_close(alpha.double(), expected, rtol=0, atol=3e-7)

    @pytest.mark.parametrize("highest", [10.0, 1e4, 1e7, 1e30, math.inf])
    def test_scores_far_below_the_highest_share_what_is_left(self, highest):
        z, u = torch.tensor([highest, 0.25, 0.0]), torch.tensor([0.5, 0.4, 0.3])
        torch.testing.assert_close(constrained_sparsemax(z, u), torch.tensor([0.5, 0.375, 0.125]))

    def test_minus_infinity_counts_as_the_lowest_number(self):
        z, u = torch.tensor([1.0, 0.0, -math.inf]), torch.tensor([0.5, 0.1, 0.9])
        torch.testing.assert_close(constrained_sparsemax(z, u), torch.tensor([0.5, 0.1, 0.4]))


class TestGradients:
    def test_gradients_are_those_of_the_paper(self):
        """A = {1, 2}, S = {0}, and a position at 0."""
        z = torch.tensor([3.0, 0.2, 0.0, -9.0], dtype=torch.float64, requires_grad=True)
        u = torch.tensor([0.2, 1.0, 1.0, 1.0], dtype=torch.float64, requires_grad=True)
        alpha = constrained_sparsemax(z, u)
        alpha.backward(torch.tensor([5.0, 1.0, 3.0, 7.0], dtype=torch.float64))
        numpy.testing.assert_allclose(alpha.tolist(), [0.2, 0.5, 0.3, 0], atol=1e-12)
        numpy.testing.assert_allclose(z.grad.tolist(), [0, -1, 1, 0], atol=1e-12)
        numpy.testing.assert_allclose(u.grad.tolist(), [3, 0, 0, 0], atol=1e-12)

    def test_all_at_their_bounds_leaves_no_gradient_of_scores(self):
        z = torch.zeros(2, requires_grad=True)
        u = torch.full((2,), 0.5, requires_grad=True)
        alpha = constrained_sparsemax(z, u)
        alpha.backward(torch.tensor([1.0, 3.0]))
        assert (alpha.tolist(), z.grad.tolist(), u.grad.tolist()) == ([0.5, 0.5], [0, 0], [1, 3])

    def test_a_bound_of_zero_has_the_gradient_of_a_small_bound(self):
        z = torch.tensor([3.0, 1.0, 1.5, -9.0], dtype=torch.float64)
        gradients = []
        for bound in (0.0, 1e-6):
            u = torch.tensor([bound, 1.0, 1.0, bound], dtype=torch.float64, requires_grad=True)
            alpha = constrained_sparsemax(z, u)
            alpha.backward(torch.tensor([5.0, 1.0, 3.0, 7.0], dtype=torch.float64))
            gradients.append(u.grad.tolist())
        assert alpha[3] == 0
        assert gradients[0] == gradients[1] == [3, 0, 0, 0]


def test_a_row_is_solved_as_it_is_alone():
    """A row with large scores does not change the others."""
    z, u = values_of("random", 12, batch=3)
    z[0] *= 1e6
    together, alone = solve(z, u), [solve(*row) for row in zip(z[:, None], u[:, None])]
    for i, row in enumerate(alone):
        torch.testing.assert_close(together[0][i], row[0][0])
        assert torch.equal(together[1][i], row[1][0])
