"""Registered encoders of trees."""

from allennlp_nef.modules.tree_encoders.binary_tree_lstm import BinaryTreeLstm
from allennlp_nef.modules.tree_encoders.child_sum_tree_lstm import ChildSumTreeLstm
from allennlp_nef.modules.tree_encoders.tree_encoder import TreeEncoder

__all__ = ["BinaryTreeLstm", "ChildSumTreeLstm", "TreeEncoder"]
