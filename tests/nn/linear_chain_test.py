import math

import numpy
import pytest
import torch

from allennlp_nef.nn.linear_chain import token_marginals
from tests import oracles


def chain(tags, seed=0):
    generator = torch.Generator().manual_seed(seed)
    shapes = (tags, tags), (tags,), (tags,)
    return [torch.randn(shape, generator=generator, dtype=torch.float64) for shape in shapes]


def by_enumeration(emissions, transitions, start, end):
    scores = oracles.path_scores(*(x.numpy() for x in (emissions, transitions, start, end)))
    log_z = oracles.log_sum_exp(scores.values())
    marginals = numpy.zeros(emissions.shape)
    for path, score in scores.items():
        for i, tag in enumerate(path):
            marginals[i, tag] += math.exp(score - log_z)
    return torch.tensor(marginals)


@pytest.mark.parametrize("tags", [1, 2, 3])
@pytest.mark.parametrize("seed", [0, 1])
def test_marginals(tags, seed):
    """Against all paths, for lengths 1 to 5 in one batch with NaN in the padding and an empty row."""
    lengths = [5, 1, 0, 3, 2, 4]
    generator = torch.Generator().manual_seed(seed)
    emissions = 2 * torch.randn(len(lengths), 5, tags, generator=generator, dtype=torch.float64)
    mask = torch.arange(5) < torch.tensor(lengths).unsqueeze(1)
    emissions[~mask] = math.nan
    parameters = chain(tags, seed)
    marginals = token_marginals(emissions, mask, *parameters)
    assert (marginals[~mask] == 0).all()
    torch.testing.assert_close(marginals.sum(-1), mask.double())
    for row, length in enumerate(lengths):
        if length:
            expected = by_enumeration(emissions[row, :length], *parameters)
            torch.testing.assert_close(marginals[row, :length], expected)


def test_gradient_with_nan_in_padding():
    emissions = torch.full((1, 3, 2), math.nan, dtype=torch.float64)
    emissions[:, :2] = 0.5
    emissions.requires_grad_()
    marginals = token_marginals(emissions, torch.tensor([[True, True, False]]), *chain(2))
    marginals[0, 0, 1].backward()
    assert torch.isfinite(emissions.grad).all()
    assert (emissions.grad[:, 2] == 0).all()


def test_long_sentence_does_not_overflow():
    emissions = 50 * torch.randn(1, 500, 3, generator=torch.Generator().manual_seed(0))
    parameters = [tensor.float() for tensor in chain(3)]
    marginals = token_marginals(emissions, torch.ones(1, 500, dtype=torch.bool), *parameters)
    torch.testing.assert_close(marginals.sum(-1), torch.ones(1, 500))
