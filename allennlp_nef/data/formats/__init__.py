"""Parsing and writing of data files line by line, without AllenNLP."""

from allennlp_nef.data.formats.wmt_word_qe import (
    DataFormatError,
    WordQeExample,
    check_alignments,
    check_tags,
    format_submission,
    format_tags,
    parse_alignments,
    read_examples,
)

__all__ = [
    "DataFormatError",
    "WordQeExample",
    "check_alignments",
    "check_tags",
    "format_submission",
    "format_tags",
    "parse_alignments",
    "read_examples",
]
