import numpy
import pytest
import torch
from torch.autograd import gradcheck

from allennlp_nef.nn.constrained_softmax import constrained_softmax
from tests.nn.csoftmax_problems import FLOATS, KINDS, rows_by_oracle, values_of


class TestGradients:
    @pytest.mark.parametrize("length", [2, 3, 7])
    @pytest.mark.parametrize("kind", KINDS)
    def test_gradients_are_those_of_finite_differences(self, kind, length):
        for seed in range(3):
            z, u = values_of(kind, length, seed)
            alpha = rows_by_oracle(z, u)
            # Far from a kink, or the check means nothing: nothing unsaturated is about to saturate.
            log_normalizer = (z - alpha.log())[alpha < u * (1 - 1e-9)].mean()
            assert ((z - log_normalizer).exp() - u).abs().min() > 1e-4
            z.requires_grad_()
            u.requires_grad_()
            assert gradcheck(constrained_softmax, (z, u))

    def test_gradients_of_a_masked_batch_are_those_of_finite_differences(self):
        z, u = values_of("tight", 5, seed=3, batch=2)
        mask = torch.tensor([[True, True, True, True, True], [True, False, True, True, False]])
        u[1] *= 2
        z.requires_grad_()
        u.requires_grad_()
        assert gradcheck(lambda a, b: constrained_softmax(a, b, mask), (z, u))

    def test_problems_are_saturated_as_named(self):
        for kind, saturated in (("loose", 0), ("saturated", 6)):
            z, u = values_of(kind, 7)
            assert int((constrained_softmax(z, u) == u).sum()) == saturated
        z, u = values_of("tight", 7)
        assert 0 < int((constrained_softmax(z, u) == u).sum()) < 7

    def test_a_position_at_its_bound_is_not_saturated(self):
        """Both weights are exactly at their bounds: they stay in A and their bounds get no gradient."""
        z = torch.zeros(2, requires_grad=True)
        u = torch.full((2,), 0.5, requires_grad=True)
        alpha = constrained_softmax(z, u)
        alpha.backward(torch.tensor([1.0, 3.0]))
        assert alpha.tolist() == [0.5, 0.5]
        # Softmax: alpha_i (dalpha_i - m) with m = 2.
        assert z.grad.tolist() == [-0.5, 0.5]
        assert u.grad.tolist() == [0, 0]

    def test_gradients_of_a_saturated_position_follow_equations_12_and_13(self):
        """Eqs. 12 and 13 with A = {1, 2}, s = 0.2."""
        z = torch.tensor([3.0, 0.0, 0.0], dtype=torch.float64, requires_grad=True)
        u = torch.tensor([0.2, 1.0, 1.0], dtype=torch.float64, requires_grad=True)
        alpha = constrained_softmax(z, u)
        alpha.backward(torch.tensor([5.0, 1.0, 3.0], dtype=torch.float64))
        numpy.testing.assert_allclose(alpha.tolist(), [0.2, 0.4, 0.4], atol=1e-12)
        numpy.testing.assert_allclose(z.grad.tolist(), [0, -0.4, 0.4], atol=1e-12)
        numpy.testing.assert_allclose(u.grad.tolist(), [3, 0, 0], atol=1e-12)

    def test_second_derivatives_are_an_error(self):
        """A second derivative would be wrong where the gradient of alpha is constant."""
        z = torch.randn(4, generator=torch.Generator().manual_seed(0)).requires_grad_()
        alpha = constrained_softmax(z, torch.ones(4))
        with pytest.raises(RuntimeError, match="constrained_softmax is differentiable once"):
            torch.autograd.grad(alpha[0], z, create_graph=True)

    @pytest.mark.parametrize("dtype", FLOATS)
    def test_gradients_are_finite_where_bounds_sum_to_one(self, dtype):
        """The last step of N = L: alpha = u, and gradients are finite, whichever way the sum is rounded."""
        for seed in range(20):
            generator = torch.Generator().manual_seed(seed)
            u = torch.randn(200, generator=generator, dtype=dtype).mul(3).softmax(0)
            u = u.requires_grad_()
            z = torch.randn(200, generator=generator, dtype=dtype).mul(3).requires_grad_()
            alpha = constrained_softmax(z, u)
            alpha.backward(torch.randn(200, generator=generator, dtype=dtype))
            torch.testing.assert_close(alpha, u, rtol=0, atol=1e-6)
            assert z.grad.abs().max() < 10
            assert u.grad.abs().max() < 10
