import math
from functools import partial

import torch
from allennlp.common import Registrable
from allennlp.common.checks import ConfigurationError
from overrides import overrides

from allennlp_nef.nn.numerics import exclude_scores
from allennlp_nef.nn.sketching import SketchState
from allennlp_nef.nn.sketching.stepwise_attention import MakeAttention, RecordedAttention


class AttentionTransform(torch.nn.Module, Registrable):
    """Turns attention scores and the coverage into attention weights: rho of Algorithm 2.

    Called with the scores z (batch, tokens) and a `SketchState`. Returns the weights alpha (batch, tokens): at least 0,
    0 in padding, with a sum of 1 in every sentence that is not done. (`budget` has another sum.)
    """

    default_implementation = "csoftmax"

    def forward(self, scores: torch.Tensor, state: SketchState) -> torch.Tensor:
        raise NotImplementedError

    def stepwise(self) -> MakeAttention | None:
        """What makes the same attention for the fused recursion, or None where the plain one has to be used.

        The fused recursion does some steps twice, has no gradients of parameters, and knows no tag scores. So this is
        None for a transform with parameters, with random numbers, or that uses `SketchState.tag_scores`; and by
        default.
        """
        return None

    def _stepwise_of(
        self, kind: type["AttentionTransform"], make_attention: MakeAttention | None = None
    ) -> MakeAttention | None:
        """`stepwise` of the class `kind`: `make_attention`, or by default one with gradients from autograd.

        None for a subclass of `kind`: it may compute something else.
        """
        if type(self) is not kind:
            return None
        return make_attention or partial(RecordedAttention, self)


class ScoredAttentionTransform(AttentionTransform):
    """An `AttentionTransform` of the scores ``(z - coverage_penalty * beta) / temperature``.

    # Parameters

    temperature : `float`, optional (default = `1.0`)
        At least 1e-6; small values sharpen the attention.
    coverage_penalty : `float`, optional (default = `0.0`)
        lambda, at least 0: how much the attention in earlier steps lowers the score of a word.
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
    """A `ScoredAttentionTransform` that normalizes the scores of the words, without padding."""

    @overrides
    def forward(self, scores: torch.Tensor, state: SketchState) -> torch.Tensor:
        scores = self.adjusted_scores(scores, state)
        padding = ~state.mask
        return self.normalize(exclude_scores(scores, padding)).masked_fill(padding, 0)

    def normalize(self, scores: torch.Tensor) -> torch.Tensor:
        """(batch, tokens) -> a distribution over the last dimension, 0 at the lowest number of the type."""
        raise NotImplementedError
