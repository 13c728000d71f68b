from functools import partial

import torch
from overrides import overrides

from allennlp_nef.modules.attention_transforms.attention_transform import (
    AttentionTransform,
    MaskedAttentionTransform,
)
from allennlp_nef.nn.sketching.stepwise_attention import MakeAttention, SoftmaxSteps


@AttentionTransform.register("softmax")
class SoftmaxTransform(MaskedAttentionTransform):
    """softmax((z - coverage_penalty * beta) / temperature) over the words of the sentence (Section 3.2).

    Registered as an `AttentionTransform` with name "softmax". Parameters: see `ScoredAttentionTransform`.
    """

    @overrides
    def normalize(self, scores: torch.Tensor) -> torch.Tensor:
        return scores.softmax(-1)

    @overrides
    def stepwise(self) -> MakeAttention | None:
        make_attention = partial(
            SoftmaxSteps, temperature=self.temperature, coverage_penalty=self.coverage_penalty
        )
        return self._stepwise_of(SoftmaxTransform, make_attention)
