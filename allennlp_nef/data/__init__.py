"""File formats, fields and dataset readers."""

from allennlp_nef.data.dataset_readers import WmtWordQeReader

__all__ = ["WmtWordQeReader"]
