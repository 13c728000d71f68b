"""Shared by all bitext formats: segments, compressed files, and what a note says about a segment."""

import gzip
import re
import zlib
from codecs import BOM_UTF8
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from allennlp_nef.data.sentence import Sentence
from allennlp_nef.errors import DataFormatError
from allennlp_nef.qe.answers import SCORES
from allennlp_nef.qe.layouts import SEVERITIES
from allennlp_nef.qe.translated_sentence import TranslatedSentence

Answer = Mapping[str, Any]
"""The predictor's answer for a segment; `{"error": ...}` if it cannot be scored."""
Write = Callable[[Path, Iterable[Answer | None]], None]
"""Writes a copy of a file with the scores and errors of answers, one per segment, and with the decisions in the
segments. None instead of an answer keeps the scores that are in the file."""
UNKNOWN_SEVERITY = SEVERITIES[-1]
"""The severity of an error that was predicted or marked without one."""
_NO_WORDS: list[str] = []  # of segments: there can be millions, so they share it
_NOT_IN_XML = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")


def make_segment(
    name: str, path: str, line: int, source: str, target: str, **fields: Any
) -> TranslatedSentence:
    """
    Returns a segment of a bitext, with an `error` if there is nothing to score.

    # Parameters

    name : `str`
        A readable name, such as "line 3", "unit 7" or, if its state in XLIFF is final, "unit 7 (final)".
    path, line
        The place of the translation.
    source, target : `str`
        The texts. Either may be empty.
    **fields
        Other fields of `TranslatedSentence`.
    """
    made = TranslatedSentence(
        Sentence(_NO_WORDS, text=source),
        Sentence(_NO_WORDS, text=target, path=path, lines=(line,)),
        tokens=_NO_WORDS,
        name=name,
        **fields,
    )
    if not (source.strip() and target.strip()):
        made.error = made.error or f"empty {'translation' if source.strip() else 'source'}"
    return made


@dataclass
class Bitext:
    """The segments of a file."""

    segments: list[TranslatedSentence]
    source_language: str | None = None
    target_language: str | None = None
    write: Write | None = None
    """None for two text files, which cannot hold scores: see `tables.write_table`."""
    path: str = ""
    """The file; for two text files, the translations."""


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


def is_reviewed(segment: TranslatedSentence) -> bool:
    """Returns whether a segment has a reviewer's decision, note or errors."""
    return bool(segment.decision or segment.note or segment.spans is not None)


def decision_of(segments: Iterable[TranslatedSentence]) -> str | None:
    """Returns the decision about a unit: "reject" if any of its segments is rejected, "accept" if all are accepted."""
    decisions = {segment.decision for segment in segments}
    return "reject" if "reject" in decisions else None if None in decisions else "accept"


def errors_of(segment: TranslatedSentence, answer: Answer | None) -> list[dict[str, Any]] | None:
    """Returns the errors that a reviewer marked in a segment, or else the predicted ones; None if they are unknown."""
    if segment.spans is None:
        return None if answer is None else answer.get("spans")
    text = segment.target.text or ""
    return [{**each._asdict(), "text": text[each.start : each.end]} for each in segment.spans]


def note_of(segment: TranslatedSentence, answer: Answer | None) -> str:
    """
    Returns a segment's decision, scores and errors in words, such as "accepted; predicted HTER 0.42; major error (91%)
    at 25-30: Tasse"; may be empty.

    Characters that XML does not allow become spaces.
    """
    fields = answer or {}
    parts = []
    if is_reviewed(segment):
        made = {"accept": "accepted", "reject": "rejected", None: "no decision"}[segment.decision]
        parts.append(f"{made}: {segment.note}" if segment.note else made)
    parts += [shown.format(fields[name]) for name, shown in SCORES.items() if name in fields]
    for span in errors_of(segment, answer) or ():
        place = f"{span['start']}-{span['end']}: {span['text'] or '(missing)'}"
        kind = f"{span['severity']} error" if "severity" in span else "error"
        probability = f" ({span['probability']:.0%})" if "probability" in span else ""
        parts.append(f"{kind}{probability} at {place}")
    parts += [f"check: {finding['message']}" for finding in fields.get("checks", ())]
    return _NOT_IN_XML.sub(" ", "; ".join(parts))
