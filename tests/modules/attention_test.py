"""AllenNLP's `Attention` with upper bounds."""

import math

import pytest
import torch
from allennlp.common import Params
from allennlp.common.checks import ConfigurationError
from allennlp.modules.attention import Attention

from allennlp_nef.nn.constrained_softmax import constrained_softmax
from allennlp_nef.nn.constrained_sparsemax import constrained_sparsemax

FUNCTIONS = {"csoftmax": constrained_softmax, "csparsemax": constrained_sparsemax}
SIMILARITIES = {
    "dot_product": {},
    "bilinear": {"vector_dim": 4, "matrix_dim": 4},
    "additive": {"vector_dim": 4, "matrix_dim": 4},
}
both = pytest.mark.parametrize("name", list(FUNCTIONS))
each_similarity = pytest.mark.parametrize("similarity", list(SIMILARITIES))


def make(name="csoftmax", similarity="dot_product", **options):
    torch.manual_seed(0)
    params = {"type": similarity, **SIMILARITIES[similarity]}
    return Attention.from_params(Params({"type": name, "similarity": params, **options}))


def example(batch=3, rows=6):
    generator = torch.Generator().manual_seed(0)
    vector = torch.randn(batch, 4, generator=generator)
    return vector, torch.randn(batch, rows, 4, generator=generator)


@both
@each_similarity
def test_attention_is_a_function_of_the_similarity(similarity, name):
    attention = make(name, similarity, upper_bound=0.2)
    vector, matrix = example()
    weights = attention(vector, matrix)
    scores = attention.similarity._forward_internal(vector, matrix)
    torch.testing.assert_close(weights, FUNCTIONS[name](scores, torch.tensor(0.2)))
    torch.testing.assert_close(weights.sum(-1), torch.ones(3))
    assert weights.max() <= 0.2


@each_similarity
def test_csoftmax_without_bound_is_the_attention_of_the_similarity(similarity):
    attention = make(similarity=similarity)
    vector, matrix = example()
    mask = torch.arange(6) < torch.tensor([6, 3, 1]).unsqueeze(1)
    expected = attention.similarity(vector, matrix, mask)
    torch.testing.assert_close(attention(vector, matrix, mask), expected)


@both
def test_few_rows_get_equal_shares(name):
    """A bound of 0.3 leaves no solution for fewer than four rows: each has 1 / rows. There is NaN in padding."""
    vector, matrix = example(batch=5)
    lengths = torch.tensor([0, 1, 2, 3, 4])
    mask = torch.arange(6) < lengths.unsqueeze(1)
    attention = make(name, upper_bound=0.3)
    weights = attention(vector, matrix.masked_fill(~mask.unsqueeze(-1), math.nan), mask)
    expected = mask / lengths.clamp(min=1).unsqueeze(1).float()
    torch.testing.assert_close(weights[:4], expected[:4])
    assert 0.26 < weights[4].max() <= 0.3 and (weights[4, 4:] == 0).all()
    torch.testing.assert_close(weights[4:, :4], attention(vector[4:], matrix[4:, :4]))


@both
def test_bounds_of_a_call_replace_the_default(name):
    bounds = torch.tensor([0.1, 0.2, 0.3, 0.5])
    weights = make(name, upper_bound=0.2)(*example(rows=4), upper_bounds=bounds.expand(3, 4))
    assert (weights <= bounds).all() and weights.max() > 0.3
    torch.testing.assert_close(weights.sum(-1), torch.ones(3))


@pytest.mark.parametrize("upper_bound", [0.0, -1.0, 1.5, math.nan])
def test_upper_bound_out_of_range_is_an_error(upper_bound):
    with pytest.raises(ConfigurationError, match="upper_bound"):
        make(upper_bound=upper_bound)
