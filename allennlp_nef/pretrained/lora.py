"""Low-rank adaptation (LoRA) of weight matrices, as parametrizations of torch."""

import torch
from torch import Tensor
from torch.nn.utils import parametrize


class LowRankUpdate(torch.nn.Module):
    """A parametrization of a frozen weight matrix with a trainable update of low rank: W + (alpha / rank) B A.

    Equation 3 of Hu et al., "LoRA: Low-Rank Adaptation of Large Language Models" (ICLR 2022). Initially B is 0, so the
    update is, too.

    # Parameters

    weight : `Tensor`, (output dim, input dim)
    rank : `int`
        The number of rows of A, and of columns of B.
    alpha : `float`
        Scales the update.
    parts : `int`, optional (default = `1`)
        The number of matrices of equal size that the weight consists of, one below the other. Each has its own update.
    """

    def __init__(self, weight: Tensor, rank: int, alpha: float, parts: int = 1) -> None:
        super().__init__()
        output_dim, input_dim = weight.shape
        self.down = torch.nn.Parameter(torch.empty(parts, rank, input_dim))  # A
        self.up = torch.nn.Parameter(torch.zeros(parts, output_dim // parts, rank))  # B
        bound = input_dim**-0.5  # as in torch.nn.Linear
        torch.nn.init.uniform_(self.down, -bound, bound)
        self.scale = alpha / rank

    def forward(self, weight: Tensor) -> Tensor:
        """(output dim, input dim) -> the same shape."""
        parts = weight.unflatten(0, (len(self.up), -1))  # (parts, output dim of a part, input dim)
        return torch.baddbmm(parts, self.up, self.down, alpha=self.scale).flatten(0, 1)


def add_lora(module: torch.nn.Module, rank: int, alpha: float) -> None:
    """Freezes a module and adds a `LowRankUpdate` to the weights of all linear layers in it.

    The projections of torch's `MultiheadAttention` to queries, keys and values each get an update of this rank.
    """
    module.requires_grad_(False)
    for part in list(module.modules()):
        if isinstance(part, torch.nn.Linear):
            name, parts = "weight", 1
        elif isinstance(part, torch.nn.MultiheadAttention):
            name, parts = "in_proj_weight", 3
        else:
            continue
        update = LowRankUpdate(getattr(part, name), rank, alpha, parts)
        parametrize.register_parametrization(part, name, update, unsafe=True)  # unsafe: no trial


def merge_lora(module: torch.nn.Module) -> None:
    """Adds the update of every `LowRankUpdate` in a module to its weights, for prediction.

    Afterwards, the updates can no longer be trained, and the archive that they came from cannot be loaded into the
    module.
    """
    for part in list(module.modules()):
        for name, updates in dict(getattr(part, "parametrizations", {})).items():
            if isinstance(updates[0], LowRankUpdate):
                parametrize.remove_parametrizations(part, name, leave_parametrized=True)
