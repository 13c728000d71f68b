import entmax
import torch
from overrides import overrides

from allennlp_nef.modules.attention_transforms.attention_transform import (
    AttentionTransform,
    MaskedAttentionTransform,
)
from allennlp_nef.nn.sketching.stepwise_attention import MakeAttention


@AttentionTransform.register("sparsemax")
class SparsemaxTransform(MaskedAttentionTransform):
    """sparsemax((z - coverage_penalty * beta) / temperature): the closest point of the simplex (Eq. 8).

    Registered as an `AttentionTransform` with name "sparsemax". Parameters: see `ScoredAttentionTransform`.
    """

    @overrides
    def normalize(self, scores: torch.Tensor) -> torch.Tensor:
        return entmax.sparsemax(scores, -1)

    @overrides
    def stepwise(self) -> MakeAttention | None:
        return self._stepwise_of(SparsemaxTransform)
