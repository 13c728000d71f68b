"""Registered dataset readers, one a format."""

from allennlp_nef.compat import require_allennlp

require_allennlp()

from allennlp_nef.data.dataset_readers.conll_tags import ConllTagsReader
from allennlp_nef.data.dataset_readers.conllu import ConlluTagsReader, ConlluTreesReader
from allennlp_nef.data.dataset_readers.labeled_sentences import (
    LabeledSentencesReader,
    LabeledTreesReader,
)
from allennlp_nef.data.dataset_readers.sentence_pairs import SentencePairsReader
from allennlp_nef.data.dataset_readers.sentence_reader import SentenceReader
from allennlp_nef.data.dataset_readers.tagging_reader import (
    Prediction,
    TaggingReader,
    UntaggedReader,
    Writer,
)
from allennlp_nef.data.dataset_readers.wmt_word_qe import WmtWordQeReader

__all__ = [
    "ConllTagsReader",
    "ConlluTagsReader",
    "ConlluTreesReader",
    "LabeledSentencesReader",
    "LabeledTreesReader",
    "Prediction",
    "SentencePairsReader",
    "SentenceReader",
    "TaggingReader",
    "UntaggedReader",
    "WmtWordQeReader",
    "Writer",
]
