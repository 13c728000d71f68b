"""Attention transforms, which turn the scores and coverage of a decoder step into attention."""

from typing import ClassVar

import entmax
import torch
from allennlp.common import Registrable
from allennlp.common.checks import ConfigurationError

from allennlp_nef.nn.constrained_softmax import ConstrainedSoftmaxFunction
from allennlp_nef.nn.constrained_sparsemax import ConstrainedSparsemaxFunction
from allennlp_nef.nn.sketching import SketchState
from allennlp_nef.nn.util import exclude_scores
from allennlp_nef.options import check_numbers


class AttentionTransform(torch.nn.Module, Registrable):
    """Turns attention scores and the coverage into attention weights: rho of Algorithm 2.

    Called with the scores z (batch, tokens) and a `SketchState`. Returns the weights alpha (batch, tokens): at least 0,
    0 in padding, and summing to 1 in every sentence.
    """

    default_implementation = "csoftmax"

    def forward(self, scores: torch.Tensor, state: SketchState) -> torch.Tensor:
        raise NotImplementedError


class ScoredAttentionTransform(AttentionTransform):
    """Base class of transforms that use the scores ``(z - coverage_penalty * beta) / temperature``.

    # Parameters

    temperature : `float`, optional (default = `1.0`)
        At least 1e-6. Small values sharpen the attention.
    coverage_penalty : `float`, optional (default = `0.0`)
        lambda, at least 0: how much the attention in earlier steps lowers the score of a word.
    """

    def __init__(self, temperature: float = 1.0, coverage_penalty: float = 0.0) -> None:
        super().__init__()
        check_numbers(1e-6, temperature=temperature)
        check_numbers(0, coverage_penalty=coverage_penalty)
        self.temperature = temperature
        self.coverage_penalty = coverage_penalty

    def adjusted_scores(self, scores: torch.Tensor, state: SketchState) -> torch.Tensor:
        """(z - coverage_penalty * beta) / temperature: (batch, tokens). An override should call `super()` first."""
        if self.coverage_penalty:
            scores = scores - self.coverage_penalty * state.coverage
        return scores / self.temperature

    def extra_repr(self) -> str:
        return f"temperature={self.temperature}, coverage_penalty={self.coverage_penalty}"


class UnboundedAttentionTransform(ScoredAttentionTransform):
    """A `ScoredAttentionTransform` that normalizes the scores of the words."""

    def forward(self, scores: torch.Tensor, state: SketchState) -> torch.Tensor:
        scores = self.adjusted_scores(scores, state)
        padding = ~state.mask
        return self.normalize(exclude_scores(scores, padding)).masked_fill(padding, 0)

    def normalize(self, scores: torch.Tensor) -> torch.Tensor:
        """Scores, the lowest number of their type in padding -> a distribution over each row: (batch, tokens)."""
        raise NotImplementedError


@AttentionTransform.register("softmax")
class SoftmaxTransform(UnboundedAttentionTransform):
    """A softmax over the words of the sentence (Section 3.2). Parameters: see `ScoredAttentionTransform`."""

    def normalize(self, scores: torch.Tensor) -> torch.Tensor:
        return scores.softmax(-1)


@AttentionTransform.register("sparsemax")
class SparsemaxTransform(UnboundedAttentionTransform):
    """A sparsemax: the closest point of the simplex (Eq. 8). Parameters: see `ScoredAttentionTransform`."""

    def normalize(self, scores: torch.Tensor) -> torch.Tensor:
        return entmax.sparsemax(scores, -1)


@AttentionTransform.register("entmax15")
class Entmax15Transform(UnboundedAttentionTransform):
    """1.5-entmax, between softmax and sparsemax. Parameters: see `ScoredAttentionTransform`.

    Peters, Niculae & Martins, "Sparse Sequence-to-Sequence Models" (ACL 2019); not in the NEF paper.
    """

    def normalize(self, scores: torch.Tensor) -> torch.Tensor:
        return entmax.entmax15(scores, -1)


