"""Registered dataset readers, one a format."""

from allennlp_nef.data.dataset_readers.wmt_word_qe import WmtWordQeReader

__all__ = ["WmtWordQeReader"]
