from typing import Any

import torch
from allennlp.data import Vocabulary
from overrides import overrides

from allennlp_nef.modules.tag_heads.tag_head import TagHead


class AffineTagHead(TagHead):
    """A `TagHead` whose scores are affine in the states."""

    def __init__(self, input_dim: int, vocab: Vocabulary, **kwargs: Any) -> None:
        super().__init__(input_dim, vocab, **kwargs)
        self.projection = torch.nn.Linear(input_dim, self.num_labels)

    @overrides
    def scores(self, states: torch.Tensor) -> torch.Tensor:
        return self.projection(states)
