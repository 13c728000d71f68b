"""The best projective trees by the scores of arcs (`eisner`), and the label of their roots (`root_label`)."""

from allennlp_nef.nn.parsing.eisner import projective_heads
from allennlp_nef.nn.parsing.root_label import with_root_label

__all__ = ["projective_heads", "with_root_label"]
