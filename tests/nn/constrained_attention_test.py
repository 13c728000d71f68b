"""What holds for constrained softmax and constrained sparsemax."""

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.autograd import gradcheck

from allennlp_nef.nn.constrained_softmax import ConstrainedSoftmaxFunction, constrained_softmax
from allennlp_nef.nn.constrained_sparsemax import (
    ConstrainedSparsemaxFunction,
    constrained_sparsemax,
)
from tests import oracles
from tests.nn.csoftmax_problems import FLOATS, KINDS, problems, rows_by_oracle, values_of

LOW_PRECISION = [torch.bfloat16, torch.float16]
TOLERANCE = {torch.float32: 1e-5, torch.float64: 1e-9}
ORACLES = {constrained_softmax: oracles.csoftmax, constrained_sparsemax: oracles.csparsemax}
FUNCTIONS = {
    constrained_softmax: ConstrainedSoftmaxFunction,
    constrained_sparsemax: ConstrainedSparsemaxFunction,
}
both = pytest.mark.parametrize("attend", list(ORACLES), ids=["csoftmax", "csparsemax"])


@both
@settings(max_examples=100, deadline=None, derandomize=True)
@given(problem=problems(), dtype=st.sampled_from(FLOATS))
def test_weights_are_the_optimum(attend, problem, dtype):
    z, u, mask = problem
    z, u = z.to(dtype), u.to(dtype)
    tolerance = TOLERANCE[dtype]
    alpha = attend(torch.where(mask, z, torch.full_like(z, math.nan)), u, mask)
    assert alpha.dtype == dtype
    assert abs(float(alpha.sum()) - 1) < tolerance
    assert (alpha >= 0).all() and (alpha <= u).all()
    assert (alpha[~mask] == 0).all() and (alpha[u == 0] == 0).all()
    ordered = (z.unsqueeze(1) >= z) & (u.unsqueeze(1) >= u) & mask & mask.unsqueeze(1)
    assert (alpha.unsqueeze(1) - alpha)[ordered].ge(-tolerance).all()
    expected = torch.tensor(ORACLES[attend](z[mask], u[mask]))
    torch.testing.assert_close(alpha[mask].double(), expected, rtol=0, atol=tolerance)
    softmax = z.masked_fill(~mask, -math.inf).softmax(-1)
    if attend is constrained_softmax and (softmax <= u).all():
        torch.testing.assert_close(alpha, softmax, rtol=0, atol=tolerance)


@both
@settings(max_examples=50, deadline=None, derandomize=True)
@given(length=st.integers(2, 1000), kind=st.sampled_from(KINDS), seed=st.integers(0, 1000))
def test_long_rows_are_solved(attend, length, kind, seed):
    z, u = values_of(kind, length, seed)
    expected = rows_by_oracle(z, u, ORACLES[attend])
    for dtype, tolerance in TOLERANCE.items():
        alpha = attend(z.to(dtype), u.to(dtype))
        torch.testing.assert_close(alpha.double(), expected, rtol=0, atol=tolerance)


@both
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("dtype", LOW_PRECISION)
def test_low_precision_has_the_error_of_rounding(attend, dtype, kind):
    z, u = (tensor.to(dtype) for tensor in values_of(kind, 30, seed=5, batch=4))
    gradient = torch.randn(4, 30, generator=torch.Generator().manual_seed(6)).to(dtype)
    results = []
    for kind_of_float in (dtype, torch.float32):
        a, b = (tensor.to(kind_of_float, copy=True).requires_grad_() for tensor in (z, u))
        alpha = attend(a, b)
        alpha.backward(gradient.to(kind_of_float))
        results.append([alpha.detach(), a.grad, b.grad])
    for low, exact in zip(*results):
        assert low.dtype == dtype
        torch.testing.assert_close(low.float(), exact, rtol=2 * torch.finfo(dtype).eps, atol=1e-5)


@both
def test_masked_positions_have_no_effect(attend):
    z, u = values_of("tight", 5, batch=2)
    mask = torch.tensor([True, True, False, True, False])
    u = u * 3
    words = [x[:, mask].requires_grad_() for x in (z, u)]
    expected = attend(*words)
    expected.square().sum().backward()
    for junk in (math.nan, math.inf, -math.inf, -1.0, 1e30):
        a, b = z.clone(), u.clone()
        a[:, ~mask] = b[:, ~mask] = junk
        alpha = attend(a.requires_grad_(), b.requires_grad_(), mask)
        alpha.square().sum().backward()
        torch.testing.assert_close(alpha[:, mask], expected)
        assert (alpha[:, ~mask] == 0).all()
        for found, alone in zip((a, b), words):
            torch.testing.assert_close(found.grad[:, mask], alone.grad)
            assert (found.grad[:, ~mask] == 0).all()


@both
@pytest.mark.parametrize("shift", [1e4, -1e4])
@pytest.mark.parametrize("kind", KINDS)
def test_large_scores_have_the_error_of_rounding(attend, kind, shift):
    """Scores that float32 holds exactly. In one row, a word without weight has an even higher score."""
    z, u = values_of(kind, 30, batch=4)
    z, u = (z.float() + shift).double(), u.float().double()
    z[0, 0], u[0, 0] = 1e6, 0
    weights = FUNCTIONS[attend].apply(z.float(), u.float())
    z[0, 0] = shift
    expected = rows_by_oracle(z - shift, u, ORACLES[attend])
    torch.testing.assert_close(weights.double(), expected, rtol=0, atol=3e-7)


