"""Constrained softmax (csoftmax): a softmax whose weights respect an upper bound at each position.

Martins & Kreutzer, "Learning What's Easy: Fully Differentiable Neural Easy-First Taggers" (EMNLP 2017),
Section 3.3, Proposition 1, and Algorithms 3 (forward) and 4 (backward).
"""

from typing import Any, Optional, Tuple

import torch
from torch.autograd.function import once_differentiable


class ConstrainedSoftmaxFunction(torch.autograd.Function):
    """csoftmax over the last dimension, forward and backward in closed form.

    The unchecked core of `constrained_softmax`, for finite scores and bounds in [0, 1]: it never synchronises a device
    and never returns NaN. Bounds that leave no solution give weights that sum to less than 1. Float16 and bfloat16 are
    computed in float32. The saturated set is found by a sort, or on a CPU in a few rounds without one.
    """

    @staticmethod
    def forward(ctx: Any, scores: torch.Tensor, upper_bounds: torch.Tensor) -> torch.Tensor:
        compute_dtype = torch.promote_types(scores.dtype, torch.float32)
        z, u = scores.to(compute_dtype), upper_bounds.to(compute_dtype)
        solve = _by_rounds if z.device.type == "cpu" else _by_order
        weights, shares, mass, free = solve(z, u)
        # The softmax over A sums to 1 whatever the mass, so the backward pass never divides by a vanishing mass.
        ctx.save_for_backward(shares, mass, free)
        ctx.dtypes = scores.dtype, upper_bounds.dtype
        return weights.to(scores.dtype)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: torch.Tensor) -> Tuple[torch.Tensor, torch.Tensor]:
        shares, mass, free = ctx.saved_tensors
        centred = grad.to(shares.dtype)
        centred = centred - (shares * centred).sum(-1, keepdim=True)  # Eqs. 12 and 13: d alpha - m
        grad_scores = shares * mass * centred
        grad_bounds = centred.masked_fill(free, 0)
        return grad_scores.to(ctx.dtypes[0]), grad_bounds.to(ctx.dtypes[1])


_Solution = Tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]
"""The weights; the softmax over A, 0 elsewhere; 1 - s, (..., 1); and which positions are in A."""


def _by_rounds(z: torch.Tensor, u: torch.Tensor) -> _Solution:
    """Saturates all positions whose share of the mass is above the bound, until there is none.

    The mass that is left grows for each score unit with every position that saturates, so one that is above its bound
    stays so: the set is that of Alg. 3.
    """
    lowest = torch.finfo(z.dtype).min
    free = u > 0
    shares = torch.where(free, z, z.new_tensor(lowest)).softmax(-1)
    mass = z.new_ones((*z.shape[:-1], 1))
    weights = shares
    above = (weights > u) & free  # strictly, for a tie is not saturated
    while bool(above.any()):
        free = free ^ above
        mass = (1 - u.masked_fill(free, 0).sum(-1, keepdim=True)).clamp_(min=0)
        shares = torch.where(free, z, z.new_tensor(lowest)).softmax(-1)
        weights = shares * mass
        above = (weights > u) & free
    some_free = free.any(-1, keepdim=True)
    if not bool(some_free.all()):
        # The last position that Alg. 3 visits always stays in A.
        last = (z - u.log()).argmin(-1, keepdim=True)
        alone = torch.zeros_like(free).scatter_(-1, last, True)
        free = torch.where(some_free, free, alone)
        shares = torch.where(some_free, shares, alone.to(z.dtype))
        mass = (1 - u.masked_fill(free, 0).sum(-1, keepdim=True)).clamp_(min=0)
        weights = torch.minimum(shares * mass, u)
    return torch.where(free, weights, u), shares, mass, free


def _by_order(z: torch.Tensor, u: torch.Tensor) -> _Solution:
    """Alg. 3 with one sort: it visits positions by exp(z) / u, largest first, so the saturated ones form a prefix."""
    # A position with bound 0 has key +inf and saturates first.
    keys, order = (z - u.log()).sort(dim=-1, descending=True)
    sorted_z, sorted_u = z.gather(-1, order), u.gather(-1, order)
    # Suffix sums give log Z, prefix sums the mass, as they are when each position is visited.
    log_normalizers = sorted_z.flip(-1).logcumsumexp(-1).flip(-1)
    masses = (1 - (sorted_u.cumsum(-1) - sorted_u)).clamp_(min=0)
    # exp(z) (1 - s) / Z > u: strictly, for a tie is not saturated. Once false it stays false.
    saturates = keys + masses.log() > log_normalizers
    saturates[..., -1] = False  # the last position visited always stays in A
    num_saturated = saturates.to(torch.uint8).argmin(dim=-1, keepdim=True)
    mass = masses.gather(-1, num_saturated)
    ranks = torch.arange(z.size(-1), device=z.device).expand_as(order)
    free = torch.empty_like(order, dtype=torch.bool).scatter_(-1, order, ranks >= num_saturated)
    shares = (z - log_normalizers.gather(-1, num_saturated)).exp_().masked_fill_(~free, 0)
    return torch.where(free, torch.minimum(shares * mass, u), u), shares, mass, free


