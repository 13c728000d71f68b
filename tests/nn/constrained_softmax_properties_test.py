import math

import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from allennlp_nef.nn.constrained_softmax import constrained_softmax
from tests import oracles
from tests.nn.csoftmax_problems import FLOATS, KINDS, problems, rows_by_oracle, values_of


class TestProperties:
    @settings(max_examples=300, deadline=None, derandomize=True)
    @given(problems(), st.sampled_from(FLOATS))
    def test_weights_are_the_optimum(self, problem, dtype):
        z, u, mask = problem
        z, u = z.to(dtype), u.to(dtype)
        tolerance = 1e-5 if dtype == torch.float32 else 1e-9
        noise = torch.where(mask, z, torch.full_like(z, math.nan))
        alpha = constrained_softmax(noise, u, mask)
        assert alpha.dtype == dtype
        assert abs(float(alpha.sum()) - 1) < tolerance
        assert (alpha >= 0).all()
        assert (alpha <= u).all()
        assert (alpha[~mask] == 0).all()
        assert (alpha[u == 0] == 0).all()
        ordered = (z.unsqueeze(1) >= z) & (u.unsqueeze(1) >= u) & mask & mask.unsqueeze(1)
        assert (alpha.unsqueeze(1) - alpha)[ordered].ge(-tolerance).all()
        expected = torch.tensor(oracles.csoftmax(z, u * mask))
        torch.testing.assert_close(alpha.double(), expected, rtol=0, atol=tolerance)
        softmax = z.masked_fill(~mask, -math.inf).softmax(-1)
        if (softmax <= u).all():
            torch.testing.assert_close(alpha, softmax, rtol=0, atol=tolerance)

    @settings(max_examples=50, deadline=None, derandomize=True)
    @given(st.integers(1, 1000), st.sampled_from(KINDS), st.integers(0, 1000))
    def test_long_rows_are_solved(self, length, kind, seed):
        z, u = values_of(kind, max(length, 2), seed)
        expected = rows_by_oracle(z, u)
        for dtype, tolerance in ((torch.float32, 1e-5), (torch.float64, 1e-9)):
            alpha = constrained_softmax(z.to(dtype), u.to(dtype))
            torch.testing.assert_close(alpha.double(), expected, rtol=0, atol=tolerance)

    @settings(max_examples=50, deadline=None, derandomize=True)
    @given(st.integers(1, 8), st.integers(0, 1000), st.floats(-50, 50))
    def test_a_constant_added_to_the_scores_does_not_change_the_weights(self, length, seed, shift):
        z, u = values_of("random", length, seed)
        torch.testing.assert_close(constrained_softmax(z + shift, u), constrained_softmax(z, u))
