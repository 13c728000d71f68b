from typing import Dict, Optional

import torch
from allennlp.data import Vocabulary
from overrides import overrides
from torch.nn import functional

from allennlp_nef.modules.tag_heads.tag_head import TagHead


@TagHead.register("softmax")
class SoftmaxTagHead(TagHead):
    """Each word's tag on its own: p_i = softmax(affine(state_i)) (Eq. 6 of Martins & Kreutzer, EMNLP 2017).

    Registered as a `TagHead` with name "softmax". Parameters: see `TagHead`.
    """

    def __init__(
        self,
        input_dim: int,
        vocab: Vocabulary,
        label_namespace: str = "labels",
        label_weights: Optional[Dict[str, float]] = None,
        average: str = "sentence",
    ) -> None:
        super().__init__(input_dim, vocab, label_namespace, label_weights, average)
        self.projection = torch.nn.Linear(input_dim, self.num_labels)

    @overrides
    def scores(self, states: torch.Tensor) -> torch.Tensor:
        return self.projection(states)

    @overrides
    def loss(self, scores: torch.Tensor, mask: torch.Tensor, tags: torch.Tensor) -> torch.Tensor:
        scores = scores[mask].to(torch.promote_types(scores.dtype, torch.float32))
        total = functional.cross_entropy(
            scores, tags[mask], weight=self.label_weights.to(scores.dtype), reduction="sum"
        )
        return self.averaged(total, mask)

    @overrides
    def decode(self, scores: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        return scores.argmax(-1).masked_fill(~mask, 0)

    @overrides
    def probabilities(self, scores: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        return scores.float().softmax(-1).masked_fill(~mask.unsqueeze(-1), 0)
