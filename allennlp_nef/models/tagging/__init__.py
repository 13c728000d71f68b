"""Sequence tagging."""

from allennlp_nef.models.nef_tagger import NefTagger
from allennlp_nef.models.nef_tagger_ensemble import NefTaggerEnsemble

__all__ = ["NefTagger", "NefTaggerEnsemble"]
