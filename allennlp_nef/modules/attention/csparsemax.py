from allennlp.modules.attention import Attention

from allennlp_nef.modules.attention.upper_bounds import BoundedAttention
from allennlp_nef.nn.constrained_sparsemax import constrained_sparsemax


@Attention.register("csparsemax")
class ConstrainedSparsemaxAttention(BoundedAttention):
    """Attention with any similarity of AllenNLP and a constrained sparsemax: `csoftmax` with exact zeros.

    Malaviya, Ferreira & Martins (ACL 2018). Registered as an `Attention` with name "csparsemax". Parameters: see
    `BoundedAttention`.
    """

    function = staticmethod(constrained_sparsemax)