def constrained_softmax(
    scores: torch.Tensor,
    upper_bounds: torch.Tensor,
    mask: Optional[torch.Tensor] = None,
    dim: int = -1,
) -> torch.Tensor:
    """The distribution closest to a softmax among those that respect the upper bounds.

    Solves (Eq. 10) ``argmin_alpha -H(alpha) - z . alpha`` over the simplex with ``alpha <= u``, whose solution is
    (Prop. 1) ``alpha_i = min(exp(z_i) / Z, u_i)``. With loose bounds it is the softmax. Differentiable in both the
    scores and the bounds. O(n log n).

    # Parameters

    scores : `torch.Tensor`, of any shape and floating type
        z. Use `(z - penalty * coverage) / temperature` for the variants with temperature and coverage penalty. Minus
        infinity is as good as the lowest number of the type.
    upper_bounds : `torch.Tensor`, broadcastable to the shape of `scores`
        u, at least 0; they must sum to at least 1 over `dim` where a row is not wholly masked. One above 1 is as good
        as 1.
    mask : `torch.BoolTensor`, broadcastable to the shape of `scores`, optional (default = `None`)
        True = keep. Masked positions get exactly 0; what is in them, NaN included, has no effect. A wholly masked row
        is all zeros.
    dim : `int`, optional (default = `-1`)

    # Returns

    `torch.Tensor` of the shape and type of `scores`: at least 0, at most u, sums to 1 over `dim` up to rounding.

    # Raises

    `ValueError` when the scores are not floating-point numbers, when a bound is negative or NaN, or when bounds sum to
    less than 1 by more than rounding.
    """
    if not scores.is_floating_point():
        raise ValueError(f"constrained_softmax: expected floating-point scores, got {scores.dtype}")
    if not upper_bounds.is_floating_point():
        upper_bounds = upper_bounds.to(scores.dtype)
    shape = scores.shape
    upper_bounds = upper_bounds.to(scores.device).expand(shape)
    if mask is not None:
        mask = mask.expand(shape)
        scores = scores.masked_fill(~mask, 0)
        upper_bounds = upper_bounds.masked_fill(~mask, 0)
    if scores.numel() == 0:
        return scores * upper_bounds
    _check_bounds(upper_bounds, mask, dim)
    compute_dtype = torch.promote_types(scores.dtype, torch.float32)
    z = scores.to(compute_dtype).clamp(min=torch.finfo(compute_dtype).min)
    u = upper_bounds.to(compute_dtype).clamp(max=1)
    weights = ConstrainedSoftmaxFunction.apply(z.transpose(dim, -1), u.transpose(dim, -1))
    weights = weights.transpose(dim, -1).to(scores.dtype)
    # A masked weight is 0 already; this keeps gradients that reach it, NaN included, from the rest of the row.
    return weights if mask is None else weights.masked_fill(~mask, 0)


def _check_bounds(upper_bounds: torch.Tensor, mask: Optional[torch.Tensor], dim: int) -> None:
    if not bool((upper_bounds >= 0).all()):
        worst = float(upper_bounds.detach().min())
        raise ValueError(f"constrained_softmax: upper bounds must be at least 0, got {worst:g}")
    totals = (
        upper_bounds.detach().to(torch.promote_types(upper_bounds.dtype, torch.float32)).sum(dim)
    )
    feasible = totals >= 1 - max(4 * torch.finfo(upper_bounds.dtype).eps, 1e-5)
    if mask is not None:
        feasible |= ~mask.any(dim)
    if not bool(feasible.all()):
        row = tuple((~feasible).nonzero()[0].tolist())
        raise ValueError(
            "constrained_softmax: upper bounds must sum to at least 1, "
            f"got {float(totals[row]):g}" + (f" in row {row}" if row else "")
        )
