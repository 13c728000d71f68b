import math
from functools import partial
from typing import Any, ClassVar

import torch
from allennlp.common.checks import ConfigurationError
from overrides import overrides

from allennlp_nef.modules.attention_transforms.attention_transform import ScoredAttentionTransform
from allennlp_nef.nn.sketching import SketchState
from allennlp_nef.nn.sketching.stepwise_attention import MakeAttention


class BoundedAttentionTransform(ScoredAttentionTransform):
    """A `ScoredAttentionTransform` with the bounds u = B - beta: the total attention of a word is at most B.

    B = 1 is the paper's (Eq. 11): after as many steps as words, the total of every word is exactly 1. A sentence of L
    words has an attention of B L in all. A step that finds less than 1 of it left uses that up, and the steps after it
    have none.

    # Parameters

    upper_bound : `float`, optional (default = `1.0`)
        B, above 0: how much work a word may take.
    temperature, coverage_penalty
        See `ScoredAttentionTransform`.
    """

    function: ClassVar[type[torch.autograd.Function]]
    """Scores and bounds -> weights, over the last dimension."""

    def __init__(
        self, temperature: float = 1.0, coverage_penalty: float = 0.0, upper_bound: float = 1.0
    ) -> None:
        super().__init__(temperature, coverage_penalty)
        if not 0 < upper_bound < math.inf:
            raise ConfigurationError(f"upper_bound: expected a number above 0, got {upper_bound}")
        self.upper_bound = upper_bound

    @overrides
    def forward(
        self,
        scores: torch.Tensor,
        state: SketchState,
        word_bounds: torch.Tensor | None = None,
    ) -> torch.Tensor:
        """`word_bounds` is a B for each word (batch, tokens), in place of `upper_bound`."""
        scores = self.adjusted_scores(scores, state)
        bounds = self.upper_bound if word_bounds is None else word_bounds
        # Rounding can make beta a little larger than B.
        upper_bounds = (bounds - state.coverage).clamp(0, 1).masked_fill(~state.mask, 0)
        weights = self.function.apply(scores, upper_bounds)
        # Padding has 0 already; this keeps gradients that reach it from the rest of the sentence.
        return weights.masked_fill(~state.mask, 0)

    def _with_options(self, make_attention: Any) -> MakeAttention:
        return partial(
            make_attention,
            temperature=self.temperature,
            coverage_penalty=self.coverage_penalty,
            upper_bound=self.upper_bound,
        )

    def extra_repr(self) -> str:
        return f"{super().extra_repr()}, upper_bound={self.upper_bound}"
