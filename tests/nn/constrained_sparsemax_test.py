import math

import entmax
import numpy
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.autograd import gradcheck

from allennlp_nef.nn.constrained_sparsemax import (
    ConstrainedSparsemaxFunction,
    constrained_sparsemax,
    solve,
)
from tests import oracles
from tests.nn.csoftmax_problems import FLOATS, KINDS, problems, rows_by_oracle, values_of

LOW_PRECISION = [torch.bfloat16, torch.float16]
TOLERANCE = {torch.float32: 1e-5, torch.float64: 1e-9}


def expected_rows(z, u):
    return rows_by_oracle(z, u, oracles.csparsemax)


class TestWeights:
    @settings(max_examples=300, deadline=None, derandomize=True)
    @given(problems(), st.sampled_from(FLOATS))
    def test_weights_are_the_optimum(self, problem, dtype):
        z, u, mask = problem
        z, u = z.to(dtype), u.to(dtype)
        noise = torch.where(mask, z, torch.full_like(z, math.nan))
        alpha = constrained_sparsemax(noise, u, mask)
        assert alpha.dtype == dtype
        assert abs(float(alpha.sum()) - 1) < TOLERANCE[dtype]
        assert (alpha >= 0).all() and (alpha <= u).all()
        assert (alpha[~mask] == 0).all() and (alpha[u == 0] == 0).all()
        expected = torch.tensor(oracles.csparsemax(z[mask], u[mask]))
        tolerance = TOLERANCE[dtype]
        torch.testing.assert_close(alpha[mask].double(), expected, rtol=0, atol=tolerance)

    @pytest.mark.parametrize("kind", KINDS)
    @pytest.mark.parametrize("dtype", FLOATS)
    @pytest.mark.parametrize("length", [2, 30, 1000])
    def test_rows_of_every_kind_and_length_are_solved(self, length, dtype, kind):
        z, u = values_of(kind, length, seed=7, batch=3)
        alpha = constrained_sparsemax(z.to(dtype), u.to(dtype))
        torch.testing.assert_close(
            alpha.double(), expected_rows(z, u), rtol=0, atol=TOLERANCE[dtype]
        )

    def test_large_bounds_give_the_sparsemax(self):
        z, _ = values_of("loose", 9, batch=5)
        for bound in (1.0, 1e9, math.inf):
            alpha = constrained_sparsemax(z, torch.tensor(bound, dtype=z.dtype))
            torch.testing.assert_close(alpha, entmax.sparsemax(z, -1))

    def test_one_word_gets_all(self):
        for bound in (1.0, 1 - 1e-7, 3.0):
            alpha = constrained_sparsemax(torch.tensor([[-7.0]]), torch.tensor([[bound]]))
            torch.testing.assert_close(alpha, torch.ones(1, 1))

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

    def test_infeasible_core_gives_the_bounds(self):
        """A sentence that is done, or padding: the core checks nothing, and is never NaN."""
        z = torch.randn(5, generator=torch.Generator().manual_seed(0)).requires_grad_()
        for u in (torch.zeros(5), torch.full((5,), 0.1)):
            u.requires_grad_()
            alpha = ConstrainedSparsemaxFunction.apply(z, u)
            alpha.sum().backward()
            assert torch.equal(alpha, u)
            assert z.grad.tolist() == [0] * 5 and torch.isfinite(u.grad).all()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("dtype", LOW_PRECISION)
def test_low_precision_has_the_error_of_rounding(dtype, kind):
    z, u = (tensor.to(dtype) for tensor in values_of(kind, 30, seed=5, batch=4))
    gradient = torch.randn(4, 30, generator=torch.Generator().manual_seed(6)).to(dtype)
    results = []
    for each in (dtype, torch.float32):
        a, b = (tensor.to(each, copy=True).requires_grad_() for tensor in (z, u))
        alpha = constrained_sparsemax(a, b)
        alpha.backward(gradient.to(each))
        results.append([alpha.detach(), a.grad, b.grad])
    for low, exact in zip(*results):
        assert low.dtype == dtype
        torch.testing.assert_close(low.float(), exact, rtol=2 * torch.finfo(dtype).eps, atol=1e-5)


