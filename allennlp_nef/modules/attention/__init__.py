from allennlp_nef.modules.attention.csoftmax import ConstrainedSoftmaxAttention
from allennlp_nef.modules.attention.csparsemax import ConstrainedSparsemaxAttention
from allennlp_nef.modules.attention.upper_bounds import BoundedAttention

__all__ = ["BoundedAttention", "ConstrainedSoftmaxAttention", "ConstrainedSparsemaxAttention"]
