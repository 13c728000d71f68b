"""What `csparsemax` shares with `csoftmax` is tested in `csoftmax_test.py`."""

import torch
from allennlp.common import Params
from allennlp.modules.attention import Attention

from allennlp_nef.modules.attention import ConstrainedSparsemaxAttention
from allennlp_nef.nn.constrained_sparsemax import constrained_sparsemax


def make(**options):
    params = {"type": "csparsemax", "similarity": {"type": "dot_product"}, **options}
    return Attention.from_params(Params(params))


def example():
    generator = torch.Generator().manual_seed(0)
    vector = torch.randn(3, 4, generator=generator)
    matrix = torch.randn(3, 6, 4, generator=generator)
    return vector, matrix, torch.arange(6) < torch.tensor([6, 3, 0]).unsqueeze(1)


def test_attention_is_csparsemax_of_the_similarity():
    vector, matrix, mask = example()
    attention = make(upper_bound=0.4)
    assert isinstance(attention, ConstrainedSparsemaxAttention)
    weights = attention(vector, matrix, mask)
    scores = matrix.matmul(vector.unsqueeze(-1)).squeeze(-1)
    torch.testing.assert_close(weights, constrained_sparsemax(scores, torch.tensor(0.4), mask))
    torch.testing.assert_close(weights.sum(-1), torch.tensor([1.0, 1.0, 0.0]))
    assert weights.max() <= 0.4 and (weights[0] == 0).any()
