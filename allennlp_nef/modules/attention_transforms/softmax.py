import torch
from overrides import overrides

from allennlp_nef.modules.attention_transforms.attention_transform import (
    AttentionTransform,
    MaskedAttentionTransform,
)
from allennlp_nef.nn.stepwise_attention import SoftmaxSteps, StepwiseAttention


@AttentionTransform.register("softmax")
class SoftmaxTransform(MaskedAttentionTransform):
    """softmax((z - coverage_penalty * beta) / temperature) over the words of the sentence (Section 3.2).

    Registered as an `AttentionTransform` with name "softmax". Parameters: see `ScoredAttentionTransform`.
    """

    recomputable = True

    @overrides
    def normalize(self, scores: torch.Tensor) -> torch.Tensor:
        return scores.softmax(-1)

    @overrides
    def stepwise(self, mask: torch.Tensor, dtype: torch.dtype) -> StepwiseAttention:
        return SoftmaxSteps(mask, dtype, self.temperature, self.coverage_penalty)
