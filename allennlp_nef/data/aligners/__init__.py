"""A word aligner that needs no other program and, but for `reader_aligner`, no AllenNLP."""

from allennlp_nef.data.aligners.aligner_files import load_aligner, save_aligner
from allennlp_nef.data.aligners.learning import learn_aligner
from allennlp_nef.data.aligners.lexical_aligner import LexicalAligner
from allennlp_nef.data.aligners.lexicon import AlignedPair

__all__ = ["AlignedPair", "LexicalAligner", "learn_aligner", "load_aligner", "save_aligner"]
