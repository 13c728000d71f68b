"""The record of a sentence, which every reader makes and every predictor and writer uses, and positions of words."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from typing import Any

from allennlp_nef.errors import DataFormatError, quote

Offsets = list[tuple[int, int]]
"""The start and end (exclusive) of each word in a text, in characters from 0."""
Split = Callable[[str], tuple[list[str], Offsets]]
"""Splits a text into words with their offsets."""


@dataclass(slots=True, eq=False)
class Sentence:
    """The words of a sentence, and what is known about them.

    AllenNLP's own taggers read `metadata["words"]`, so fields are also items.
    """

    words: list[str]
    tags: list[str | None] | None = None
    """The gold tags; None for a word without one, and for an unlabeled sentence."""
    text: str | None = None
    """The raw text; None if the words were given."""
    offsets: Offsets | None = None
    """The position of each word in the text."""
    path: str = ""
    """The file that contains the sentence."""
    lines: Sequence[int] = ()
    """The line of each word in the file, from 1."""

    def __getitem__(self, name: str) -> Any:
        return getattr(self, name)

    def located(self) -> tuple[str, Offsets]:
        """Returns the text, or the words joined by spaces, and the position of each word in it."""
        text = " ".join(self.words) if self.text is None else self.text
        return text, find_words(text, self.words) if self.offsets is None else self.offsets

    def to_json(self) -> dict[str, Any]:
        """Returns the known fields, for `allennlp evaluate --predictions-output-file`."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        values["lines"] = list(self.lines)
        return {name: value for name, value in values.items() if value}


def find_words(text: str, words: Sequence[str]) -> Offsets:
    """Returns the start and end (exclusive) of each word in a text, in characters from 0. Only whitespace may separate
    the words.

    # Raises

    `DataFormatError`: a word is not the next one in the text.
    """
    offsets, end = [], 0
    for word in words:
        start = text.find(word, end)
        if start < 0 or text[end:start].strip():
            following = quote(text[end:].lstrip())
            raise DataFormatError(
                f"words: expected the next word of {following}, got {quote(word)}"
            )
        end = start + len(word)
        offsets.append((start, end))
    return offsets
