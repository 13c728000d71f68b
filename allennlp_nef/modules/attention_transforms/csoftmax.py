import torch
from overrides import overrides

from allennlp_nef.modules.attention_transforms.attention_transform import (
    AttentionTransform,
    ScoredAttentionTransform,
)
from allennlp_nef.nn.constrained_softmax import ConstrainedSoftmaxFunction
from allennlp_nef.nn.sketching import SketchState
from allennlp_nef.nn.stepwise_attention import ConstrainedSoftmaxSteps, StepwiseAttention


@AttentionTransform.register("csoftmax")
class ConstrainedSoftmaxTransform(ScoredAttentionTransform):
    """Constrained softmax with the bounds u = 1 - beta (Eq. 11): no word ever gets more attention than 1 in all.

    After as many steps as words every word has had a total of exactly 1. Registered as an `AttentionTransform` with
    name "csoftmax". Parameters: see `ScoredAttentionTransform`.
    """

    recomputable = True

    @overrides
    def forward(self, scores: torch.Tensor, state: SketchState) -> torch.Tensor:
        scores = self.adjusted_scores(scores, state)
        # Rounding may take beta a little over 1.
        upper_bounds = (1 - state.coverage).clamp(min=0).masked_fill(~state.mask, 0)
        weights = ConstrainedSoftmaxFunction.apply(scores, upper_bounds)
        # Padding has 0 already; this keeps gradients that reach it from the rest of the sentence.
        return weights.masked_fill(~state.mask, 0)

    @overrides
    def stepwise(self, mask: torch.Tensor, dtype: torch.dtype) -> StepwiseAttention:
        return ConstrainedSoftmaxSteps(mask, dtype, self.temperature, self.coverage_penalty)
