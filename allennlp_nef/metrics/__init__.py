"""Metrics for tags and scores, and significance tests."""

from allennlp_nef.metrics.conlleval import ConllEval
from allennlp_nef.metrics.correlations import SentenceScores
from allennlp_nef.metrics.tag_accuracy import TagAccuracy

__all__ = ["ConllEval", "SentenceScores", "TagAccuracy"]
