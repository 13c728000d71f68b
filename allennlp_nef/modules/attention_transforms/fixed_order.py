"""Attention that does not depend on the scores: baselines of Table 4 of Martins & Kreutzer (EMNLP 2017)."""

import torch
from overrides import overrides

from allennlp_nef.modules.attention_transforms.attention_transform import AttentionTransform
from allennlp_nef.nn.sketching import SketchState
from allennlp_nef.nn.sketching.stepwise_attention import MakeAttention


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

    @overrides
    def stepwise(self) -> MakeAttention | None:
        return self._stepwise_of(UniformTransform)


@AttentionTransform.register("left_to_right")
class LeftToRightTransform(FixedAttentionTransform):
    """All attention to word n at step n; after the last word, none.

    Registered as an `AttentionTransform` with name "left_to_right".
    """

    @overrides
    def weights(self, state: SketchState) -> torch.Tensor:
        return (state.mask.cumsum(-1) == state.step + 1) & state.mask

    @overrides
    def stepwise(self) -> MakeAttention | None:
        return self._stepwise_of(LeftToRightTransform)


@AttentionTransform.register("right_to_left")
class RightToLeftTransform(FixedAttentionTransform):
    """All attention to word L + 1 - n at step n; after the first word, none.

    Registered as an `AttentionTransform` with name "right_to_left".
    """

    @overrides
    def weights(self, state: SketchState) -> torch.Tensor:
        place = state.lengths.unsqueeze(-1) - state.step
        return (state.mask.cumsum(-1) == place) & state.mask

    @overrides
    def stepwise(self) -> MakeAttention | None:
        return self._stepwise_of(RightToLeftTransform)