@both
def test_bounds_that_sum_to_less_than_1_are_the_weights(attend):
    """A sentence that is done, or padding: the core checks nothing, and is never NaN."""
    z = torch.randn(5, generator=torch.Generator().manual_seed(0)).requires_grad_()
    for u in (torch.zeros(5), torch.full((5,), 0.1)):
        u.requires_grad_()
        alpha = FUNCTIONS[attend].apply(z, u)
        alpha.sum().backward()
        assert torch.equal(alpha, u)
        assert z.grad.tolist() == [0] * 5 and torch.isfinite(u.grad).all()


@both
@pytest.mark.parametrize("length", [2, 3, 7])
@pytest.mark.parametrize("kind", KINDS)
def test_gradients_are_those_of_finite_differences(attend, kind, length):
    checked = 0
    for seed in range(6):
        z, u = values_of(kind, length, seed)
        alpha = rows_by_oracle(z, u, ORACLES[attend])
        inside = (alpha > 0) & (alpha < u * (1 - 1e-9))
        if attend is constrained_softmax:
            unbounded = (z - (z - alpha.log())[inside].mean()).exp()
            distances = unbounded - u
        else:
            above = z - (z - alpha)[inside].mean()
            distances = torch.cat([above, above - u])
        if distances.abs().min() < 1e-4:
            continue  # a kink: it has no gradient
        checked += 1
        assert gradcheck(attend, (z.requires_grad_(), u.requires_grad_()))
    assert checked >= 3


@both
@pytest.mark.parametrize("dtype", FLOATS)
def test_gradients_are_finite_where_bounds_sum_to_one(attend, dtype):
    """As in the last step of N = L: alpha = u, however the sum is rounded."""
    for seed in range(20):
        generator = torch.Generator().manual_seed(seed)
        u, z, gradient = torch.randn(3, 200, generator=generator, dtype=dtype).mul(3).unbind()
        u = u.softmax(0).requires_grad_()
        alpha = attend(z.requires_grad_(), u)
        alpha.backward(gradient)
        torch.testing.assert_close(alpha, u, rtol=0, atol=3e-6)
        assert z.grad.abs().max() < 30 and u.grad.abs().max() < 30


@both
@pytest.mark.parametrize("dim", [0, 1, -3])
def test_dim_selects_the_dimension(attend, dim):
    z, u = values_of("tight", 4, batch=6)
    z, u = z.reshape(2, 3, 4), u.reshape(2, 3, 4)
    expected = attend(z, u).movedim(-1, dim)
    mask = torch.ones(expected.shape, dtype=torch.bool)
    torch.testing.assert_close(attend(z.movedim(-1, dim), u.movedim(-1, dim), mask, dim), expected)


@both
def test_bounds_and_mask_broadcast(attend):
    z = torch.randn(3, 5, generator=torch.Generator().manual_seed(0)).requires_grad_()
    u = torch.tensor([0.5, 0.5, 0.1, 0.3, 0.3], requires_grad=True)
    mask = torch.tensor([True, True, True, True, False])
    alpha = attend(z, u, mask)
    assert torch.equal(alpha, attend(z, u.expand(3, 5), mask.expand(3, 5)))
    alpha.square().sum().backward()
    assert u.grad.shape == u.shape
    torch.testing.assert_close(attend(z, torch.tensor(0.3)), attend(z, torch.full((3, 5), 0.3)))


@both
def test_a_fully_masked_row_is_zero(attend):
    z = torch.full((2, 3), math.nan)
    z[0] = 0
    mask = torch.tensor([[True, True, True], [False, False, False]])
    alpha = attend(z.requires_grad_(), torch.full((2, 3), 0.5), mask)
    alpha.square().sum().backward()
    torch.testing.assert_close(alpha[0], torch.full((3,), 1 / 3))
    assert alpha[1].tolist() == [0, 0, 0]
    assert torch.isfinite(z.grad).all()


@both
@pytest.mark.parametrize("bounds", [[0.5, 0.25, 0.5], [1.0, -0.1, 0.5], [1.0, math.nan, 0.5]])
def test_infeasible_bounds_are_an_error(attend, bounds):
    """The bound of a masked position does not count."""
    u = torch.tensor([[0.5, 0.5, 0.5], bounds])
    with pytest.raises(ValueError):
        attend(torch.zeros(2, 3), u, torch.tensor([True, True, False]))


@both
def test_bounds_may_be_integers_but_scores_may_not(attend):
    z = torch.tensor([0.5, 1.0, -2.0])
    bounds = torch.tensor([1, 1, 0])
    assert torch.equal(attend(z, bounds), attend(z, bounds.float()))
    assert torch.equal(attend(z, bounds.bool()), attend(z, bounds.float()))
    with pytest.raises(ValueError):
        attend(z.long(), bounds.float())


@both
@pytest.mark.parametrize("dtype, length", [(torch.float32, 1000), (torch.bfloat16, 100)])
def test_bounds_may_miss_one_by_rounding_only(attend, dtype, length):
    z = torch.zeros(length, dtype=dtype)
    attend(z, torch.full((length,), 1 / length, dtype=dtype))
    with pytest.raises(ValueError):
        attend(z, torch.full((length,), 0.9 / length, dtype=dtype))


@both
def test_widely_spread_scores_of_long_rows_lose_no_precision(attend):
    generator = torch.Generator().manual_seed(1)
    z = 1000 * torch.rand(20, 500, generator=generator)
    u = torch.rand(20, 500, generator=generator) + 0.05
    u = u / u.sum(-1, keepdim=True) * 1.001
    weights = attend(z, u)
    expected = rows_by_oracle(z.double(), u.double(), ORACLES[attend])
    torch.testing.assert_close(weights.double(), expected, rtol=0, atol=1e-6)
    torch.testing.assert_close(weights.double().sum(-1), torch.ones(20).double(), rtol=0, atol=1e-6)
