"""Tags corpora: columns of a batch in, columns out, on engines such as Ray Data and Spark, or files in parts."""

from allennlp_nef.compat import require_allennlp

require_allennlp()

from allennlp_nef.corpora.tagger import Tagger

__all__ = ["Tagger"]
