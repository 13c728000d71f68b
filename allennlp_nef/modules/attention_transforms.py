"""Attention transforms: from scores and coverage to the attention of a step of the decoder."""

import math
from typing import ClassVar

import entmax
import torch
from allennlp.common import Registrable
from allennlp.common.checks import ConfigurationError
from overrides import overrides

from allennlp_nef.nn.constrained_softmax import ConstrainedSoftmaxFunction
from allennlp_nef.nn.constrained_sparsemax import ConstrainedSparsemaxFunction
from allennlp_nef.nn.numerics import exclude_scores
from allennlp_nef.nn.sketching import SketchState


class AttentionTransform(torch.nn.Module, Registrable):
    """Turns attention scores and the coverage into attention weights: rho of Algorithm 2.

    Called with the scores z (batch, tokens) and a `SketchState`. Returns the weights alpha (batch, tokens): at least 0,
    0 in padding, with a sum of 1 in every sentence that is not done. (`budget` has another sum.)
    """

    default_implementation = "csoftmax"

    def forward(self, scores: torch.Tensor, state: SketchState) -> torch.Tensor:
        raise NotImplementedError

    def can_get_attention(self, coverage: torch.Tensor) -> torch.Tensor | None:
        """Which words can get attention with this coverage (batch, tokens), bool; None for all, as by default.

        The attention of the others has to be 0, whatever their scores are: the decoder may leave them out.
        """
        return None


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
        """(z - coverage_penalty * beta) / temperature: (batch, tokens).

        A transform that looks at earlier steps in another way overrides it.
        """
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
        # Padding has a bound of 0. Rounding can make beta a little larger than B.
        upper_bounds = (state.mask.to(state.coverage.dtype) * bounds - state.coverage).clamp(0, 1)
        weights = self.function.apply(scores, upper_bounds)
        # Padding has 0 already; this keeps gradients that reach it from the rest of the sentence.
        return weights.masked_fill(~state.mask, 0)

    @overrides
    def can_get_attention(self, coverage: torch.Tensor) -> torch.Tensor | None:
        if type(self).forward is not BoundedAttentionTransform.forward:
            return None  # a subclass may compute something else
        return coverage < self.upper_bound - 4 * torch.finfo(coverage.dtype).eps

    def extra_repr(self) -> str:
        return f"{super().extra_repr()}, upper_bound={self.upper_bound}"


@AttentionTransform.register("softmax")
class SoftmaxTransform(MaskedAttentionTransform):
    """softmax((z - coverage_penalty * beta) / temperature) over the words of the sentence (Section 3.2).

    Registered as an `AttentionTransform` with name "softmax". Parameters: see `ScoredAttentionTransform`.
    """

    @overrides
    def normalize(self, scores: torch.Tensor) -> torch.Tensor:
        return scores.softmax(-1)


@AttentionTransform.register("sparsemax")
class SparsemaxTransform(MaskedAttentionTransform):
    """sparsemax((z - coverage_penalty * beta) / temperature): the closest point of the simplex (Eq. 8).

    Registered as an `AttentionTransform` with name "sparsemax". Parameters: see `ScoredAttentionTransform`.
    """

    @overrides
    def normalize(self, scores: torch.Tensor) -> torch.Tensor:
        return entmax.sparsemax(scores, -1)


@AttentionTransform.register("entmax15")
class Entmax15Transform(MaskedAttentionTransform):
    """1.5-entmax((z - coverage_penalty * beta) / temperature): between softmax and sparsemax.

    Peters, Niculae & Martins, "Sparse Sequence-to-Sequence Models" (ACL 2019); not among the transforms of the NEF
    paper. Registered as an `AttentionTransform` with name "entmax15". Parameters: see `ScoredAttentionTransform`.
    """

    @overrides
    def normalize(self, scores: torch.Tensor) -> torch.Tensor:
        return entmax.entmax15(scores, -1)


