"""Constrained sparsemax (csparsemax): a sparsemax whose weights respect an upper bound at each position.

Malaviya, Ferreira & Martins, "Sparse and Constrained Attention for Neural Machine Translation" (ACL 2018).

The weights are ``alpha_i = max(0, min(u_i, z_i - tau))``. Their sum is piecewise linear in tau, with breakpoints at all
z_i (below which a weight is above 0) and z_i - u_i (below which it is at its bound). A sort of these gives tau. The
gradients need two sets: A, where 0 < alpha_i < u_i, and S, where alpha_i = u_i. With m the mean of the gradient of
alpha over A (0 if A is empty), they are ``dz_i = [i in A] (dalpha_i - m)`` and ``du_i = [i in S] (dalpha_i - m)``.
"""

from typing import Any

import torch
from torch.nn import functional

from allennlp_nef.nn.constrained_softmax import apply_with_upper_bounds
from allennlp_nef.nn.numerics import differentiable_once


class ConstrainedSparsemaxFunction(torch.autograd.Function):
    """csparsemax over the last dimension, forward and backward in closed form.

    The core of `constrained_sparsemax` without its checks, for finite scores and bounds in [0, 1] of one type, float32
    at least. It never returns NaN, and never synchronizes a device. If the bounds sum to less than 1, so do the
    weights.
    """

    @staticmethod
    def forward(ctx: Any, scores: torch.Tensor, upper_bounds: torch.Tensor) -> torch.Tensor:
        weights, *saved = solve(scores, upper_bounds)
        ctx.save_for_backward(*saved)
        return weights

    @staticmethod
    @differentiable_once("constrained_sparsemax")
    def backward(ctx: Any, grad: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        inside, saturated = ctx.saved_tensors
        count = inside.sum(-1, keepdim=True).clamp_(min=1)
        centered = grad - (grad * inside).sum(-1, keepdim=True) / count
        return centered * inside, centered * saturated


def solve(z: torch.Tensor, u: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """csparsemax over the last dimension, without autograd.

    # Parameters

    z, u : `torch.Tensor`, (..., n)
        Finite scores; bounds in [0, 1]. In float32 at least.

    # Returns

    `tuple[torch.Tensor, torch.Tensor, torch.Tensor]`, (..., n) each
        - alpha, the weights.
        - A, the positions between 0 and their bounds, bool.
        - S, the positions that a higher bound would give a higher weight, bool.
    """
    limit = torch.finfo(z.dtype).max / 4
    above = _subtract_tau(z.clamp(-limit, limit), u)  # no difference overflows
    excess = _excess(above, u)
    tolerance = (16 + z.size(-1)) * torch.finfo(z.dtype).eps
    # Breakpoints far from 0 are rounded. Now those near tau are near 0. Only a CPU can be asked whether it matters.
    if z.device.type != "cpu" or bool((excess.abs() > tolerance).any()):
        above = _subtract_tau(above, u)
        excess = _excess(above, u)
    inside = (above > 0) & (above < u)
    above = above - excess / inside.sum(-1, keepdim=True).clamp_(min=1)  # a Newton step
    weights = torch.minimum(above, u).clamp_(min=0)
    return weights, (above > 0) & (above < u), (above > 0) & (above >= u)


def _subtract_tau(z: torch.Tensor, u: torch.Tensor) -> torch.Tensor:
    """z - tau; where the bounds sum to less than 1, it is above all of them."""
    length, ends = z.size(-1), z - u
    breakpoints, order = torch.cat([z, ends], -1).sort(dim=-1, descending=True, stable=True)
    # From breakpoint to breakpoint the sum of the weights grows by the size of A times the distance. After the end of
    # a position it has grown by its bound; what rounding changed is put right.
    sizes = (order < length).to(z.dtype).mul_(2).sub_(1).cumsum(-1)
    rounding = torch.cat([torch.zeros_like(u), u - (z - ends)], -1).gather(-1, order)
    distances = breakpoints[..., :-1] - breakpoints[..., 1:]
    totals = (functional.pad(sizes[..., :-1] * distances, (1, 0)) + rounding).cumsum(-1)
    last = (totals < 1).sum(-1, keepdim=True) - 1  # of the breakpoints above tau
    distance = (1 - totals.gather(-1, last)) / sizes.gather(-1, last).clamp_(min=1)
    # Not by way of tau: the difference of scores that are close to each other is exact.
    index = order.gather(-1, last)
    position = index % length
    distance = distance + u.gather(-1, position) * (index >= length)
    return z - z.gather(-1, position) + distance


def _excess(above: torch.Tensor, u: torch.Tensor) -> torch.Tensor:
    """How much the weights sum to more than they have to: (..., 1)."""
    total = torch.minimum(above, u).clamp_(min=0).sum(-1, keepdim=True)
    return total - u.sum(-1, keepdim=True).clamp_(max=1)


def constrained_sparsemax(
    scores: torch.Tensor,
    upper_bounds: torch.Tensor,
    mask: torch.Tensor | None = None,
    dim: int = -1,
) -> torch.Tensor:
    """A sparsemax whose weights are at most the upper bounds.

    Solves ``argmin_alpha ||alpha - z||^2`` over the simplex with ``alpha <= u``, whose solution is
    ``alpha_i = max(0, min(u_i, z_i - tau))``. With bounds that are large enough it is the sparsemax. Low scores get
    exactly 0. Differentiable with respect to the scores and the bounds. O(n log n).

    # Parameters

    scores : `torch.Tensor`, of any floating type, with at least one dimension
        z. An infinite score counts as a very large one.
    upper_bounds : `torch.Tensor`, broadcastable to the shape of `scores`
        u, at least 0. In each row that is not masked everywhere, they must sum to at least 1 over `dim`. A bound above
        1 counts as 1. A bound of 0 has the gradient of a small bound above 0.
    mask : `torch.BoolTensor`, broadcastable to the shape of `scores`, optional (default = `None`)
        True = keep. Masked positions get exactly 0. Their scores and bounds have no effect, NaN included. A row that is
        masked everywhere is all zeros.
    dim : `int`, optional (default = `-1`)

    # Returns

    `torch.Tensor` of the shape and type of `scores`: at least 0, at most u, sums to 1 over `dim` up to rounding.

    # Raises

    `ValueError` when the scores are not floating-point numbers, the mask is not Boolean, shapes do not agree, a bound
    is negative or NaN, or bounds sum to less than 1 by more than rounding.
    """
    return apply_with_upper_bounds(
        "constrained_sparsemax", ConstrainedSparsemaxFunction, scores, upper_bounds, mask, dim
    )
