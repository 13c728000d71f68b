"""File formats, fields, token indexers and dataset readers."""

from allennlp_nef.data import token_indexers  # noqa: F401
from allennlp_nef.data.dataset_readers import ConllTagsReader, ConlluTagsReader, WmtWordQeReader

__all__ = ["ConllTagsReader", "ConlluTagsReader", "WmtWordQeReader"]
