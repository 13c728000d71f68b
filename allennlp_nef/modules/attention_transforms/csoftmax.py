from functools import partial
from typing import Optional

import torch
from overrides import overrides

from allennlp_nef.modules.attention_transforms.attention_transform import (
    AttentionTransform,
    ScoredAttentionTransform,
)
from allennlp_nef.nn.constrained_softmax import ConstrainedSoftmaxFunction
from allennlp_nef.nn.sketching import SketchState
from allennlp_nef.nn.sketching.stepwise_attention import ConstrainedSoftmaxSteps, MakeAttention


@AttentionTransform.register("csoftmax")
class ConstrainedSoftmaxTransform(ScoredAttentionTransform):
    """Constrained softmax with the bounds u = 1 - beta (Eq. 11): the total attention of a word is at most 1.

    After as many steps as words, the total of every word is exactly 1. Registered as an `AttentionTransform` with
    name "csoftmax". Parameters: see `ScoredAttentionTransform`.
    """

    @overrides
    def forward(self, scores: torch.Tensor, state: SketchState) -> torch.Tensor:
        scores = self.adjusted_scores(scores, state)
        # Rounding can make beta a little larger than 1.
        upper_bounds = (1 - state.coverage).clamp(min=0).masked_fill(~state.mask, 0)
        weights = ConstrainedSoftmaxFunction.apply(scores, upper_bounds)
        # Padding has 0 already; this keeps gradients that reach it from the rest of the sentence.
        return weights.masked_fill(~state.mask, 0)

    @overrides
    def stepwise(self) -> Optional[MakeAttention]:
        make_attention = partial(
            ConstrainedSoftmaxSteps,
            temperature=self.temperature,
            coverage_penalty=self.coverage_penalty,
        )
        return self._stepwise_of(ConstrainedSoftmaxTransform, make_attention)
