from allennlp.modules.attention import Attention

from allennlp_nef.modules.attention.upper_bounds import BoundedAttention
from allennlp_nef.nn.constrained_softmax import constrained_softmax


@Attention.register("csoftmax")
class ConstrainedSoftmaxAttention(BoundedAttention):
    """Attention with any similarity of AllenNLP and a constrained softmax: no row gets more than its bound.

    Proposition 1 of Martins & Kreutzer (EMNLP 2017). Registered as an `Attention` with name "csoftmax". Parameters: see
    `BoundedAttention`.
    """

    function = staticmethod(constrained_softmax)
