import math

import pytest
import torch

from allennlp_nef.nn.constrained_softmax import (
    _by_rounds,
    constrained_softmax,
    gradients,
    solve_by_order,
)
from tests.nn.csoftmax_problems import FLOATS, KINDS, rows_by_oracle, values_of

SOLVERS = [_by_rounds, solve_by_order]
LOW_PRECISION = [torch.bfloat16, torch.float16]


class TestShapesAndTypes:
    @pytest.mark.parametrize("shape", [(4,), (2, 1, 3, 4)])
    def test_any_batch_shape_works(self, shape):
        z, u = values_of("tight", 4, batch=math.prod(shape[:-1]))
        alpha = constrained_softmax(z.reshape(shape), u.reshape(shape))
        assert alpha.shape == torch.Size(shape)
        torch.testing.assert_close(alpha.reshape(-1, 4), rows_by_oracle(z, u))

    @pytest.mark.parametrize("dim", [0, 1, -3])
    def test_dim_selects_the_dimension(self, dim):
        z, u = values_of("tight", 4, batch=6)
        z, u = z.reshape(2, 3, 4), u.reshape(2, 3, 4)
        expected = constrained_softmax(z, u).movedim(-1, dim)
        mask = torch.ones(expected.shape, dtype=torch.bool)
        alpha = constrained_softmax(z.movedim(-1, dim), u.movedim(-1, dim), mask, dim)
        torch.testing.assert_close(alpha, expected)

    def test_bounds_and_mask_broadcast(self):
        z = torch.randn(3, 5, generator=torch.Generator().manual_seed(0)).requires_grad_()
        u = torch.tensor([0.5, 0.5, 0.1, 0.3, 0.3], requires_grad=True)
        mask = torch.tensor([True, True, True, True, False])
        alpha = constrained_softmax(z, u, mask)
        rows = constrained_softmax(z, u.expand(3, 5), mask.expand(3, 5))
        assert torch.equal(alpha, rows)
        assert (alpha[:, 4] == 0).all()
        alpha.square().sum().backward()
        assert u.grad.shape == u.shape
        scalar = constrained_softmax(z, torch.tensor(0.3))
        assert (scalar <= 0.3).all()
        torch.testing.assert_close(scalar, constrained_softmax(z, torch.full((3, 5), 0.3)))

    @pytest.mark.parametrize("shape", [(0,), (0, 4), (3, 0)])
    def test_empty_input_gives_empty_output(self, shape):
        assert constrained_softmax(torch.ones(shape), torch.ones(shape)).shape == shape

    @pytest.mark.parametrize("dtype", LOW_PRECISION)
    def test_scores_and_bounds_may_have_different_types(self, dtype):
        """Scores of autocast with bounds kept in float32."""
        z, u = values_of("tight", 8)
        z, u = z.to(dtype).requires_grad_(), u.float().requires_grad_()
        alpha = constrained_softmax(z, u)
        alpha.sum().backward()
        assert (alpha.dtype, z.grad.dtype, u.grad.dtype) == (dtype, dtype, torch.float32)

    def test_bounds_above_one_count_as_one(self):
        """A bound above 1 is as good as none."""
        z = torch.zeros(3)
        for large in (1.0, 1e3, 1e9, math.inf):
            alpha = constrained_softmax(z, torch.tensor([0.1, large, large]))
            torch.testing.assert_close(alpha, torch.tensor([0.1, 0.45, 0.45]))

    @pytest.mark.parametrize("dtype", FLOATS + LOW_PRECISION)
    def test_minus_infinity_counts_as_the_lowest_number(self, dtype):
        """The way in which a softmax is masked."""
        z = torch.tensor([-math.inf, 5, 0, 0, -math.inf], dtype=dtype, requires_grad=True)
        u = torch.tensor([0, 0.5, 1, 1, 1], dtype=dtype)
        alpha = constrained_softmax(z, u)
        alpha.square().sum().backward()
        assert alpha.tolist() == [0, 0.5, 0.25, 0.25, 0]
        assert torch.isfinite(z.grad).all()

    def test_rounding_of_the_saturated_mass_is_harmless(self):
        """The bounds of all but the first sum to more than 1 in float32: nothing is left for it, and not less."""
        z = torch.tensor([-18.342687606811523, 6.131958484649658, 0.5682884454727173])
        u = torch.tensor([8.480831752422091e-07, 0.5448907613754272, 0.45510929822921753])
        for solve in SOLVERS:
            weights = solve(z, u, u <= 0)[0]
            assert 0 <= weights[0] < 1e-8
            torch.testing.assert_close(weights[1:], u[1:])

    @pytest.mark.parametrize("dtype", FLOATS)
    @pytest.mark.parametrize("kind", KINDS)
    def test_all_algorithms_agree(self, kind, dtype):
        """Those of CPUs and the one of other devices find the same set."""
        for length in (1, 2, 7, 60):
            z, u = (tensor.to(dtype) for tensor in values_of(kind, length, seed=7, batch=20))
            gradient = torch.randn(z.shape, generator=torch.Generator().manual_seed(8)).to(dtype)
            solvers = SOLVERS
            solutions = [solve(z, u, u <= 0) for solve in solvers]
            results = [(one.weights, *gradients(one, gradient)) for one in solutions]
            for first, *others in zip(*results):
                for other in others:
                    torch.testing.assert_close(other, first)

    @pytest.mark.parametrize("dtype", FLOATS)
    @pytest.mark.parametrize("total", [0, 0.3, 0.99])
    def test_bounds_that_sum_to_less_than_1_are_the_weights(self, total, dtype):
        """0: padding, or a sentence that is done."""
        z, u = (tensor.to(dtype) for tensor in values_of("tight", 7, seed=7, batch=20))
        u[3] *= total / u[3].sum()
        gradient = torch.randn(z.shape, generator=torch.Generator().manual_seed(8)).to(dtype)
        for solve in SOLVERS:
            solution = solve(z, u, u <= 0)
            assert torch.equal(solution.weights[3], u[3])
            grad_scores, grad_bounds = gradients(solution, gradient)
            assert not grad_scores[3].any()
            torch.testing.assert_close(grad_bounds[3], gradient[3])

    @pytest.mark.parametrize("dtype", FLOATS)
    def test_no_closed_positions_equals_none_given(self, dtype):
        """No bound is 0 and none binds: a softmax, with nothing to say about the bounds."""
        z, _ = values_of("tight", 7, batch=2)
        z = z.to(dtype)
        solution = _by_rounds(z, torch.ones_like(z), None)
        assert torch.equal(solution.weights, z.softmax(-1))
        assert solution.closed is None and gradients(solution, z)[1] is None

    @pytest.mark.parametrize("shift", [1e4, -1e4])
    @pytest.mark.parametrize("solve", SOLVERS)
    @pytest.mark.parametrize("kind", KINDS)
    def test_large_scores_have_the_error_of_rounding(self, kind, solve, shift):
        """Scores that float32 holds exactly. A word without weight has a score that is higher still."""
        z, u = values_of(kind, 30, batch=4)
        z, u = (z.float() + shift).double(), u.float().double()
        z[0, 0], u[0, 0] = 1e6, 0
        weights = solve(z.float(), u.float(), u <= 0).weights
        z[0, 0] = shift
        expected = rows_by_oracle(z - shift, u)
        torch.testing.assert_close(weights.double(), expected, rtol=0, atol=3e-7)

    def test_extreme_scores_give_finite_weights(self):
        z = torch.tensor([1e4, 0.0, -1e4])
        for scores in (z, torch.tensor([math.inf, 0, -math.inf])):
            alpha = constrained_softmax(scores, torch.tensor([0.6, 0.3, 0.3]))
            torch.testing.assert_close(alpha, torch.tensor([0.6, 0.3, 0.1]))


