"""Constrained softmax, with the checks, masks, types and dimensions that functions with upper bounds share."""

from typing import Any

import torch

from allennlp_nef.nn.numerics import differentiable_once, exclude_scores, float32_at_least


def apply_with_upper_bounds(
    name: str,
    function: type[torch.autograd.Function],
    scores: torch.Tensor,
    upper_bounds: torch.Tensor,
    mask: torch.Tensor | None,
    dim: int,
) -> torch.Tensor:
    """Checks the input of the public function `name`, and applies the autograd function behind it.

    `function` takes finite scores and bounds in [0, 1], normalizes over the last dimension, and gives a position with
    a bound of 0 the weight 0. The other parameters and the errors are those of `constrained_softmax`.
    """
    if not scores.is_floating_point():
        raise ValueError(f"{name}: expected floating-point scores, got {scores.dtype}")
    if not isinstance(upper_bounds, torch.Tensor):
        raise ValueError(f"{name}: expected a tensor of upper bounds, got {upper_bounds!r}")
    if not upper_bounds.is_floating_point():
        upper_bounds = upper_bounds.to(scores.dtype)
    shape = scores.shape
    if not shape:
        raise ValueError(f"{name}: expected scores with at least one dimension, got none")
    if not -len(shape) <= dim < len(shape):
        raise ValueError(f"{name}: expected dim from {-len(shape)} to {len(shape) - 1}, got {dim}")
    upper_bounds = _expanded(name, "upper bounds", upper_bounds.to(scores.device), shape)
    if mask is not None:
        if mask.dtype != torch.bool:
            raise ValueError(f"{name}: expected a Boolean mask, got {mask.dtype}")
        mask = _expanded(name, "a mask", mask, shape)
        scores = scores.masked_fill(~mask, 0)
        upper_bounds = upper_bounds.masked_fill(~mask, 0)
    if scores.numel() == 0:
        return scores * upper_bounds.to(scores.dtype)
    _check_bounds(name, upper_bounds, mask, dim)
    compute_dtype = float32_at_least(scores.dtype)
    largest = (
        torch.finfo(compute_dtype).max / 2
    )  # `exclude_scores` needs a lower number than any score
    z = scores.to(compute_dtype).clamp(-largest, largest)
    u = upper_bounds.to(compute_dtype).clamp(max=1)
    weights = function.apply(z.transpose(dim, -1), u.transpose(dim, -1))
    weights = weights.transpose(dim, -1).to(scores.dtype)
    # A masked weight is 0 already. This stops gradients of masked positions, NaN included.
    return weights if mask is None else weights.masked_fill(~mask, 0)


def _expanded(name: str, what: str, tensor: torch.Tensor, shape: torch.Size) -> torch.Tensor:
    try:
        return tensor.expand(shape)
    except RuntimeError as error:
        raise ValueError(
            f"{name}: expected {what} broadcastable to {tuple(shape)}, got {tuple(tensor.shape)}"
        ) from error


def _check_bounds(
    name: str, upper_bounds: torch.Tensor, mask: torch.Tensor | None, dim: int
) -> None:
    if not bool((upper_bounds >= 0).all()):
        worst = float(upper_bounds.detach().min())
        raise ValueError(f"{name}: upper bounds must be at least 0, got {worst:g}")
    totals = upper_bounds.detach().to(float32_at_least(upper_bounds.dtype)).sum(dim)
    feasible = totals >= 1 - max(4 * torch.finfo(upper_bounds.dtype).eps, 1e-5)
    if mask is not None:
        feasible |= ~mask.any(dim)
    if not bool(feasible.all()):
        row = tuple((~feasible).nonzero()[0].tolist())
        raise ValueError(
            f"{name}: upper bounds must sum to at least 1, "
            f"got {float(totals[row]):g}" + (f" in row {row}" if row else "")
        )


SLACK = 1e-4
"""By how much bounds that sum to 1 may miss it by rounding."""


