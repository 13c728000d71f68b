"""Shared by all bitext formats: segments, compressed files, languages and score summaries."""

import gzip
import re
import zlib
from codecs import BOM_UTF8
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from allennlp_nef.errors import DataFormatError

Answer = Mapping[str, Any]
"""The predictor's answer for a segment; `{"error": ...}` if it has no score. `review` is a `Decision`."""
UNSCORED: Answer = {"error": "there is no model"}
# Language codes, each with another code for the language.
_ALIASES = dict(
    pair.split(":")
    for pair in [
        "fil:tl",
        "in:id",
        "iw:he",
        "ji:yi",
        "jw:jv",
        "mo:ro",
        "nb:no",
        "nn:no",
        "cmn:zh",
        "prs:fa",
        "arb:ar",
    ]
)


_NOT_IN_XML = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")


@dataclass(frozen=True, slots=True)
class SegmentPair:
    """A sentence and its translation. Either may be empty."""

    name: str
    """A readable name, such as "line 3", "unit 7" or, if its state in XLIFF is final, "unit 7 (final)"."""
    place: str
    """Its file and line, such as "a.tsv:3"."""
    source: str
    target: str
    source_language: str | None = None
    target_language: str | None = None
    error: str | None = None
    """Why the segment cannot be read, such as several translations into one language."""

    @property
    def problem(self) -> str | None:
        """Why the segment cannot be scored; None if it can."""
        if self.error:
            return self.error
        if not self.source.strip():
            return "there is no source"
        return None if self.target.strip() else "there is no translation"


Write = Callable[[Path, Iterable[Answer]], None]
"""Writes a copy of a file with the scores and errors of answers, one per segment."""


@dataclass
class Bitext:
    """The segments of a file."""

    segments: list[SegmentPair]
    source_language: str | None = None
    target_language: str | None = None
    write: Write | None = None
    """None for two text files, which cannot hold scores: see `tables.write_table`."""
    path: str = ""
    """The file; for two text files, the translations."""


def base_language(code: str) -> str:
    """Returns the language of a code without region and script, such as "no" for "nb-NO"."""
    language = re.split("[-_]", code.lower())[0]
    return _ALIASES.get(language, language)


def _opener(path: str | Path) -> Callable[..., IO[Any]]:
    """Returns the function that opens a file: `gzip.open` if its name ends in `.gz`."""
    return gzip.open if str(path).endswith(".gz") else open


def read_bytes(path: str, size: int = -1) -> bytes:
    """Returns the content of a file, or its first `size` bytes."""
    try:
        with _opener(path)(path, "rb") as file:
            return bytes(file.read(size))
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise DataFormatError(f"{path}: expected gzip data ({error})") from None


def write_bytes(path: Path, content: bytes) -> None:
    with _opener(path)(path, "wb") as file:
        file.write(content)


def open_text(path: Path, original: str | None = None) -> IO[Any]:
    """Opens a UTF-8 file for writing, with a byte order mark if the original has one. Line endings are not
    translated."""
    has_mark = original is not None and read_bytes(original, 3) == BOM_UTF8
    return _opener(path)(path, "wt", encoding="utf-8-sig" if has_mark else "utf-8", newline="")


def summary(answer: Answer) -> str:
    """
    Summarizes an answer, such as "predicted HTER 0.42; major error (91%) at 25-30: Tasse"; may be empty.

    Characters that XML does not allow become spaces.
    """
    names = {"hter": "predicted HTER", "expected_bad_share": "expected share of BAD words"}
    parts = [f"{names[name]} {answer[name]:.2f}" for name in names if name in answer]
    if review := answer.get("review"):
        made = {"accept": "accepted", "reject": "rejected", None: "no decision"}[review.decision]
        parts.insert(0, f"{made}: {review.note}" if review.note else made)
    for span in answer.get("spans", ()):
        place = f"{span['start']}-{span['end']}: {span['text'] or '(missing)'}"
        kind = f"{span['severity']} error" if "severity" in span else "error"
        probability = f" ({span['probability']:.0%})" if "probability" in span else ""
        parts.append(f"{kind}{probability} at {place}")
    parts += [f"check: {finding['message']}" for finding in answer.get("checks", ())]
    return _NOT_IN_XML.sub(" ", "; ".join(parts))
