"""Scores and bounds for the tests of csoftmax and csparsemax."""

import numpy
import torch
from hypothesis import strategies as st

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


def rows_by_oracle(z, u, oracle=oracles.csoftmax):
    return torch.tensor(numpy.stack([oracle(a, b) for a, b in zip(z, u)]))


@st.composite
def problems(draw):
    """Scores, feasible bounds and a mask with at least one position."""
    length = draw(st.integers(1, 12))
    scores = draw(st.lists(st.floats(-15, 15), min_size=length, max_size=length))
    bounds = draw(st.lists(st.floats(0, 1.5), min_size=length, max_size=length))
    keep = draw(st.lists(st.booleans(), min_size=length, max_size=length))
    keep[draw(st.integers(0, length - 1))] = True
    slack = draw(st.sampled_from([1.0, 1.001, 1.5, 20.0]))
    u = numpy.array(bounds) * keep
    if u.sum() < 1e-3:
        u = u + numpy.array(keep)
    if u.sum() < 1 or draw(st.booleans()):
        u = u / u.sum() * slack
    return (
        torch.tensor(scores, dtype=torch.float64),
        torch.tensor(u, dtype=torch.float64),
        torch.tensor(keep),
    )
