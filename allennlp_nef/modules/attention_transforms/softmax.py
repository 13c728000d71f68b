import torch
from overrides import overrides

from allennlp_nef.modules.attention_transforms.attention_transform import (
    AttentionTransform,
    ScoredAttentionTransform,
)
from allennlp_nef.nn.sketching import SketchState


@AttentionTransform.register("softmax")
class SoftmaxTransform(ScoredAttentionTransform):
    """softmax((z - coverage_penalty * beta) / temperature) over the words of the sentence (Section 3.2).

    Registered as an `AttentionTransform` with name "softmax". Parameters: see `ScoredAttentionTransform`.
    """

    @overrides
    def forward(self, scores: torch.Tensor, state: SketchState) -> torch.Tensor:
        scores = self.adjusted_scores(scores, state)
        # The most negative number rather than -inf: a wholly masked row stays finite.
        scores = scores.masked_fill(~state.mask, torch.finfo(scores.dtype).min)
        return scores.softmax(-1).masked_fill(~state.mask, 0)
