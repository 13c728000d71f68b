"""The best dependency trees by the scores of their arcs.

- `eisner`: among projective trees.
- `spanning_trees`: among all trees.

In both, one word is the root.
"""

from allennlp_nef.nn.parsing.eisner import projective_heads
from allennlp_nef.nn.parsing.spanning_trees import spanning_tree_heads

__all__ = ["projective_heads", "spanning_tree_heads"]
