"""What the public functions with upper bounds share: checks, masks, types and dimensions."""

import torch

from allennlp_nef.nn.numerics import float32_at_least


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
