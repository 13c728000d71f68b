"""Models, a subpackage for each task, and what they share."""

from allennlp_nef import _stack  # noqa: F401  # first: says what to install

# isort: split
from allennlp_nef.models.parsing import ArcMlpParser
from allennlp_nef.models.sentences import SentencePair, TreeLstm
from allennlp_nef.models.tagging import NefTagger, NefTaggerEnsemble

__all__ = ["ArcMlpParser", "NefTagger", "NefTaggerEnsemble", "SentencePair", "TreeLstm"]
