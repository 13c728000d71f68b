"""The record of a sentence, which every reader makes and every predictor and writer uses."""

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any

Offsets = Sequence[tuple[int, int]]
"""The start and end (exclusive) of each word in a text, in characters from 0."""


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
        if self.text is not None and self.offsets is not None:
            return self.text, self.offsets
        return " ".join(self.words), offsets_of(self.words)

    def to_json(self) -> dict[str, Any]:
        """Returns the known fields, for `allennlp evaluate --predictions-output-file`."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        values["lines"] = list(self.lines)
        return {name: value for name, value in values.items() if value}


def offsets_of(words: Sequence[str]) -> Offsets:
    """Returns the position of each word in the words joined by spaces."""
    offsets, end = [], -1
    for word in words:
        start = end + 1
        end = start + len(word)
        offsets.append((start, end))
    return offsets
