"""Terms for the distance of words: Wei et al., "Position-Aware Self-Attention based Neural Sequence Labeling"."""

import math

import torch


def distances(length: int, max_distance: int, device: torch.device) -> torch.Tensor:
    """The distances between positions, min(|i - j|, max_distance): (length, length), long."""
    positions = torch.arange(length, device=device)
    return (positions.unsqueeze(0) - positions.unsqueeze(1)).abs_().clamp_(max=max_distance)


def gaussian_bias(length: int, window: int, device: torch.device) -> torch.Tensor:
    """The Gaussian bias G_ij = -(i - j)^2 / (2 eps^2) with eps = window / 2 (Eq. 10): (length, length), float32."""
    squares = distances(length, length, device).float().square_()
    return squares.mul_(-2 / window**2)


def relative_bias(
    states: torch.Tensor, embeddings: torch.Tensor, vector: torch.Tensor
) -> torch.Tensor:
    """
    The bias for relative positions, P_ij = x_i^T R_d + v^T R_d with d = min(|i - j|, r) (Eq. 11, without its constant).

    # Parameters

    states : `torch.Tensor`, (batch, tokens, dim)
        x.
    embeddings : `torch.Tensor`, (r + 1, dim)
        R, one row for each distance from 0 to r.
    vector : `torch.Tensor`, (dim,)
        v.

    # Returns

    `torch.Tensor`, (batch, tokens, tokens)
    """
    by_distance = (states + vector) @ embeddings.t()  # (batch, tokens, r + 1)
    batch, length, count = by_distance.shape
    index = distances(length, count - 1, states.device)
    return by_distance.gather(2, index.expand(batch, length, length))


def sinusoids(length: int, dim: int, device: torch.device) -> torch.Tensor:
    """The absolute position encoding of Vaswani et al. (NIPS 2017), Section 3.5: (length, dim), float32."""
    positions = torch.arange(length, device=device, dtype=torch.float).unsqueeze(1)
    rates = torch.exp(torch.arange(0, dim, 2, device=device).float() * (-math.log(10000.0) / dim))
    angles = positions * rates  # (length, ceil(dim / 2))
    return torch.stack([angles.sin(), angles.cos()], -1).flatten(1)[:, :dim]
