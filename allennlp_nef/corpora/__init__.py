"""Tags corpora: `Tagger`, columns in and columns out for engines such as Ray Data, and the job of `tag-corpus`."""

from allennlp_nef.corpora.tagger import Tagger

__all__ = ["Tagger"]
