"""Models, a subpackage for each task, and what they share."""

from allennlp_nef.models.tagging import NefTagger

__all__ = ["NefTagger"]
