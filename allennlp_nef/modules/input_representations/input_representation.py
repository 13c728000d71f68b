from typing import Any

import torch
from allennlp.common import Registrable


class InputRepresentation(torch.nn.Module, Registrable):
    """Turns the input fields of a batch into one vector for each word to be tagged.

    `forward` takes the input fields by name and returns vectors (batch, tokens, dim) and a bool mask (batch, tokens).
    """

    default_implementation = "sentence"
    without_alignments: str | None = None
    """What a model lacks where sentences have no word alignments, in words for a warning. None: it takes none."""

    def forward(self, **fields: Any) -> tuple[torch.Tensor, torch.Tensor]:
        raise NotImplementedError

    def get_output_dim(self) -> int:
        """The dimension of the vectors."""
        raise NotImplementedError
