"""Masks and floating-point types."""

import torch


def float32_at_least(dtype: torch.dtype) -> torch.dtype:
    """Returns the type to compute in: float32 for float16 and bfloat16, otherwise the type itself."""
    return torch.promote_types(dtype, torch.float32)


def in_float32_at_least(tensor: torch.Tensor) -> torch.Tensor:
    """Converts a tensor of float16 or bfloat16 to float32; any other tensor is returned as it is."""
    return tensor.to(float32_at_least(tensor.dtype))


def exclude_scores(scores: torch.Tensor, excluded: torch.Tensor) -> torch.Tensor:
    """Replaces excluded scores with the lowest finite number of their type.

    Unlike negative infinity, this keeps the softmax of a fully excluded row finite.

    # Parameters

    scores : `torch.Tensor`, of any shape
    excluded : `torch.BoolTensor`, broadcastable to the shape of `scores`
    """
    return scores.masked_fill(excluded, torch.finfo(scores.dtype).min)


def zero_padding(values: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    """Sets padding to 0, even NaN, and stops its gradients: (batch, tokens, dim) and a mask (batch, tokens)."""
    return torch.where(mask.unsqueeze(-1), values, 0)  # faster than `masked_fill`
