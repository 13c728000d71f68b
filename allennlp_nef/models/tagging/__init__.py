"""Sequence tagging."""

from allennlp_nef.models.tagging.nef_tagger import NefTagger

__all__ = ["NefTagger"]
