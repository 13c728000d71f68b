import numpy
import torch

from allennlp_nef.nn.constrained_softmax import constrained_softmax
from tests.nn.csoftmax_problems import values_of


class TestGradients:
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