class ConstrainedSoftmaxFunction(torch.autograd.Function):
    """csoftmax over the last dimension, forward and backward in closed form.

    The core of `constrained_softmax` without its checks, for finite scores and bounds in [0, 1] of one type, float32 at
    least. It never returns NaN, and never synchronizes a device. If the bounds sum to less than 1, so do the weights.
    """

    @staticmethod
    def forward(ctx: Any, scores: torch.Tensor, upper_bounds: torch.Tensor) -> torch.Tensor:
        if scores.device.type == "cpu":  # elsewhere it would wait for the device
            # Most batches of a tagger with few steps have no word at its bound: this is the softmax.
            is_zero = upper_bounds <= 0
            weights = exclude_scores(scores, is_zero).softmax(-1)
            if bool((weights <= upper_bounds).all()):
                ctx.save_for_backward(weights, weights.new_ones(()), is_zero)
                return weights
        weights, *saved = solve(scores, upper_bounds)
        ctx.save_for_backward(*saved)
        return weights

    @staticmethod
    @differentiable_once("constrained_softmax")
    def backward(ctx: Any, grad: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        shares, mass, saturated = ctx.saved_tensors
        centered = grad - (shares * grad).sum(-1, keepdim=True)  # Eqs. 12 and 13: d alpha - m
        return shares * centered * mass, centered * saturated


def solve(
    z: torch.Tensor, u: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]:
    """Algorithm 3 over the last dimension with one sort, without autograd, of operations that ONNX has.

    It visits positions in descending order of exp(z) / u: those that are saturated come first. The others are the set A
    of the paper.

    # Parameters

    z, u : `torch.Tensor`, (..., n)
        Finite scores; bounds in [0, 1]. In float32 at least.

    # Returns

    `tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]`
        - alpha, the weights: (..., n).
        - The softmax over A, and 0 elsewhere: (..., n). It sums to 1 even where the mass vanishes, so the backward pass
          never divides by the mass; to 0 where A is empty, as the bounds sum to less than 1.
        - The mass, the total weight of A: (..., 1).
        - The positions that are not in A: (..., n), bool.
    """
    # Scores that are large and close to each other keep their differences in what follows.
    lowered = (z - exclude_scores(z, u <= 0).amax(-1, keepdim=True)).clamp(max=0)
    keys = lowered - u.log()  # +inf where the bound is 0
    sorted_keys, order = keys.sort(dim=-1, descending=True)
    sorted_z, sorted_u = lowered.gather(-1, order), u.gather(-1, order)
    # At each position: log Z from the sum of what follows, the mass from the sum of what comes before.
    log_normalizers = sorted_z.flip(-1).logcumsumexp(-1).flip(-1)
    totals = sorted_u.cumsum(-1)
    masses = (1 - (totals - sorted_u)).clamp(min=0)
    # exp(z) (1 - s) / Z > u, strictly: true for all positions before the first of A. The last of all is in A.
    saturates = sorted_z - log_normalizers + masses.log() > sorted_u.log()
    count = saturates.sum(-1, keepdim=True).clamp(max=z.size(-1) - 1)
    # Where the bounds sum to less than 1, by more than rounding, each weight is its bound.
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
    """A softmax whose weights are at most the upper bounds.

    Solves (Eq. 10) ``argmin_alpha -H(alpha) - z . alpha`` over the simplex with ``alpha <= u``, whose solution is
    (Prop. 1) ``alpha_i = min(exp(z_i) / Z, u_i)``. With bounds that are large enough it is the softmax. Differentiable
    with respect to the scores and the bounds. O(n log n). The same on every device; reproducible under
    `torch.use_deterministic_algorithms`.

    # Parameters

    scores : `torch.Tensor`, of any floating type, with at least one dimension
        z. Use `(z - penalty * coverage) / temperature` for the variants with temperature and coverage penalty. An
        infinite score counts as half the largest finite number of the type, with its sign.
    upper_bounds : `torch.Tensor`, broadcastable to the shape of `scores`
        u, at least 0. In each row that is not masked everywhere, they must sum to at least 1 over `dim`. A bound above
        1 counts as 1.
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
        "constrained_softmax", ConstrainedSoftmaxFunction, scores, upper_bounds, mask, dim
    )
