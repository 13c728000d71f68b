"""csoftmax against the numbers of the authors' implementation."""

import json
import math
from pathlib import Path

import pytest
import torch

from allennlp_nef.nn.constrained_softmax import constrained_softmax
from tests.nn.csoftmax_problems import FLOATS

REFERENCE = Path(__file__).resolve().parent.parent / "reference" / "csoftmax_cases.json"
CASES = json.loads(REFERENCE.read_text(encoding="utf-8"))


class TestReference:
    def test_there_are_270_cases(self):
        assert len(CASES) == 270
        kinds = {"loose", "random", "some_zero_bounds", "barely_feasible", "cumulative"}
        assert {case["kind"] for case in CASES} == kinds
        assert {len(case["scores"]) for case in CASES} == {1, 2, 3, 5, 8, 13, 25, 50, 100}

    @pytest.mark.parametrize("dtype", FLOATS)
    def test_weights_and_gradients_are_those_of_the_reference(self, dtype):
        for number, case in enumerate(CASES):
            z = torch.tensor(case["scores"], dtype=dtype, requires_grad=True)
            u = torch.tensor(case["upper_bounds"], dtype=dtype, requires_grad=True)
            alpha = constrained_softmax(z, u)
            alpha.backward(torch.tensor(case["output_gradient"], dtype=dtype))
            for found, name, tolerance in (
                (alpha.detach(), "probabilities", 1e-5),
                (z.grad, "scores_gradient", 1e-4),
                (u.grad, "upper_bounds_gradient", 1e-4),
            ):
                expected = torch.tensor(case[name], dtype=dtype)
                message = f"case {number}, {case['kind']}: {name}"
                assert torch.allclose(found, expected, rtol=0, atol=tolerance), message

    def test_a_batch_of_cases_gives_the_same(self):
        """Cases of all lengths, padded to one batch with NaN, give what each gives alone."""
        shape = len(CASES), max(len(case["scores"]) for case in CASES)
        z, u, gradient = (torch.full(shape, math.nan) for _ in range(3))
        mask = torch.zeros(shape, dtype=torch.bool)
        names = "scores", "upper_bounds", "output_gradient"
        for i, case in enumerate(CASES):
            mask[i, : len(case["scores"])] = True
            for tensor, name in zip((z, u, gradient), names):
                tensor[i, : len(case[name])] = torch.tensor(case[name])
        z.requires_grad_()
        u.requires_grad_()
        alpha = constrained_softmax(z, u, mask)
        alpha.backward(gradient)
        assert (alpha[~mask] == 0).all()
        assert (z.grad[~mask] == 0).all()
        assert (u.grad[~mask] == 0).all()
        for i, case in enumerate(CASES):
            row = mask[i]
            for tensor, name, tolerance in (
                (alpha.detach(), "probabilities", 1e-5),
                (z.grad, "scores_gradient", 1e-4),
                (u.grad, "upper_bounds_gradient", 1e-4),
            ):
                expected = torch.tensor(case[name])
                torch.testing.assert_close(tensor[i][row], expected, rtol=0, atol=tolerance)
