"""Constrained softmax (csoftmax): a softmax whose weights respect an upper bound at each position.

Martins & Kreutzer, "Learning What's Easy: Fully Differentiable Neural Easy-First Taggers" (EMNLP 2017), Section 3.2.
"""

from typing import Any

import torch
from torch.autograd.function import once_differentiable

from allennlp_nef.nn.util import exclude_scores, float32_at_least

SLACK = 1e-4  # bounds that sum to 1 may be off by this much through rounding


class ConstrainedSoftmaxFunction(torch.autograd.Function):
    """csoftmax over the last dimension, with forward and backward in closed form.

    The core of `constrained_softmax`, for finite scores and bounds in [0, 1] of the same type, float32 at least. It
    does not validate and never returns NaN: bounds that sum to less than 1 become the weights.
    """

    @staticmethod
    def forward(ctx: Any, scores: torch.Tensor, upper_bounds: torch.Tensor) -> torch.Tensor:
        if scores.device.type == "cpu":  # on other devices, the test would synchronize
            # In the first steps of a decoder, most batches have no weight above its bound.
            is_zero = upper_bounds <= 0
            weights = exclude_scores(scores, is_zero).softmax(-1)
            if bool((weights <= upper_bounds).all()):
                ctx.save_for_backward(weights, weights.new_ones(()), is_zero)
                return weights
        weights, *saved = solve(scores, upper_bounds)
        ctx.save_for_backward(*saved)
        return weights

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        shares, mass, saturated = ctx.saved_tensors
        centered = grad - (shares * grad).sum(-1, keepdim=True)  # Eqs. 12 and 13: d alpha - m
        return shares * centered * mass, centered * saturated


def solve(
    z: torch.Tensor, u: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]:
    """Algorithm 3 over the last dimension: one sort, no loop, no autograd, and only operations that ONNX supports.

    Positions are visited in descending order of exp(z) / u, saturated positions first. The others form the set A of
    the paper.

    # Parameters

    z, u : `torch.Tensor`, (..., n)
        Finite scores; bounds in [0, 1]. At least float32.

    # Returns

    `tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]`
        - alpha, the weights: (..., n).
        - The softmax over A, and 0 elsewhere: (..., n). It sums to 1 even if the mass vanishes, so the backward pass
          never divides by the mass. All 0 if A is empty because the bounds sum to less than 1.
        - The mass, the total weight of A: (..., 1).
        - The positions outside A: (..., n), bool.
    """
    # Subtracting the maximum preserves the differences of scores that are large and close to each other.
    lowered = (z - exclude_scores(z, u <= 0).amax(-1, keepdim=True)).clamp(max=0)
    keys = lowered - u.log()  # +inf where the bound is 0
    sorted_keys, order = keys.sort(dim=-1, descending=True)
    sorted_z, sorted_u = lowered.gather(-1, order), u.gather(-1, order)
    # For each position: log Z over it and all later positions, and the mass left by the earlier ones.
    log_normalizers = sorted_z.flip(-1).logcumsumexp(-1).flip(-1)
    totals = sorted_u.cumsum(-1)
    masses = (1 - (totals - sorted_u)).clamp(min=0)
    # exp(z) (1 - s) / Z > u, strictly: true for all positions before the first of A. The last position is in A.
    saturates = sorted_z - log_normalizers + masses.log() > sorted_u.log()
    count = saturates.sum(-1, keepdim=True).clamp(max=z.size(-1) - 1)
    # If the bounds sum to less than 1 by more than rounding, each weight is its bound.
    short = totals[..., -1:] < 1 - SLACK
    saturated = (keys > sorted_keys.gather(-1, count)) | short
    taken = u * saturated
    mass = (1 - taken.sum(-1, keepdim=True)).clamp(min=0)
    shares = exclude_scores(z, saturated).softmax(-1) * ~short
    return taken + torch.minimum(shares * mass, u), shares, mass, saturated


def constrained_softmax(
    scores: torch.Tensor,
    upper_bounds: torch.Tensor,
    mask: torch.Tensor | None = None,
    dim: int = -1,
) -> torch.Tensor:
    """Returns a softmax whose weights are at most the upper bounds.

    Solves (Eq. 10) ``argmin_alpha -H(alpha) - z . alpha`` over the simplex with ``alpha <= u``. The solution is
    (Prop. 1) ``alpha_i = min(exp(z_i) / Z, u_i)``, the softmax if the bounds are large enough. Differentiable once,
    with respect to the scores and the bounds. Takes O(n log n) time.

    # Parameters

    scores : `torch.Tensor`, of any floating type
        z. An infinite score counts as half the largest finite number of the type, with its sign.
    upper_bounds : `torch.Tensor`, broadcastable to the shape of `scores`
        u, at least 0. They must sum to at least 1 over `dim`, except in rows that are fully masked.
    mask : `torch.BoolTensor`, broadcastable to the shape of `scores`, optional (default = `None`)
        True = keep. Masked positions get exactly 0, and their scores and bounds have no effect, even NaN.
    dim : `int`, optional (default = `-1`)

    # Returns

    `torch.Tensor` of the shape and type of `scores`: between 0 and u, summing to 1 over `dim` up to rounding.

    # Raises

    `ValueError`: a bound is negative or NaN, bounds sum to less than 1 by more than rounding, or the scores are
    integers.
    """
    return apply_with_bounds(ConstrainedSoftmaxFunction, scores, upper_bounds, mask, dim)


def apply_with_bounds(
    function: type[torch.autograd.Function],
    scores: torch.Tensor,
    upper_bounds: torch.Tensor,
    mask: torch.Tensor | None,
    dim: int,
) -> torch.Tensor:
    """Prepares and checks the arguments of `constrained_softmax`, and applies its autograd function."""
    if not scores.is_floating_point():
        raise ValueError(f"expected scores of a floating type, got {scores.dtype}")
    if not upper_bounds.is_floating_point():
        upper_bounds = upper_bounds.to(scores.dtype)
    if mask is not None:
        scores, upper_bounds = (x.masked_fill(~mask, 0) for x in (scores, upper_bounds))
    upper_bounds = upper_bounds.expand_as(scores)
    dtype = float32_at_least(scores.dtype)
    totals = upper_bounds.detach().to(dtype).sum(dim)
    rounding = max(4 * torch.finfo(upper_bounds.dtype).eps, 1e-5)
    is_empty = False if mask is None else ~mask.expand_as(scores).any(dim)
    is_feasible = (upper_bounds >= 0).all() & ((totals >= 1 - rounding) | is_empty).all()
    if not is_feasible:  # waits for the device
        raise ValueError("upper bounds must be at least 0 and sum to at least 1")
    largest = torch.finfo(dtype).max / 2  # `exclude_scores` needs a number below all scores
    z, u = scores.to(dtype).clamp(-largest, largest), upper_bounds.to(dtype).clamp(max=1)
    weights = function.apply(z.transpose(dim, -1), u.transpose(dim, -1))
    weights = weights.transpose(dim, -1).to(scores.dtype)
    # Masked weights are already 0. This stops the gradients of masked positions, even NaN.
    return weights if mask is None else weights.masked_fill(~mask, 0)
