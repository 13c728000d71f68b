from collections.abc import Iterable
from typing import Any

import torch


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
