"""Constrained sparsemax (csparsemax): a sparsemax whose weights respect an upper bound at each position.

Malaviya, Ferreira & Martins, "Sparse and Constrained Attention for Neural Machine Translation" (ACL 2018).
"""

from typing import Any

import torch
from torch.autograd.function import once_differentiable
from torch.nn.functional import pad

from allennlp_nef.nn.constrained_softmax import apply_with_bounds


class ConstrainedSparsemaxFunction(torch.autograd.Function):
    """csparsemax over the last dimension, with forward and backward in closed form.

    The core of `constrained_sparsemax`, for finite scores and bounds in [0, 1] of the same type, float32 at least. It
    does not validate and never returns NaN: bounds that sum to less than 1 become the weights.
    """

    @staticmethod
    def forward(ctx: Any, scores: torch.Tensor, upper_bounds: torch.Tensor) -> torch.Tensor:
        weights, *saved = solve(scores, upper_bounds)
        ctx.save_for_backward(*saved)
        return weights

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        inside, saturated = ctx.saved_tensors
        count = inside.sum(-1, keepdim=True).clamp(min=1)
        centered = grad - (grad * inside).sum(-1, keepdim=True) / count
        return centered * inside, centered * saturated


def solve(z: torch.Tensor, u: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """csparsemax over the last dimension, without autograd.

    The sum of alpha_i = max(0, min(u_i, z_i - tau)) is piecewise linear in tau. Its breakpoints are all z_i, below
    which a weight is positive, and all z_i - u_i, below which it is at its bound.

    # Parameters

    z, u : `torch.Tensor`, (..., n)
        Finite scores; bounds in [0, 1]. At least float32.

    # Returns

    `tuple[torch.Tensor, torch.Tensor, torch.Tensor]`, (..., n) each
        - alpha, the weights.
        - A, the positions between 0 and their bounds, bool.
        - S, the positions to which a higher bound would give a higher weight, bool.
    """
    # In float32, the sums below would lose four digits of the weights in long rows.
    dtype, z, u = z.dtype, z.double(), u.double()
    # Weights are at most 1, so a gap above 1 between two scores acts as a gap of 1. Shorter gaps lose no precision.
    ordered, order = z.sort(dim=-1, descending=True)
    gaps = (ordered[..., :-1] - ordered[..., 1:]).clamp(max=1)
    z = torch.empty_like(z).scatter(-1, order, pad(-gaps.cumsum(-1), (1, 0)))
    breakpoints, index = torch.cat([z, z - u], -1).sort(dim=-1, descending=True, stable=True)
    # From one breakpoint to the next, the sum of the weights grows by the size of A times their distance.
    sizes = torch.where(index < z.size(-1), 1, -1).cumsum(-1)
    distances = breakpoints[..., :-1] - breakpoints[..., 1:]
    totals = pad((sizes[..., :-1] * distances).cumsum(-1), (1, 0))
    last = (totals < 1).sum(-1, keepdim=True) - 1  # the lowest breakpoint above tau
    step = (1 - totals.gather(-1, last)) / sizes.gather(-1, last).clamp(min=1)
    above = z - breakpoints.gather(-1, last) + step  # z - tau
    weights = torch.minimum(above, u).clamp(min=0).to(dtype)
    return weights, (above > 0) & (above < u), (above > 0) & (above >= u)


def constrained_sparsemax(
    scores: torch.Tensor,
    upper_bounds: torch.Tensor,
    mask: torch.Tensor | None = None,
    dim: int = -1,
) -> torch.Tensor:
    """Returns a sparsemax whose weights are at most the upper bounds. Low scores get exactly 0.

    Solves ``argmin_alpha ||alpha - z||^2`` over the simplex with ``alpha <= u``. The solution is
    ``alpha_i = max(0, min(u_i, z_i - tau))``, the sparsemax if the bounds are large enough. Let A be the positions with
    0 < alpha_i < u_i, S those with alpha_i = u_i, and m the mean gradient of alpha over A (0 if A is empty). The
    gradients are ``dz_i = [i in A] (dalpha_i - m)`` and ``du_i = [i in S] (dalpha_i - m)``; a bound of 0 has the
    gradient of a small positive bound. Parameters, result and errors: see `constrained_softmax`.
    """
    return apply_with_bounds(ConstrainedSparsemaxFunction, scores, upper_bounds, mask, dim)
