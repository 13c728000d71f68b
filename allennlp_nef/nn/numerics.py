"""Numeric types, masks and gradients: what functions need to be exact in low precision and finite in padding."""

from collections.abc import Callable, Iterable
from contextlib import nullcontext
from functools import wraps
from typing import Any

import torch

_Backward = Callable[..., Any]


def in_float32_at_least(tensor: torch.Tensor) -> torch.Tensor:
    """A tensor of float16 or bfloat16 in float32; any other tensor as it is."""
    return tensor.to(float32_at_least(tensor.dtype))


def float32_at_least(dtype: torch.dtype) -> torch.dtype:
    """The type to compute in: float32 for float16 and bfloat16, else the type itself."""
    return torch.promote_types(dtype, torch.float32)


def exclude_scores(scores: torch.Tensor, excluded: torch.Tensor) -> torch.Tensor:
    """Scores with the lowest finite number of their type where `excluded` is True.

    The softmax of a row of which all is excluded is finite, which it would not be with minus infinity.

    # Parameters

    scores : `torch.Tensor`, of any shape
    excluded : `torch.BoolTensor`, broadcastable to the shape of `scores`
    """
    return scores.masked_fill(excluded, torch.finfo(scores.dtype).min)


def zero_padding(values: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    """The values with 0 in padding; on a CPU the same tensor where there is no padding.

    Not for modules that `export` traces, such as `aligned_pair`: they cannot depend on how many words are padding.

    # Parameters

    values : `torch.Tensor`, (batch, tokens, dim)
    mask : `torch.BoolTensor`, (batch, tokens)
    """
    if values.device.type != "cpu":
        return values.masked_fill(~mask.unsqueeze(-1), 0)
    # A third of the time of masked_fill, forward and backward.
    padding = (~mask).flatten().nonzero().squeeze(-1)
    if len(padding) == 0:
        return values
    return values.flatten(0, 1).index_fill(0, padding, 0).view_as(values)


def full_precision(device: torch.device) -> Any:
    """A context without autocast: the types are those of the inputs, forward and backward."""
    if device.type in ("cpu", "cuda"):
        return torch.autocast(device.type, enabled=False)
    return nullcontext()


def differentiable_once(name: str, hint: str = "") -> Callable[[_Backward], _Backward]:
    """Decorates the backward pass of the autograd function `name`: a second derivative is a `RuntimeError`.

    `once_differentiable` of torch raises none if the gradient of the output needs no gradient itself, as that of a sum.
    The gradient then counts as a constant, and a second derivative is wrong.

    # Parameters

    name : `str`
        What is differentiable once, for the message.
    hint : `str`, optional (default = `""`)
        What else the message says.
    """

    def decorate(backward: _Backward) -> _Backward:
        @wraps(backward)
        def checked(ctx: Any, *grads: Any) -> Any:
            if torch.is_grad_enabled():
                raise RuntimeError(
                    f"{name} is differentiable once: expected a backward pass without create_graph, "
                    f"got one with it{hint}"
                )
            return backward(ctx, *grads)

        return checked

    return decorate


class _Connected(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, value: torch.Tensor, *others: torch.Tensor) -> torch.Tensor:
        ctx.number = len(others)
        return value.clone()

    @staticmethod
    def backward(ctx: Any, grad: torch.Tensor) -> tuple[Any, ...]:
        return (grad, *[None] * ctx.number)


def connected(value: torch.Tensor, others: Iterable[torch.Tensor]) -> torch.Tensor:
    """The same value, with a graph that also leads to other tensors, whose gradients it does not change.

    `DistributedDataParallel` waits in the backward pass until it has come by each parameter of the model. A batch may
    use only some of them: no word of a batch of one-word sentences has a transition of the CRF. Unlike 0 times each
    parameter, this computes nothing, and makes no NaN of a parameter that is infinite.
    """
    return _Connected.apply(value, *others)
