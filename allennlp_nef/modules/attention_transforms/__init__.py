from allennlp_nef.modules.attention_transforms.attention_transform import (
    AttentionTransform,
    ScoredAttentionTransform,
)
from allennlp_nef.modules.attention_transforms.csoftmax import ConstrainedSoftmaxTransform
from allennlp_nef.modules.attention_transforms.softmax import SoftmaxTransform

__all__ = [
    "AttentionTransform",
    "ConstrainedSoftmaxTransform",
    "ScoredAttentionTransform",
    "SoftmaxTransform",
]
