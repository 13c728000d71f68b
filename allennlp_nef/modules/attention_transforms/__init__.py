from allennlp_nef.modules.attention_transforms.attention_transform import (
    AttentionTransform,
    MaskedAttentionTransform,
    ScoredAttentionTransform,
)
from allennlp_nef.modules.attention_transforms.budget import BudgetTransform
from allennlp_nef.modules.attention_transforms.csoftmax import ConstrainedSoftmaxTransform
from allennlp_nef.modules.attention_transforms.csparsemax import ConstrainedSparsemaxTransform
from allennlp_nef.modules.attention_transforms.easy_first import EasyFirstTransform
from allennlp_nef.modules.attention_transforms.entmax15 import Entmax15Transform
from allennlp_nef.modules.attention_transforms.fixed_order import (
    FixedAttentionTransform,
    LeftToRightTransform,
    RightToLeftTransform,
    UniformTransform,
)
from allennlp_nef.modules.attention_transforms.softmax import SoftmaxTransform
from allennlp_nef.modules.attention_transforms.sparsemax import SparsemaxTransform
from allennlp_nef.modules.attention_transforms.upper_bounds import BoundedAttentionTransform

__all__ = [
    "AttentionTransform",
    "BoundedAttentionTransform",
    "BudgetTransform",
    "ConstrainedSoftmaxTransform",
    "ConstrainedSparsemaxTransform",
    "EasyFirstTransform",
    "Entmax15Transform",
    "FixedAttentionTransform",
    "LeftToRightTransform",
    "MaskedAttentionTransform",
    "RightToLeftTransform",
    "ScoredAttentionTransform",
    "SoftmaxTransform",
    "SparsemaxTransform",
    "UniformTransform",
]
