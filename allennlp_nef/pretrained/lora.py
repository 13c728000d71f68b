"""Low-rank adaptation (LoRA) of linear layers."""

from typing import Any

import torch
from torch import Tensor
from torch.nn import functional


def in_autocast_dtype(input: Tensor) -> Tensor:
    """Converts a tensor as `torch.autocast`, if it is enabled, converts the inputs of a matrix product."""
    device = input.device.type
    enabled = torch.is_autocast_enabled(device)
    return input.to(torch.get_autocast_dtype(device)) if enabled else input


class _UpdatedLinear(torch.autograd.Function):
    """x -> (W + scale B A) x + b, one product instead of three. The gradients of A and B need none of the size of W."""

    @staticmethod
    def forward(
        ctx: Any,
        input: Tensor,
        weight: Tensor,
        bias: Tensor | None,
        down: Tensor,
        up: Tensor,
        scale: float,
    ) -> Tensor:
        updated = torch.addmm(weight, up, down, alpha=scale).to(input.dtype)
        ctx.save_for_backward(input, updated, down, up)
        ctx.scale = scale
        return functional.linear(input, updated, None if bias is None else bias.to(input.dtype))

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        input, updated, down, up = ctx.saved_tensors
        rows, grads = input.flatten(0, -2), ctx.scale * grad.flatten(0, -2)
        grad_down = (grads @ up.to(grad.dtype)).mT @ rows
        grad_up = grads.mT @ (rows @ down.mT.to(rows.dtype))
        return grad @ updated, None, None, grad_down.to(down.dtype), grad_up.to(up.dtype), None


class LowRankLinear(torch.nn.Linear):
    """A frozen linear layer with a trainable update of low rank: x -> (W + (alpha / rank) B A) x + b.

    Equation 3 of Hu et al., "LoRA: Low-Rank Adaptation of Large Language Models" (ICLR 2022). Initially B is 0, so the
    update is, too.

    # Parameters

    linear : `torch.nn.Linear`
    rank : `int`
        The number of rows of A, and of columns of B.
    alpha : `float`
        Scales the update.
    """

    def __init__(self, linear: torch.nn.Linear, rank: int, alpha: float) -> None:
        super().__init__(linear.in_features, linear.out_features, device="meta")
        self.weight, self.bias = linear.weight, linear.bias
        self.requires_grad_(False)
        bound = self.in_features**-0.5  # as in torch.nn.Linear
        down = torch.empty(rank, self.in_features).uniform_(-bound, bound)
        self.down = torch.nn.Parameter(down)  # A
        self.up = torch.nn.Parameter(torch.zeros(self.out_features, rank))  # B
        self.scale = alpha / rank

    def forward(self, input: Tensor) -> Tensor:
        """(..., input dim) -> (..., output dim)."""
        input = in_autocast_dtype(input)
        # The sum W + (alpha / rank) B A needs the precision of W.
        with torch.autocast(input.device.type, enabled=False):
            return _UpdatedLinear.apply(
                input, self.weight, self.bias, self.down, self.up, self.scale
            )

    def merged(self) -> torch.nn.Linear:
        """Returns a layer with the updated weights."""
        linear = torch.nn.Linear(self.in_features, self.out_features, device="meta")
        weight = self.weight.detach() + self.scale * (self.up @ self.down).detach()
        linear.weight, linear.bias = torch.nn.Parameter(weight), self.bias
        return linear.train(self.training)


def add_lora(module: torch.nn.Module, rank: int, alpha: float) -> None:
    """Freezes a module, and makes each linear layer in it a `LowRankLinear`."""
    module.requires_grad_(False)
    for parent in list(module.modules()):
        for name, part in parent.named_children():
            if type(part) is torch.nn.Linear:
                setattr(parent, name, LowRankLinear(part, rank, alpha))


def merge_lora(module: torch.nn.Module) -> None:
    """Adds the update of every `LowRankLinear` in a module to its weights, for prediction.

    Afterwards, the updates can no longer be trained, and the archive that they came from cannot be loaded into the
    module.
    """
    for parent in list(module.modules()):
        for name, part in parent.named_children():
            if isinstance(part, LowRankLinear):
                setattr(parent, name, part.merged())
