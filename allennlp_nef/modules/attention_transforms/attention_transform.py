import math

import torch
from allennlp.common import Registrable
from allennlp.common.checks import ConfigurationError
from overrides import overrides

from allennlp_nef.nn.sketching import SketchState
from allennlp_nef.nn.stepwise_attention import RecordedAttention, StepwiseAttention


class AttentionTransform(torch.nn.Module, Registrable):
    """rho of Algorithm 2: attention scores and the coverage so far become attention weights.

    Called with the scores z (batch, tokens) and a `SketchState`; returns the weights alpha (batch, tokens): at least 0,
    0 in padding, summing to 1 in every sentence that is not done.
    """

    default_implementation = "csoftmax"

    recomputable = False
    """Whether a recursion with a backward pass of its own may do the steps, and some of them a second time.

    Only for a transform without parameters and without chance that does not look at the tag scores. It is not
    inherited: a subclass, which may do something else, says it anew.
    """

    def forward(self, scores: torch.Tensor, state: SketchState) -> torch.Tensor:
        raise NotImplementedError

    def stepwise(self, mask: torch.Tensor, dtype: torch.dtype) -> StepwiseAttention:
        """The same attention for the recursion with a backward pass of its own, where `recomputable`.

        mask: (batch, tokens), bool, True = keep; dtype: of the scores.
        """
        return RecordedAttention(self, mask, dtype)


class ScoredAttentionTransform(AttentionTransform):
    """An `AttentionTransform` of the scores ``(z - coverage_penalty * beta) / temperature``.

    # Parameters

    temperature : `float`, optional (default = `1.0`)
        At least 1e-6; small values sharpen the attention.
    coverage_penalty : `float`, optional (default = `0.0`)
        lambda, at least 0: how much attention in earlier steps counts against a word.
    """

    def __init__(self, temperature: float = 1.0, coverage_penalty: float = 0.0) -> None:
        super().__init__()
        if not 1e-6 <= temperature < math.inf:
            raise ConfigurationError(
                f"temperature: expected a number of at least 1e-6, got {temperature}"
            )
        if not 0 <= coverage_penalty < math.inf:
            raise ConfigurationError(
                f"coverage_penalty: expected a number of at least 0, got {coverage_penalty}"
            )
        self.temperature = temperature
        self.coverage_penalty = coverage_penalty

    def adjusted_scores(self, scores: torch.Tensor, state: SketchState) -> torch.Tensor:
        if self.coverage_penalty:
            scores = scores - self.coverage_penalty * state.coverage
        return scores if self.temperature == 1.0 else scores / self.temperature

    def extra_repr(self) -> str:
        return f"temperature={self.temperature}, coverage_penalty={self.coverage_penalty}"


class MaskedAttentionTransform(ScoredAttentionTransform):
    """A `ScoredAttentionTransform` that normalises the scores of the words, and of nothing else."""

    @overrides
    def forward(self, scores: torch.Tensor, state: SketchState) -> torch.Tensor:
        scores = self.adjusted_scores(scores, state)
        # The most negative number rather than -inf: a wholly masked row stays finite.
        scores = scores.masked_fill(~state.mask, torch.finfo(scores.dtype).min)
        return self.normalize(scores).masked_fill(~state.mask, 0)

    def normalize(self, scores: torch.Tensor) -> torch.Tensor:
        """(batch, tokens) -> a distribution over the last dimension, 0 at the lowest number."""
        raise NotImplementedError