@AttentionTransform.register("csoftmax")
class ConstrainedSoftmaxTransform(BoundedAttentionTransform):
    """Constrained softmax with the bounds u = 1 - beta (Eq. 11): the total attention of a word is at most 1.

    After as many steps as words, the total of every word is exactly 1. Registered as an `AttentionTransform` with
    name "csoftmax". Parameters: see `BoundedAttentionTransform`.
    """

    function = ConstrainedSoftmaxFunction


@AttentionTransform.register("csparsemax")
class ConstrainedSparsemaxTransform(BoundedAttentionTransform):
    """Constrained sparsemax with the bounds u = 1 - beta: `csoftmax` with exact zeros.

    Malaviya, Ferreira & Martins, "Sparse and Constrained Attention for Neural Machine Translation" (ACL 2018); not
    among the transforms of the NEF paper. Registered as an `AttentionTransform` with name "csparsemax". Parameters: see
    `BoundedAttentionTransform`.
    """

    function = ConstrainedSparsemaxFunction


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

    def extra_repr(self) -> str:
        return f"{super().extra_repr()}, num_words={self.num_words}"


class FixedAttentionTransform(AttentionTransform):
    """An `AttentionTransform` that does not use the scores."""

    @overrides
    def forward(self, scores: torch.Tensor, state: SketchState) -> torch.Tensor:
        # The scores get a gradient of zero, not none: distributed training needs a gradient for every parameter.
        return self.weights(state).to(scores.dtype) + 0 * scores.masked_fill(~state.mask, 0)

    def weights(self, state: SketchState) -> torch.Tensor:
        """The attention weights: (batch, tokens)."""
        raise NotImplementedError


@AttentionTransform.register("uniform")
class UniformTransform(FixedAttentionTransform):
    """An attention of 1 / L for each of the L words, at every step.

    Registered as an `AttentionTransform` with name "uniform".
    """

    @overrides
    def weights(self, state: SketchState) -> torch.Tensor:
        return state.mask / state.lengths.clamp(min=1).unsqueeze(-1)


@AttentionTransform.register("left_to_right")
class LeftToRightTransform(FixedAttentionTransform):
    """All attention to word n at step n; after the last word, none.

    Registered as an `AttentionTransform` with name "left_to_right".
    """

    @overrides
    def weights(self, state: SketchState) -> torch.Tensor:
        return (state.mask.cumsum(-1) == state.step + 1) & state.mask


@AttentionTransform.register("right_to_left")
class RightToLeftTransform(FixedAttentionTransform):
    """All attention to word L + 1 - n at step n; after the first word, none.

    Registered as an `AttentionTransform` with name "right_to_left".
    """

    @overrides
    def weights(self, state: SketchState) -> torch.Tensor:
        place = state.lengths.unsqueeze(-1) - state.step
        return (state.mask.cumsum(-1) == place) & state.mask


@AttentionTransform.register("easy_first")
class EasyFirstTransform(FixedAttentionTransform):
    """Vanilla easy-first (Algorithm 1 of Martins & Kreutzer, EMNLP 2017): one word a step, the most confident first.

    All attention of a step goes to one word that is not covered yet: the one with the largest best tag score after an
    update in this step, max_y O [h_i; tanh(W_cs c_i + w_s)]. These are raw scores, without probabilities or transitions
    between tags. No gradient flows through the choice. When all words are covered, the attention is 0.

    The scores are those of the model's output layer, which `nef_tagger` supplies. A model that does not supply them
    gets a `ConfigurationError`. Registered as an `AttentionTransform` with name "easy_first".
    """

    @overrides
    def weights(self, state: SketchState) -> torch.Tensor:
        if state.tag_scores is None:
            raise ConfigurationError(
                "attention: easy_first chooses by the scores of the output layer, which this model does not supply to "
                "its encoder; use it in the decoder of nef_tagger, or choose another attention"
            )
        is_open = state.mask & (state.coverage < 0.5)
        tag_scores = state.tag_scores()
        best = exclude_scores(tag_scores, ~is_open).argmax(-1, keepdim=True)
        return torch.zeros_like(is_open).scatter(-1, best, True) & is_open
