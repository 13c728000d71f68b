"""Texts and the places of their words, in characters from 0. The end of a word is the character after it."""

import re
from collections.abc import Callable, Sequence
from typing import NamedTuple

from allennlp_nef.errors import DataFormatError, quote


class SplitText(NamedTuple):
    """A text and its words."""

    text: str
    words: list[str]
    offsets: list[tuple[int, int]]
    """The start and the end of each word."""


Split = Callable[[str], SplitText]


def split_on_whitespace(text: str) -> SplitText:
    """The words of a text that `str.split` gives."""
    matches = list(re.finditer(r"\S+", text))
    return SplitText(
        text, [match.group() for match in matches], [match.span() for match in matches]
    )


def find_words(text: str, words: Sequence[str]) -> list[tuple[int, int]]:
    """The start and the end of each word of a text. Raises `DataFormatError` for a word that does not follow in it."""
    offsets, end = [], 0
    for number, word in enumerate(words):
        start = text.find(word, end)
        if start < 0 or text[end:start].strip():
            raise DataFormatError(
                f"words: expected a word that the text has next, {quote(text[end:].strip())}, "
                f"got {quote(word)} as word {number}"
            )
        end = start + len(word)
        offsets.append((start, end))
    return offsets
