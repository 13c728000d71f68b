from overrides import overrides

from allennlp_nef.modules.attention_transforms.attention_transform import AttentionTransform
from allennlp_nef.modules.attention_transforms.upper_bounds import BoundedAttentionTransform
from allennlp_nef.nn.constrained_softmax import ConstrainedSoftmaxFunction
from allennlp_nef.nn.sketching._compiled_attention import constrained_softmax_steps
from allennlp_nef.nn.sketching.stepwise_attention import MakeAttention


@AttentionTransform.register("csoftmax")
class ConstrainedSoftmaxTransform(BoundedAttentionTransform):
    """Constrained softmax with the bounds u = 1 - beta (Eq. 11): the total attention of a word is at most 1.

    After as many steps as words, the total of every word is exactly 1. Registered as an `AttentionTransform` with
    name "csoftmax". Parameters: see `BoundedAttentionTransform`.
    """

    function = ConstrainedSoftmaxFunction

    @overrides
    def stepwise(self) -> MakeAttention | None:
        return self._stepwise_of(
            ConstrainedSoftmaxTransform, self._with_options(constrained_softmax_steps)
        )
