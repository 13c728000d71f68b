"""Word aligners. What this module names needs neither another program nor AllenNLP; `encoder_aligner` does."""

from allennlp_nef.data.aligners.aligner_files import load_aligner, save_aligner
from allennlp_nef.data.aligners.lexical_aligner import AlignedPair, LexicalAligner, learn_aligner

__all__ = ["AlignedPair", "LexicalAligner", "learn_aligner", "load_aligner", "save_aligner"]
