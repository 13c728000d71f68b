"""What every format of bitexts reads into."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

Answers = Sequence[Mapping[str, Any]]
"""The answer of the predictor for each segment; `{"error": ...}` for one without a score."""


@dataclass(frozen=True)
class SegmentPair:
    """A sentence and its translation. Either may be empty."""

    name: str
    """A name for people, such as "line 3", "unit 7" or, if its state in XLIFF is final, "unit 7 (final)"."""
    place: str
    """Where it stands, such as "a.tsv:3"."""
    source: str
    target: str

    @property
    def missing(self) -> str | None:
        """The side that is blank, "source" or "translation"; None if there is none."""
        if not self.source.strip():
            return "source"
        return None if self.target.strip() else "translation"


@dataclass
class Bitext:
    """The segments of a file."""

    segments: list[SegmentPair]
    source_language: str | None = None
    target_language: str | None = None
    write: Callable[[Path, Answers], None] | None = None
    """Writes the file with the scores and errors of answers; None for formats without a place for them."""
