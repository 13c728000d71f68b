"""Scores and bounds for the tests of csoftmax."""

import numpy
import torch

from tests import oracles

FLOATS = [torch.float32, torch.float64]
KINDS = ["loose", "random", "tight", "saturated"]


def values_of(kind, length, seed=0, batch=1):
    """Scores and bounds (batch, length) in float64 whose solution is of this kind."""
    generator = torch.Generator().manual_seed(seed)
    random = torch.rand(2, batch, length, generator=generator, dtype=torch.float64)
    z, u = 6 * random[0] - 3, random[1]
    if kind == "loose":
        u = u + 1
    elif kind == "random":
        u = (0.05 + u) * 4 / length
        u = u / u.sum(-1, keepdim=True).clamp(max=1)
    elif kind == "tight":
        u = (0.05 + u) / (0.05 + u).sum(-1, keepdim=True) * 1.01
    elif kind == "saturated":  # all but one position
        u = (0.05 + u) / (0.05 + u).sum(-1, keepdim=True) * 0.6
        u[:, 0] = 1
        z[:, 0] = -8
    return z, u


def rows_by_oracle(z, u):
    return torch.tensor(numpy.stack([oracles.csoftmax(a, b) for a, b in zip(z, u)]))