class BoundedAttentionTransform(ScoredAttentionTransform):
    """A `ScoredAttentionTransform` with the bounds u = 1 - beta: the total attention of a word is at most 1 (Eq. 11).

    After as many steps as words, the total attention of each word is exactly 1.
    """

    function: ClassVar[type[torch.autograd.Function]]
    """Scores and bounds -> weights, over the last dimension."""

    def forward(self, scores: torch.Tensor, state: SketchState) -> torch.Tensor:
        scores = self.adjusted_scores(scores, state)
        # The bound of padding is 0. Through rounding, beta can be slightly larger than 1.
        upper_bounds = (state.mask.to(scores.dtype) - state.coverage).clamp(0, 1)
        return self.function.apply(scores, upper_bounds)


@AttentionTransform.register("csoftmax")
class ConstrainedSoftmaxTransform(BoundedAttentionTransform):
    """A constrained softmax with the bounds 1 - beta (Eq. 11). Parameters: see `ScoredAttentionTransform`.

    The default.
    """

    function = ConstrainedSoftmaxFunction


@AttentionTransform.register("csparsemax")
class ConstrainedSparsemaxTransform(BoundedAttentionTransform):
    """A constrained sparsemax with the bounds 1 - beta. Parameters: see `ScoredAttentionTransform`.

    Malaviya, Ferreira & Martins, "Sparse and Constrained Attention for Neural Machine Translation" (ACL 2018); not in
    the NEF paper.
    """

    function = ConstrainedSparsemaxFunction


class FixedAttentionTransform(AttentionTransform):
    """An `AttentionTransform` that does not depend on the scores."""

    def forward(self, scores: torch.Tensor, state: SketchState) -> torch.Tensor:
        # Distributed training needs a gradient for every parameter, so the scores get a gradient of zero.
        return self.weights(state).to(scores.dtype) + 0 * scores

    def weights(self, state: SketchState) -> torch.Tensor:
        """Returns the attention weights: (batch, tokens)."""
        raise NotImplementedError


@AttentionTransform.register("uniform")
class UniformTransform(FixedAttentionTransform):
    """Puts attention 1 / L on each of the L words, in every step."""

    def weights(self, state: SketchState) -> torch.Tensor:
        return state.mask / state.lengths.clamp(min=1).unsqueeze(-1)


@AttentionTransform.register("left_to_right")
class LeftToRightTransform(FixedAttentionTransform):
    """Puts all attention on word n in step n."""

    def weights(self, state: SketchState) -> torch.Tensor:
        return (state.mask.cumsum(-1) == state.step + 1) & state.mask


@AttentionTransform.register("right_to_left")
class RightToLeftTransform(FixedAttentionTransform):
    """Puts all attention on word L + 1 - n in step n."""

    def weights(self, state: SketchState) -> torch.Tensor:
        return (state.mask.cumsum(-1) == state.lengths.unsqueeze(-1) - state.step) & state.mask


@AttentionTransform.register("easy_first")
class EasyFirstTransform(FixedAttentionTransform):
    """Vanilla easy-first (Algorithm 1): each step puts all attention on the most confident of the remaining words.

    That is the word with the largest tag score after an update in this step, max_y O [h_i; tanh(W_cs c_i + w_s)]. These
    are raw scores, without normalization or tag transitions. No gradient flows through the choice.

    The model must pass its output layer to the decoder, as `nef_tagger` does; otherwise, a `ConfigurationError` is
    raised.
    """

    def weights(self, state: SketchState) -> torch.Tensor:
        if state.tag_scores is None:
            raise ConfigurationError(
                "attention: easy_first needs the output layer of the model; use it in the decoder of nef_tagger"
            )
        is_open = state.mask & (state.coverage < 0.5)
        best = exclude_scores(state.tag_scores(), ~is_open).argmax(-1, keepdim=True)
        return torch.zeros_like(is_open).scatter(-1, best, True) & is_open
