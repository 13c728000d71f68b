"""Files of error spans:

- WMT23 tables (see `layouts`): starts, ends and severities, each separated by blanks; `-1`, `-1` and `no-error` for a
  sentence without errors. Only the development data contain the source. The sentences of each language pair are counted
  from 0.
- JSON lines of error span annotation (ESA, WMT24), one translation per line: `pair`, `doc`, `segment`, `system`,
  `domain`, `source`, `target`, `spans` (`start`, `end`, `severity`), `omission` (the severity of something missing,
  which has no place in the text, or null), `score` (0 to 100), `protocol`. The severity `critical` counts as major.
  Spans that are `undecided` are skipped: annotators delete a span by setting this state.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from allennlp_nef.data.files import is_json_lines, read_lines, read_objects
from allennlp_nef.data.sentence import Sentence
from allennlp_nef.errors import DataFormatError, quote
from allennlp_nef.qe.layouts import FIRST_NAMES, read_table
from allennlp_nef.qe.spans import ErrorSpan, SpanOutsideTextError, checked_span
from allennlp_nef.qe.translated_sentence import TranslatedSentence

NO_ERROR = "no-error"
_UNDECIDED = "undecided"


def read_segments(
    path: str, language_pair: str | None = None, allow_invalid: bool = False
) -> Iterator[TranslatedSentence]:
    """Yields the translations in a `.jsonl` file in ESA format, or in a WMT23 table, as texts.

    # Parameters

    language_pair : `str`, optional (default = `None`, all)
        Skips translations of other pairs. Those whose pair is unknown are kept.
    allow_invalid : `bool`, optional (default = `False`)
        Whether spans can lie outside their texts: such a sentence has an `error`, and no spans.

    # Raises

    `DataFormatError`: a field is missing or wrong, or a span is not within its text.
    """
    if is_json_lines(path):
        yield from segments_in(path, read_objects(path), language_pair, allow_invalid)
    else:
        yield from read_table_of_spans(path, language_pair, allow_invalid)


def segments_in(
    path: str,
    objects: Iterable[tuple[int, dict[str, Any]]],
    language_pair: str | None = None,
    allow_invalid: bool = False,
) -> Iterator[TranslatedSentence]:
    """Yields the translations in the numbered JSON objects of a file; see `read_segments`."""
    for number, value in objects:
        try:
            segment = segment_of(value, allow_invalid)
        except ValueError as error:
            raise DataFormatError(f"{path}:{number}: {error}") from None
        for side in (segment.source, segment.target):
            side.path, side.lines = path, [number]
        pair = f"{segment.source_language}-{segment.target_language}"
        if language_pair is None or segment.source_language is None or pair == language_pair:
            yield segment


def read_table_of_spans(
    path: str, language_pair: str | None = None, allow_invalid: bool = False
) -> Iterator[TranslatedSentence]:
    """Yields the translations in a WMT23 table; see `read_segments`."""
    numbers: Counter[str] = Counter()
    for line, cells in read_table(path, read_lines(path), (7, 9), language_pair).rows:
        *names, text = cells[:-3]
        if len(cells) == 7 and names[2] != str(numbers[names[0]]):
            raise DataFormatError(
                f"{path}:{line}: expected sentence {numbers[names[0]]}, got {quote(names[2])}"
            )
        numbers[names[0]] += 1
        spans, reason = None, None
        try:
            spans = _spans_of(text, cells[-3:])
        except ValueError as error:
            if not (allow_invalid and isinstance(error, SpanOutsideTextError)):
                raise DataFormatError(f"{path}:{line}: {error}") from error
            reason = str(error)
        sides = (None if len(cells) == 7 else names.pop(), text)
        source, target = (Sentence([], text=each, path=path, lines=[line]) for each in sides)
        segment = TranslatedSentence(source, target, spans=spans, error=reason)
        if len(cells) == 7:
            pair, segment.system, segment.name = names
            segment.source_language, _, segment.target_language = pair.partition("-")
        else:
            segment.system, segment.document, segment.name = names[:3]
        yield segment


def _spans_of(text: str, cells: Sequence[str]) -> list[ErrorSpan]:
    """Returns the spans in three cells of a table. Raises `ValueError`."""
    columns = [cell.split() for cell in cells]
    if columns == [["-1"], ["-1"], [NO_ERROR]]:
        return []
    if not 0 < len(columns[0]) == len(columns[1]) == len(columns[2]):
        lengths = ", ".join(str(len(column)) for column in columns)
        raise ValueError(f"expected as many starts as ends and severities, got {lengths}")
    if not all(map(str.isdecimal, columns[0] + columns[1])):
        raise ValueError(
            f"expected starts and ends, or column names after {' or '.join(FIRST_NAMES)}, got {quote(cells)}"
        )
    return [checked_span(int(a), int(b), severity, text) for a, b, severity in zip(*columns)]


def segment_of(value: dict[str, Any], allow_invalid: bool = False) -> TranslatedSentence:
    """Returns the translation in a JSON object. Raises `ValueError`."""
    source, target = (_field(value, name, str) for name in ("source", "target"))
    segment = TranslatedSentence(Sentence([], text=source), Sentence([], text=target))
    if value.get("spans") is not None:
        try:
            segment.spans = [
                checked_span(_field(span, "start", int), _field(span, "end", int), severity, target)
                for span in _field(value, "spans", list)
                if (severity := _field(span, "severity", str)) != _UNDECIDED
            ]
        except SpanOutsideTextError as error:
            if not allow_invalid:
                raise
            segment.error = str(error)
    elif value.get("tags") is not None:
        raise ValueError(
            "expected spans (or, without severities, tags in all objects), got only tags"
        )
    omission, segment.score = value.get("omission"), value.get("score")
    if omission not in (None, _UNDECIDED):
        segment.omission = checked_span(0, 0, omission, "").severity
    if segment.score is not None and type(segment.score) not in (int, float):
        raise ValueError(f"expected a score, a number or null, got {quote(segment.score)}")
    pair, segment.document, segment.name, segment.system, segment.domain, protocol = (
        str(value.get(name) or "")
        for name in ("pair", "doc", "segment", "system", "domain", "protocol")
    )
    segment.protocol = protocol or segment.protocol
    if pair:
        segment.source_language, _, segment.target_language = pair.partition("-")
    return segment


def _field(value: Any, name: str, kind: type) -> Any:
    """Returns a field of a JSON object. Raises `ValueError` if the field is missing or has another type."""
    if not isinstance(value, dict) or type(value.get(name)) is not kind:
        raise ValueError(f"expected an object with {name} ({kind.__name__}), got {quote(value)}")
    return value[name]
