"""Tags corpora: columns of a batch in, columns out, on engines such as Ray Data and Spark, or files in parts."""

from allennlp_nef import _stack  # noqa: F401  # first: says what to install

# isort: split
from allennlp_nef.bulk.tagger import Tagger

__all__ = ["Tagger"]
