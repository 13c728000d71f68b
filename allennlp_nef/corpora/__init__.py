"""Tags columns of batches, in data engines such as Ray Data."""

from allennlp_nef.corpora.tagger import Tagger

__all__ = ["Tagger"]
