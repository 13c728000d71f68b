"""Predictors: requests in, answers out."""

from allennlp_nef.compat import require_allennlp

require_allennlp()

from allennlp_nef.predictors.dependency_parser import DependencyParserPredictor
from allennlp_nef.predictors.nef_tagger import NefTaggerPredictor
from allennlp_nef.predictors.sentence_predictor import (
    SentenceClassifierPredictor,
    SentencePairPredictor,
    TreeLstmPredictor,
)
from allennlp_nef.predictors.word_qe import WordQePredictor

__all__ = [
    "DependencyParserPredictor",
    "NefTaggerPredictor",
    "SentenceClassifierPredictor",
    "SentencePairPredictor",
    "TreeLstmPredictor",
    "WordQePredictor",
]
