"""An older name of `allennlp_nef.corpora`."""

from allennlp_nef.corpora import Tagger

__all__ = ["Tagger"]
