"""Low-rank adaptation of linear layers (LoRA)."""

import torch
from torch import Tensor

from allennlp_nef.errors import UserError


class LoraLinear(torch.nn.Module):
    """A frozen linear layer with a trainable update of low rank: y = W x + b + (alpha / rank) B A x.

    Equation 3 of Hu et al., "LoRA: Low-Rank Adaptation of Large Language Models" (ICLR 2022). Initially B is 0, so the
    outputs equal those of the linear layer.

    # Parameters

    linear : `torch.nn.Linear`
        Its parameters are frozen.
    rank : `int`
        The number of rows of A, and of columns of B.
    alpha : `float`
        Scales the update.

    # Raises

    `UserError`: a rank below 1.
    """

    def __init__(self, linear: torch.nn.Linear, rank: int, alpha: float) -> None:
        super().__init__()
        if rank < 1:
            raise UserError(f"lora_rank: expected a positive integer, got {rank}")
        self.linear = linear.requires_grad_(False)
        self.down = torch.nn.Linear(linear.in_features, rank, bias=False)
        self.up = torch.nn.Linear(rank, linear.out_features, bias=False)
        torch.nn.init.zeros_(self.up.weight)
        self.scale = alpha / rank

    def forward(self, x: Tensor) -> Tensor:
        """(..., input dim) to (..., output dim)."""
        update: Tensor = self.up(self.down(x))
        return self.linear(x) + self.scale * update


def add_lora(module: torch.nn.Module, rank: int, alpha: float) -> None:
    """Freezes a module and replaces every linear layer in it with a `LoraLinear`."""
    module.requires_grad_(False)
    for parent in list(module.modules()):
        for name, child in list(parent.named_children()):
            if isinstance(child, torch.nn.Linear):
                setattr(parent, name, LoraLinear(child, rank, alpha))


@torch.no_grad()
def merge_lora(module: torch.nn.Module) -> None:
    """Replaces every `LoraLinear` in a module with one linear layer of the same output, for prediction.

    Predictions take about a third less time. Afterwards, the module can be neither trained nor saved.
    """
    for parent in list(module.modules()):
        for name, child in list(parent.named_children()):
            if isinstance(child, LoraLinear):
                child.linear.weight += child.scale * child.up.weight @ child.down.weight
                setattr(parent, name, child.linear)
