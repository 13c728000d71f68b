"""csparsemax. What it shares with csoftmax is tested in `constrained_attention_test.py`."""

import math

import entmax
import pytest
import torch

from allennlp_nef.nn.constrained_sparsemax import constrained_sparsemax
from tests.nn.csoftmax_problems import values_of


class TestWeights:
    def test_large_bounds_give_the_sparsemax(self):
        z, _ = values_of("loose", 9, batch=5)
        for bound in (1.0, 1e9, math.inf):
            alpha = constrained_sparsemax(z, torch.tensor(bound, dtype=z.dtype))
            torch.testing.assert_close(alpha, entmax.sparsemax(z, -1))

    @pytest.mark.parametrize("highest", [10.0, 1e4, 1e7, 1e30, math.inf])
    def test_scores_far_below_the_highest_share_what_is_left(self, highest):
        z, u = torch.tensor([highest, 0.25, 0.0]), torch.tensor([0.5, 0.4, 0.3])
        torch.testing.assert_close(constrained_sparsemax(z, u), torch.tensor([0.5, 0.375, 0.125]))

    def test_minus_infinity_counts_as_the_lowest_number(self):
        z, u = torch.tensor([1.0, 0.0, -math.inf]), torch.tensor([0.5, 0.1, 0.9])
        torch.testing.assert_close(constrained_sparsemax(z, u), torch.tensor([0.5, 0.1, 0.4]))


class TestGradients:
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
