import math

import torch
from allennlp.common.checks import ConfigurationError
from overrides import overrides

from allennlp_nef.modules.attention_transforms.attention_transform import (
    AttentionTransform,
    ScoredAttentionTransform,
)
from allennlp_nef.nn.constrained_sparsemax import ConstrainedSparsemaxFunction
from allennlp_nef.nn.sketching import SketchState
from allennlp_nef.nn.sketching.stepwise_attention import MakeAttention


@AttentionTransform.register("budget")
class BudgetTransform(ScoredAttentionTransform):
    """k words a step: a sparsemax whose weights are at most 1 and sum to k, argmin ||alpha - z||^2.

    It is ``k csparsemax(z / k; 1 / k)``, the budget-sparsemax of the entmax package. Sentences of at most k words have
    an attention of 1 everywhere. A word may be visited in several steps; `coverage_penalty` lowers its score then. For
    NEF-F: the single vector of NEF-S is made from an attention that sums to 1. Registered as an `AttentionTransform`
    with name "budget".

    # Parameters

    num_words : `float`, optional (default = `2.0`)
        k, at least 1.
    temperature, coverage_penalty
        See `ScoredAttentionTransform`.
    """

    def __init__(
        self, num_words: float = 2.0, temperature: float = 1.0, coverage_penalty: float = 0.0
    ) -> None:
        super().__init__(temperature, coverage_penalty)
        if not 1 <= num_words < math.inf:
            raise ConfigurationError(f"num_words: expected a number of at least 1, got {num_words}")
        self.num_words = num_words

    @overrides
    def forward(self, scores: torch.Tensor, state: SketchState) -> torch.Tensor:
        scores = self.adjusted_scores(scores, state) / self.num_words
        upper_bounds = state.mask.to(scores.dtype) / self.num_words
        weights = ConstrainedSparsemaxFunction.apply(scores, upper_bounds) * self.num_words
        return weights.masked_fill(~state.mask, 0)

    @overrides
    def stepwise(self) -> MakeAttention | None:
        return self._stepwise_of(BudgetTransform)

    def extra_repr(self) -> str:
        return f"{super().extra_repr()}, num_words={self.num_words}"
