"""Models, a subpackage for each task, and what they share."""

from allennlp_nef.compat import require_allennlp

require_allennlp()

from allennlp_nef.models.parsing import ArcMlpParser
from allennlp_nef.models.sentences import SentencePair, TreeLstm
from allennlp_nef.models.tagging import NefTagger, NefTaggerEnsemble

__all__ = ["ArcMlpParser", "NefTagger", "NefTaggerEnsemble", "SentencePair", "TreeLstm"]