class TestMask:
    def test_a_fully_masked_row_is_zero(self):
        z = torch.full((2, 3), math.nan)
        z[0] = 0
        z.requires_grad_()
        mask = torch.tensor([[True, True, True], [False, False, False]])
        alpha = constrained_softmax(z, torch.full((2, 3), 0.5), mask)
        alpha.square().sum().backward()
        torch.testing.assert_close(alpha[0], torch.full((3,), 1 / 3))
        assert alpha[1].tolist() == [0, 0, 0]
        assert torch.isfinite(z.grad).all()


class TestErrors:
    @pytest.mark.parametrize(
        "arguments, message",
        [
            ((torch.zeros(3), torch.ones(4)), r"upper bounds broadcastable to \(3,\), got \(4,\)"),
            ((torch.zeros(3), torch.ones(3), torch.ones(3)), "a Boolean mask, got torch.float32"),
            (
                (torch.zeros(3), torch.ones(3), torch.ones(2) > 0),
                r"a mask broadcastable to \(3,\), got \(2,\)",
            ),
            ((torch.zeros(0), torch.ones(0), None, 1), "dim from -1 to 0, got 1"),
            ((torch.zeros(()), torch.ones(())), "scores with at least one dimension, got none"),
            ((torch.zeros(3), 0.5), "a tensor of upper bounds, got 0.5"),
        ],
    )
    def test_wrong_types_and_shapes_are_an_error(self, arguments, message):
        with pytest.raises(ValueError, match=f"^constrained_softmax: expected {message}"):
            constrained_softmax(*arguments)

    def test_an_infeasible_row_is_named(self):
        u = torch.full((2, 2, 3), 0.5)
        u[1, 0] = 0.25
        with pytest.raises(ValueError, match=r"got 0\.75 in row \(1, 0\)"):
            constrained_softmax(torch.zeros(2, 2, 3), u)

    def test_bounds_made_infeasible_by_the_mask_are_an_error(self):
        u = torch.full((3,), 0.4)
        constrained_softmax(torch.zeros(3), u)
        with pytest.raises(ValueError, match=r"at least 1, got 0\.8"):
            constrained_softmax(torch.zeros(3), u, torch.tensor([True, True, False]))

    @pytest.mark.parametrize("dtype, length", [(torch.float32, 1000), (torch.bfloat16, 100)])
    def test_bounds_may_miss_one_by_rounding_only(self, dtype, length):
        z = torch.zeros(length, dtype=dtype)
        constrained_softmax(z, torch.full((length,), 1 / length, dtype=dtype))
        with pytest.raises(ValueError, match="at least 1"):
            constrained_softmax(z, torch.full((length,), 0.9 / length, dtype=dtype))

    @pytest.mark.parametrize("value, text", [(-0.1, "got -0.1"), (math.nan, "got nan")])
    def test_negative_and_nan_bounds_are_an_error(self, value, text):
        message = f"upper bounds must be at least 0, {text}"
        with pytest.raises(ValueError, match=message):
            constrained_softmax(torch.zeros(3), torch.tensor([1.0, value, 1.0]))

    def test_scores_are_floats_and_bounds_may_be_integers(self):
        with pytest.raises(ValueError, match="expected floating-point scores, got torch.int64"):
            constrained_softmax(torch.tensor([1, 2]), torch.ones(2))
        weights = constrained_softmax(torch.tensor([0.0, 0.0]), torch.tensor([1, 1]))
        assert weights.tolist() == [0.5, 0.5]
