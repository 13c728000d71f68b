from typing import Any, ClassVar

import torch
from allennlp.common import Registrable


class PairOutput(torch.nn.Module, Registrable):
    """The output layer of `sentence_pair`: what is predicted of a pair, its loss and its metrics."""

    default_implementation = "classes"
    gold: ClassVar[str]
    """The field of an instance that has the gold value."""

    def forward(
        self, features: torch.Tensor, gold: torch.Tensor | None = None
    ) -> dict[str, torch.Tensor]:
        """
        # Parameters

        features : `torch.Tensor`, (batch, input_dim)
        gold : `torch.Tensor`, (batch,), optional (default = `None`, not known)
            The gold values, which the metrics count.

        # Returns

        `dict[str, torch.Tensor]`
            The predictions, and with gold values the `loss`, a mean over the pairs.
        """
        raise NotImplementedError

    def readable(self, outputs: dict[str, torch.Tensor]) -> dict[str, list[Any]]:
        """The predictions of a batch for people: `label` or `score`, and `probabilities` by their names."""
        raise NotImplementedError

    def get_metrics(self, reset: bool = False) -> dict[str, float]:
        """The scores since the last reset."""
        raise NotImplementedError
