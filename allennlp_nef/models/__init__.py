"""Models, and what they share."""

from allennlp_nef.compat import require_allennlp

require_allennlp()

from allennlp_nef.models.arc_mlp_parser import ArcMlpParser
from allennlp_nef.models.nef_tagger import NefTagger
from allennlp_nef.models.nef_tagger_ensemble import NefTaggerEnsemble
from allennlp_nef.models.sentence_pair import SentencePair
from allennlp_nef.models.tree_lstm import TreeLstm

__all__ = ["ArcMlpParser", "NefTagger", "NefTaggerEnsemble", "SentencePair", "TreeLstm"]
