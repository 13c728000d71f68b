from allennlp_nef.modules.attention.csoftmax import ConstrainedSoftmaxAttention

__all__ = ["ConstrainedSoftmaxAttention"]
