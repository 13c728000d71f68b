"""Attention that does not look at the scores: the baselines of Table 4 of Martins & Kreutzer (EMNLP 2017)."""

import torch
from overrides import overrides

from allennlp_nef.modules.attention_transforms.attention_transform import AttentionTransform
from allennlp_nef.nn.sketching import SketchState


class FixedAttentionTransform(AttentionTransform):
    """An `AttentionTransform` of the step and the sentence's length alone."""

    @overrides
    def forward(self, scores: torch.Tensor, state: SketchState) -> torch.Tensor:
        # The scores get a gradient of zero rather than none: distributed training waits for every parameter's.
        return self.weights(state).to(scores.dtype) + 0 * scores.masked_fill(~state.mask, 0)

    def weights(self, state: SketchState) -> torch.Tensor:
        """(batch, tokens)"""
        raise NotImplementedError


@AttentionTransform.register("uniform")
class UniformTransform(FixedAttentionTransform):
    """1 / L for each of the L words, at every step. Registered as an `AttentionTransform` with name "uniform"."""

    recomputable = True

    @overrides
    def weights(self, state: SketchState) -> torch.Tensor:
        return state.mask / state.lengths.clamp(min=1).unsqueeze(-1)


@AttentionTransform.register("left_to_right")
class LeftToRightTransform(FixedAttentionTransform):
    """All attention to word n at step n; after the last word, none.

    Registered as an `AttentionTransform` with name "left_to_right".
    """

    recomputable = True

    @overrides
    def weights(self, state: SketchState) -> torch.Tensor:
        return (state.mask.cumsum(-1) == state.step + 1) & state.mask


@AttentionTransform.register("right_to_left")
class RightToLeftTransform(FixedAttentionTransform):
    """All attention to word L + 1 - n at step n; after the first word, none.

    Registered as an `AttentionTransform` with name "right_to_left".
    """

    recomputable = True

    @overrides
    def weights(self, state: SketchState) -> torch.Tensor:
        place = state.lengths.unsqueeze(-1) - state.step
        return (state.mask.cumsum(-1) == place) & state.mask
