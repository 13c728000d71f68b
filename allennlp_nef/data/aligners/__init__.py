"""A word aligner that needs no other program, and the symmetrization of alignments, without AllenNLP."""

from allennlp_nef.data.aligners.aligner_files import load_aligner, save_aligner
from allennlp_nef.data.aligners.learning import AlignedPair, learn_aligner
from allennlp_nef.data.aligners.lexical_aligner import LexicalAligner
from allennlp_nef.data.aligners.symmetrization import METHODS, symmetrize

__all__ = [
    "METHODS",
    "AlignedPair",
    "LexicalAligner",
    "learn_aligner",
    "load_aligner",
    "save_aligner",
    "symmetrize",
]
