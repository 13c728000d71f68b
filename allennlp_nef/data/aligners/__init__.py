"""A word aligner that needs neither another program nor AllenNLP."""

from allennlp_nef.data.aligners.aligner_files import load_aligner, save_aligner
from allennlp_nef.data.aligners.lexical_aligner import AlignedPair, LexicalAligner, learn_aligner

__all__ = ["AlignedPair", "LexicalAligner", "learn_aligner", "load_aligner", "save_aligner"]
