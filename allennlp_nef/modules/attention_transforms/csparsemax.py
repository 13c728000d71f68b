from overrides import overrides

from allennlp_nef.modules.attention_transforms.attention_transform import AttentionTransform
from allennlp_nef.modules.attention_transforms.upper_bounds import BoundedAttentionTransform
from allennlp_nef.nn.constrained_sparsemax import ConstrainedSparsemaxFunction
from allennlp_nef.nn.sketching.stepwise_attention import ConstrainedSparsemaxSteps, MakeAttention


@AttentionTransform.register("csparsemax")
class ConstrainedSparsemaxTransform(BoundedAttentionTransform):
    """Constrained sparsemax with the bounds u = 1 - beta: `csoftmax` with exact zeros.

    Malaviya, Ferreira & Martins, "Sparse and Constrained Attention for Neural Machine Translation" (ACL 2018); not
    among the transforms of the NEF paper. Registered as an `AttentionTransform` with name "csparsemax". Parameters: see
    `BoundedAttentionTransform`.
    """

    function = ConstrainedSparsemaxFunction

    @overrides
    def stepwise(self) -> MakeAttention | None:
        return self._stepwise_of(
            ConstrainedSparsemaxTransform, self._with_options(ConstrainedSparsemaxSteps)
        )