class TestGradients:
    @pytest.mark.parametrize("length", [2, 3, 7])
    @pytest.mark.parametrize("kind", KINDS)
    def test_gradients_are_those_of_finite_differences(self, kind, length):
        checked = 0
        for seed in range(6):
            z, u = values_of(kind, length, seed)
            alpha = rows_by_oracle(z, u, oracles.csparsemax)
            inside = (alpha > 0) & (alpha < u * (1 - 1e-9))
            above = z - (z - alpha)[inside].mean()
            if torch.cat([above.abs(), (above - u).abs()]).min() < 1e-4:
                continue  # a kink: it has no gradient
            checked += 1
            assert gradcheck(constrained_sparsemax, (z.requires_grad_(), u.requires_grad_()))
        assert checked >= 3

    def test_gradients_of_a_masked_batch_are_those_of_finite_differences(self):
        z, u = values_of("tight", 5, seed=3, batch=2)
        mask = torch.tensor([[True, True, True, True, True], [True, False, True, True, False]])
        u[1] *= 2
        z.requires_grad_()
        u.requires_grad_()
        assert gradcheck(lambda a, b: constrained_sparsemax(a, b, mask), (z, u))

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

    @pytest.mark.parametrize("dtype", FLOATS)
    def test_gradients_are_finite_where_bounds_sum_to_one(self, dtype):
        """The last step of N = L: alpha = u, whichever way the sum is rounded."""
        for seed in range(20):
            generator = torch.Generator().manual_seed(seed)
            u, z, gradient = torch.randn(3, 200, generator=generator, dtype=dtype).mul(3).unbind()
            u = u.softmax(0).requires_grad_()
            alpha = constrained_sparsemax(z.requires_grad_(), u)
            alpha.backward(gradient)
            torch.testing.assert_close(alpha, u, rtol=0, atol=1e-6)
            assert z.grad.abs().max() < 30 and u.grad.abs().max() < 30

    def test_second_derivatives_are_an_error(self):
        z = torch.randn(4, generator=torch.Generator().manual_seed(0)).requires_grad_()
        alpha = constrained_sparsemax(z, torch.ones(4))
        with pytest.raises(RuntimeError, match="constrained_sparsemax is differentiable once"):
            torch.autograd.grad(alpha[0], z, create_graph=True)


class TestMask:
    def test_masked_positions_have_no_effect(self):
        z, u = values_of("tight", 5, batch=2)
        mask = torch.tensor([True, True, False, True, False])
        u = u * 3
        expected = constrained_sparsemax(z[:, mask], u[:, mask])
        for junk in (math.nan, math.inf, -math.inf, -1.0, 1e30):
            a, b = z.clone(), u.clone()
            a[:, ~mask] = b[:, ~mask] = junk
            alpha = constrained_sparsemax(a.requires_grad_(), b.requires_grad_(), mask)
            alpha.square().sum().backward()
            torch.testing.assert_close(alpha[:, mask], expected)
            assert (alpha[:, ~mask] == 0).all()
            for gradient in (a.grad, b.grad):
                assert torch.isfinite(gradient).all() and (gradient[:, ~mask] == 0).all()


def test_errors_name_the_function():
    with pytest.raises(ValueError, match="^constrained_sparsemax: upper bounds must sum to"):
        constrained_sparsemax(torch.zeros(3), torch.full((3,), 0.3))


def test_a_row_is_solved_as_it_is_alone():
    """The second pass, for rows with large scores, does not change the others beyond rounding."""
    z, u = values_of("random", 12, batch=3)
    z[0] *= 1e6
    together, alone = solve(z, u), [solve(*row) for row in zip(z[:, None], u[:, None])]
    for i, row in enumerate(alone):
        torch.testing.assert_close(together.weights[i], row.weights[0])
        assert torch.equal(together.inside[i], row.inside[0])
