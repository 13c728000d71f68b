"""Constrained softmax, with the checks, masks, types and dimensions that functions with upper bounds share."""

from typing import Any, NamedTuple

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


class Solution(NamedTuple):
    """The weights, and what the backward pass needs."""

    weights: torch.Tensor
    """alpha: (..., n)."""
    shares: torch.Tensor
    """The softmax over A, the set of positions below their bounds, and 0 elsewhere: (..., n).

    It sums to 1 even where the mass vanishes, so the backward pass never divides by the mass; to 0 where A is empty,
    as the bounds sum to less than 1.
    """
    mass: torch.Tensor | None
    """The total weight of A, 1 - s: (..., 1). None if it is 1 everywhere."""
    closed: torch.Tensor | None
    """The positions that are not in A: (..., n), bool. None if there are none."""


class ConstrainedSoftmaxFunction(torch.autograd.Function):
    """csoftmax over the last dimension, forward and backward in closed form.

    The core of `constrained_softmax` without its checks, for finite scores and bounds in [0, 1]. It never returns NaN,
    and never synchronizes a device other than a CPU. If the bounds sum to less than 1, so do the weights. Float16 and
    bfloat16 are computed in float32.
    """

    @staticmethod
    def forward(ctx: Any, scores: torch.Tensor, upper_bounds: torch.Tensor) -> torch.Tensor:
        compute_dtype = float32_at_least(scores.dtype)
        u = upper_bounds.to(compute_dtype)
        solution = solve(scores.to(compute_dtype), u, u <= 0)
        ctx.save_for_backward(*solution[1:])
        ctx.dtypes = scores.dtype, upper_bounds.dtype
        return solution.weights.to(scores.dtype)

    @staticmethod
    @differentiable_once("constrained_softmax")
    def backward(ctx: Any, grad: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor | None]:
        shares, mass, closed = ctx.saved_tensors
        solution = Solution(shares, shares, mass, closed)
        grad_scores, grad_bounds = gradients(solution, grad.to(shares.dtype))
        scores_dtype, bounds_dtype = ctx.dtypes
        if grad_bounds is not None:
            grad_bounds = grad_bounds.to(bounds_dtype)
        return grad_scores.to(scores_dtype), grad_bounds


def solve(z: torch.Tensor, u: torch.Tensor, closed: torch.Tensor | None) -> Solution:
    """csoftmax over the last dimension (Alg. 3), without autograd.

    # Parameters

    z, u : `torch.Tensor`, (..., n)
        Finite scores; bounds in [0, 1]. In float32 at least.
    closed : `torch.BoolTensor`, (..., n), or None
        Where bounds are 0; None if nowhere.
    """
    return (_by_rounds if z.device.type == "cpu" else solve_by_order)(z, u, closed)


def gradients(solution: Solution, grad: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor | None]:
    """The gradient of the weights -> those of the scores and of the bounds (Alg. 4). None stands for zeros."""
    _, shares, mass, closed = solution
    centered = grad - (shares * grad).sum(-1, keepdim=True)  # Eqs. 12 and 13: d alpha - m
    grad_scores = shares * centered
    if mass is not None:
        grad_scores *= mass
    return grad_scores, None if closed is None else centered * closed


def _by_rounds(z: torch.Tensor, u: torch.Tensor, closed: torch.Tensor | None) -> Solution:
    """Saturates all positions whose share of the mass is above the bound, and repeats this until there are none.

    Each saturation increases the mass that is left for a unit of exp(z). So a position that is above its bound stays
    above it, and the final set is that of Alg. 3. This needs no sort. It has to know after each round whether another
    one is needed, which costs nothing on a CPU.
    """
    shares = open_softmax(z, closed)
    above = shares > u  # strictly: a position at its bound is not saturated
    if not bool(above.any()):
        return Solution(shares, shares, None, closed)
    closed = above if closed is None else closed | above
    while True:
        mass = (1 - (u * closed).sum(-1, keepdim=True)).clamp_(min=0)
        shares = open_softmax(z, closed)
        weights = shares * mass
        above = (weights > u) & ~closed
        if not bool(above.any()):
            break
        closed = closed | above
    full = closed.all(-1, keepdim=True)
    if bool(full.any()):
        # The last position that Alg. 3 visits is always in A, unless the bounds sum to less than 1.
        last = (z - u.log()).argmin(-1, keepdim=True)
        alone = torch.zeros_like(closed).scatter_(-1, last, True) & full & ~_is_short(u)
        closed = closed & ~alone
        shares = torch.where(full, alone.to(z.dtype), shares)
        mass = (1 - (u * closed).sum(-1, keepdim=True)).clamp_(min=0)
        weights = torch.minimum(shares * mass, u)
    return Solution(torch.where(closed, u, weights), shares, mass, closed)


def open_softmax(z: torch.Tensor, closed: torch.Tensor | None) -> torch.Tensor:
    """The softmax over the positions that are not closed; finite, too, where a row has none."""
    return (z if closed is None else exclude_scores(z, closed)).softmax(-1)


def solve_by_order(z: torch.Tensor, u: torch.Tensor, closed: torch.Tensor | None) -> Solution:
    """Alg. 3 with one sort. It visits positions in descending order of exp(z) / u: the saturated ones come first.

    No operation depends on values, so this form can be exported.
    """
    # Scores that are large and close to each other keep their differences in what follows.
    highest = (z if closed is None else exclude_scores(z, closed)).amax(-1, keepdim=True)
    lowered = (z - highest).clamp(max=0)
    # A position with bound 0 has key +inf and saturates first.
    keys, order = (lowered - u.log()).sort(dim=-1, descending=True)
    sorted_z, sorted_u = lowered.gather(-1, order), u.gather(-1, order)
    # At each position: log Z from the sum of what follows, the mass from the sum of what comes before.
    log_normalizers = sorted_z.flip(-1).logcumsumexp(-1).flip(-1)
    masses = (1 - (sorted_u.cumsum(-1) - sorted_u)).clamp(min=0)
    # exp(z) (1 - s) / Z > u, strictly. Once it is false, it is false for all later positions.
    ranks = torch.arange(z.size(-1), device=z.device)
    saturates = keys + masses.log() > log_normalizers
    saturates = saturates & (ranks < z.size(-1) - 1)  # the last position is always in A
    num_saturated = saturates.to(torch.uint8).argmin(dim=-1, keepdim=True)
    mass = masses.gather(-1, num_saturated)
    is_first = ranks < num_saturated
    short = _is_short(u)
    closed = torch.zeros_like(is_first).scatter(-1, order, is_first) | short
    shares = open_softmax(z, closed).masked_fill(short, 0)
    return Solution(torch.where(closed, u, torch.minimum(shares * mass, u)), shares, mass, closed)


def _is_short(u: torch.Tensor) -> torch.Tensor:
    """Where the bounds sum to less than 1, by more than rounding: (..., 1). Then each weight is its bound."""
    return u.sum(-1, keepdim=True) < 1 - SLACK


def constrained_softmax(
    scores: torch.Tensor,
    upper_bounds: torch.Tensor,
    mask: torch.Tensor | None = None,
    dim: int = -1,
) -> torch.Tensor:
    """A softmax whose weights are at most the upper bounds.

    Solves (Eq. 10) ``argmin_alpha -H(alpha) - z . alpha`` over the simplex with ``alpha <= u``, whose solution is
    (Prop. 1) ``alpha_i = min(exp(z_i) / Z, u_i)``. With bounds that are large enough it is the softmax. Differentiable
    with respect to the scores and the bounds. O(n log n).

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
