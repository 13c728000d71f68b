"""csoftmax against the numbers of the authors' implementation."""

import json
import math
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch

from allennlp_nef.nn.constrained_softmax import (
    ConstrainedSoftmaxFunction,
    constrained_softmax,
    solve,
)
from tests.nn.csoftmax_problems import FLOATS, values_of

REFERENCE = Path(__file__).resolve().parent.parent / "reference" / "csoftmax_cases.json"
CASES = json.loads(REFERENCE.read_text(encoding="utf-8"))
ARGUMENTS = "scores", "upper_bounds", "output_gradient"
RESULTS = {"probabilities": 1e-5, "scores_gradient": 1e-4, "upper_bounds_gradient": 1e-4}


class TestReference:
    @pytest.mark.parametrize("run", ["function", "solve"])
    @pytest.mark.parametrize("dtype", FLOATS)
    def test_weights_and_gradients_are_those_of_the_reference(self, dtype, run):
        """Also without the shortcut, as on a GPU."""
        assert len(CASES) == 270
        for number, case in enumerate(CASES):
            z, u, gradient = (torch.tensor(case[name], dtype=dtype) for name in ARGUMENTS)
            if run == "solve":
                alpha, *saved = solve(z, u.clamp(max=1))
                context = SimpleNamespace(saved_tensors=saved)
                gradients = ConstrainedSoftmaxFunction.backward(context, gradient)
            else:
                alpha = constrained_softmax(z.requires_grad_(), u.requires_grad_())
                alpha.backward(gradient)
                gradients = z.grad, u.grad
            for found, (name, tolerance) in zip((alpha, *gradients), RESULTS.items()):
                expected = torch.tensor(case[name], dtype=dtype)
                message = f"case {number}, {case['kind']}: {name}"
                assert torch.allclose(found, expected, rtol=0, atol=tolerance), message


class TestGradients:
    def test_a_position_at_its_bound_is_not_saturated(self):
        """Both weights are exactly at their bounds: they stay in A, and their bounds get no gradient."""
        z = torch.zeros(2, requires_grad=True)
        u = torch.full((2,), 0.5, requires_grad=True)
        alpha = constrained_softmax(z, u)
        alpha.backward(torch.tensor([1.0, 3.0]))
        assert alpha.tolist() == [0.5, 0.5]
        # Softmax: alpha_i (dalpha_i - m) with m = 2.
        assert z.grad.tolist() == [-0.5, 0.5]
        assert u.grad.tolist() == [0, 0]


class TestNumbers:
    @pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
    def test_scores_and_bounds_may_have_different_types(self, dtype):
        """Scores of autocast with bounds kept in float32."""
        z, u = values_of("tight", 8)
        z, u = z.to(dtype).requires_grad_(), u.float().requires_grad_()
        alpha = constrained_softmax(z, u)
        alpha.sum().backward()
        assert (alpha.dtype, z.grad.dtype, u.grad.dtype) == (dtype, dtype, torch.float32)

    @pytest.mark.parametrize("dtype", [*FLOATS, torch.bfloat16, torch.float16])
    def test_minus_infinity_counts_as_the_lowest_number(self, dtype):
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
        weights = constrained_softmax(z, u)
        assert 0 <= weights[0] < 1e-8
        torch.testing.assert_close(weights[1:], u[1:])

    def test_extreme_scores_give_finite_weights(self):
        scores = torch.tensor([[1e4, 0.0, -1e4], [math.inf, 0, -math.inf]])
        weights = constrained_softmax(scores, torch.tensor([0.6, 0.3, 0.3]))
        torch.testing.assert_close(weights, torch.tensor([[0.6, 0.3, 0.1]] * 2))
