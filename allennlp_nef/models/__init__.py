"""Models."""

from allennlp_nef.models.nef_tagger import NefTagger

__all__ = ["NefTagger"]
