import math

import pytest
import torch
from allennlp.common import Params
from allennlp.common.checks import ConfigurationError
from allennlp.modules.attention import Attention

from allennlp_nef.modules.attention import ConstrainedSoftmaxAttention
from allennlp_nef.nn.constrained_softmax import constrained_softmax

SIMILARITIES = {
    "dot_product": {},
    "bilinear": {"vector_dim": 4, "matrix_dim": 4},
    "additive": {"vector_dim": 4, "matrix_dim": 4},
}


def make(similarity="dot_product", **options):
    params = {"type": similarity, **SIMILARITIES[similarity]}
    return Attention.from_params(Params({"type": "csoftmax", "similarity": params, **options}))


def inputs_of(batch=3, rows=6, seed=0):
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(batch, 4, generator=generator), torch.randn(
        batch, rows, 4, generator=generator
    )


@pytest.mark.parametrize("similarity", sorted(SIMILARITIES))
def test_attention_is_csoftmax_of_the_similarity(similarity):
    torch.manual_seed(0)
    attention = make(similarity, upper_bound=0.2)
    assert isinstance(attention, ConstrainedSoftmaxAttention)
    vector, matrix = inputs_of()
    weights = attention(vector, matrix)
    scores = attention.similarity._forward_internal(vector, matrix)
    torch.testing.assert_close(weights, constrained_softmax(scores, torch.full((3, 6), 0.2)))
    torch.testing.assert_close(weights.sum(-1), torch.ones(3))
    assert weights.max() <= 0.2


@pytest.mark.parametrize("similarity", sorted(SIMILARITIES))
def test_attention_without_bound_is_that_of_the_similarity(similarity):
    torch.manual_seed(0)
    attention = make(similarity)
    vector, matrix = inputs_of()
    mask = torch.arange(6) < torch.tensor([6, 3, 1]).unsqueeze(1)
    expected = attention.similarity(vector, matrix, mask)
    torch.testing.assert_close(attention(vector, matrix, mask), expected)


def test_infeasible_default_bound_gives_equal_shares():
    """A bound of 0.3 leaves no solution for fewer than four rows: each has 1 / rows."""
    vector, matrix = inputs_of(batch=5)
    lengths = torch.tensor([0, 1, 2, 3, 4])
    mask = torch.arange(6) < lengths.unsqueeze(1)
    weights = make(upper_bound=0.3)(vector, matrix, mask)
    expected = mask / lengths.clamp(min=1).unsqueeze(1).float()
    torch.testing.assert_close(weights[:4], expected[:4])
    assert (weights[4] <= 0.3).all()
    assert weights[4].max() > 0.26
    assert float(weights[4].sum()) == pytest.approx(1)
    torch.testing.assert_close(
        make(upper_bound=0.3)(vector, matrix[:, :2]), torch.full((5, 2), 0.5)
    )


def test_bounds_of_a_call_replace_the_default():
    vector, matrix = inputs_of(rows=4)
    bounds = torch.tensor([0.1, 0.2, 0.3, 0.5])
    weights = make(upper_bound=0.2)(vector, matrix, upper_bounds=bounds.expand(3, 4))
    assert (weights <= bounds).all()
    assert weights.max() > 0.3
    torch.testing.assert_close(weights.sum(-1), torch.ones(3))


def test_padding_does_not_change_the_attention():
    vector, matrix = inputs_of()
    mask = torch.arange(6) < torch.tensor([6, 3, 0]).unsqueeze(1)
    attention = make(upper_bound=0.5)
    expected = attention(vector, matrix.masked_fill(~mask.unsqueeze(-1), 0), mask)
    weights = attention(vector, matrix.masked_fill(~mask.unsqueeze(-1), math.nan), mask)
    assert torch.equal(weights, expected)
    assert (weights[~mask] == 0).all()


@pytest.mark.parametrize("rows", [3, 300])
def test_bfloat16_is_close_to_float32(rows):
    vector, matrix = inputs_of(rows=rows)
    mask = torch.ones(3, rows, dtype=torch.bool)
    weights = make(upper_bound=0.002)(vector.bfloat16(), matrix.bfloat16(), mask)
    assert weights.dtype == torch.bfloat16
    torch.testing.assert_close(weights.float().sum(-1), torch.ones(3), atol=0.02, rtol=0)


@pytest.mark.parametrize("upper_bound", [0.0, -1.0, 1.5, math.nan])
def test_upper_bound_out_of_range_is_an_error(upper_bound):
    with pytest.raises(ConfigurationError, match="upper_bound: expected a number above 0"):
        make(upper_bound=upper_bound)
