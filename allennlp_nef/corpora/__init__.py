"""Tags corpora: `Tagger` (columns in, columns out) for data engines such as Ray Data, and the job of `tag-corpus`."""

from allennlp_nef.corpora.tagger import Tagger

__all__ = ["Tagger"]
