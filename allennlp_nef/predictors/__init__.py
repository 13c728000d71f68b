from allennlp_nef.compat import require_allennlp

require_allennlp()

from allennlp_nef.predictors.dependency_parser import DependencyParserPredictor
from allennlp_nef.predictors.nef_tagger import NefTaggerPredictor
from allennlp_nef.predictors.sentence_classifier import SentenceClassifierPredictor
from allennlp_nef.predictors.sentence_pair import SentencePairPredictor
from allennlp_nef.predictors.tree_lstm import TreeLstmPredictor
from allennlp_nef.predictors.word_qe import WordQePredictor

__all__ = [
    "DependencyParserPredictor",
    "NefTaggerPredictor",
    "SentenceClassifierPredictor",
    "SentencePairPredictor",
    "TreeLstmPredictor",
    "WordQePredictor",
]
