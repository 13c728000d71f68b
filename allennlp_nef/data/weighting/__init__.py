"""Weights of training sentences."""

from allennlp_nef.data.weighting.domain_classifier import DomainClassifier
from allennlp_nef.data.weighting.sentence_weighting import SentenceWeighting

__all__ = ["DomainClassifier", "SentenceWeighting"]
