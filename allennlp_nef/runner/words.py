from collections.abc import Sequence
from typing import Any

import numpy

from allennlp_nef.data.affixes import CASES, case_of

UNKNOWN = 1
MAX_WORDS = 2**18
"""Whose indices are cached."""
PADDING_SYMBOL, UNKNOWN_SYMBOL = "@@PADDING@@", "@@UNKNOWN@@"


class WordIndices:
    """The indices of words that an exported tagger takes: the columns of each embedder, one after the other.

    # Parameters

    embedders : `list[dict[str, Any]]`
        One of the lists of `indices` in `tagger.json`.
    """

    def __init__(self, embedders: list[dict[str, Any]]) -> None:
        self._embedders = embedders
        self._rows: dict[str, list[int]] = {}

    def padded(self, sentences: Sequence[Sequence[str]]) -> numpy.ndarray:
        """Indices (sentences, tokens, columns), 0 in padding."""
        rows = [[self._row(word) for word in words] for words in sentences]
        indices = numpy.zeros((len(rows), max(map(len, rows)), len(rows[0][0])), dtype=numpy.int64)
        for sentence, each in zip(indices, rows):
            sentence[: len(each)] = each
        return indices

    def _row(self, word: str) -> list[int]:
        row = self._rows.get(word)
        if row is None:
            if len(self._rows) > MAX_WORDS:
                self._rows.clear()
            text = UNKNOWN_SYMBOL if word == PADDING_SYMBOL else word
            row = [index for each in self._embedders for index in _indices(each, text)]
            self._rows[word] = row
        return row


def _indices(embedder: dict[str, Any], word: str) -> list[int]:
    if "words" in embedder:
        text = word.lower() if embedder["lowercase"] else word
        return [embedder["words"].get(text, UNKNOWN)]
    prefixes = [
        table.get(word[:length], UNKNOWN) for length, table in enumerate(embedder["prefixes"], 1)
    ]
    suffixes = [
        table.get(word[-length:], UNKNOWN) for length, table in enumerate(embedder["suffixes"], 1)
    ]
    case = [CASES.index(case_of(word)) + 1] if embedder["case"] else []
    return [*prefixes, *suffixes, *case]
