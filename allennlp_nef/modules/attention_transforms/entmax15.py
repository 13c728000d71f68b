import entmax
import torch
from overrides import overrides

from allennlp_nef.modules.attention_transforms.attention_transform import (
    AttentionTransform,
    MaskedAttentionTransform,
)
from allennlp_nef.nn.sketching.stepwise_attention import MakeAttention


@AttentionTransform.register("entmax15")
class Entmax15Transform(MaskedAttentionTransform):
    """1.5-entmax((z - coverage_penalty * beta) / temperature): between softmax and sparsemax.

    Peters, Niculae & Martins, "Sparse Sequence-to-Sequence Models" (ACL 2019); not among the transforms of the NEF
    paper. Registered as an `AttentionTransform` with name "entmax15". Parameters: see `ScoredAttentionTransform`.
    """

    @overrides
    def normalize(self, scores: torch.Tensor) -> torch.Tensor:
        return entmax.entmax15(scores, -1)

    @overrides
    def stepwise(self) -> MakeAttention | None:
        return self._stepwise_of(Entmax15Transform)
