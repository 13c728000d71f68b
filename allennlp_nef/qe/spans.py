"""Error spans: their file formats, and conversion between spans and word tags.

A span is the start and end (exclusive) of an error in a translation, in characters (Unicode code points) from 0,
and its severity. An empty span marks an omission before the word to its right, or at the end of the text. Two kinds of
files are read:

- WMT23 tables (see `layouts`): starts, ends and severities, each separated by blanks; `-1`, `-1` and `no-error` for a
  sentence without errors. Only the development data contain the source. The sentences of each language pair are counted
  from 0.
- JSON lines of error span annotation (ESA, WMT24), one translation per line: `pair`, `doc`, `segment`, `system`,
  `domain`, `source`, `target`, `spans` (`start`, `end`, `severity`), `omission` (the severity of something missing,
  which has no place in the text, or null), `score` (0 to 100), `protocol`. The severity `critical` counts as major.
  Spans that are `undecided` are skipped: annotators delete a span by setting this state.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from allennlp_nef.data.files import find_words, is_json_lines, parse_lines, parse_object
from allennlp_nef.errors import DataFormatError, quote
from allennlp_nef.qe.layouts import BAD, EOS, FIRST_NAMES, OK, SEVERITIES, read_table

NO_ERROR = "no-error"
_UNDECIDED = "undecided"
Offsets = Sequence[tuple[int, int]]


class SpanOutsideTextError(ValueError):
    """A span is not within its text."""


class ErrorSpan(NamedTuple):
    """An error in a translation."""

    start: int
    end: int
    severity: str


class PredictedSpan(NamedTuple):
    """An error that a model found in a translation."""

    start: int
    end: int
    text: str
    severity: str | None
    """None if the model does not predict it."""
    probability: float
    """The mean of the probabilities of BAD of its words."""

    def to_json(self) -> dict[str, Any]:
        """Returns the known fields."""
        return {name: value for name, value in self._asdict().items() if value is not None}


@dataclass
class Segment:
    """A translation and its annotation. Fields that a file does not contain are empty or None."""

    target: str
    source: str | None = None
    spans: list[ErrorSpan] | None = None
    omission: str | None = None
    """The severity of an omission that has no place in the text."""
    score: float | None = None
    """A number from 0 to 100 for the protocol ESA."""
    pair: str = ""
    """The languages, such as `en-de`."""
    document: str = ""
    number: str = ""
    """The number of the segment in its document or file."""
    system: str = ""
    domain: str = ""
    protocol: str = "ESA"
    line: int = 0
    """The line of the file, from 1."""
    is_valid: bool = True
    """False if a span is not within the text. Such a segment has no spans."""


def read_segments(
    path: str, language_pair: str | None = None, allow_invalid: bool = False
) -> Iterator[Segment]:
    """Yields the translations in a `.jsonl` file in ESA format, or in a WMT23 table.

    # Parameters

    language_pair : `str`, optional (default = `None`, all)
        Skips translations of other pairs. Those whose pair is unknown are kept.
    allow_invalid : `bool`, optional (default = `False`)
        Whether spans can lie outside their texts; see `Segment.is_valid`.

    # Raises

    `DataFormatError`: a field is missing or wrong, or a span is not within its text.
    """
    if not is_json_lines(path):
        yield from _read_table(path, language_pair, allow_invalid)
        return
    for number, segment in parse_lines(
        path, lambda line: segment_of(parse_object(line), allow_invalid)
    ):
        segment.line = number
        if language_pair is None or segment.pair in ("", language_pair):
            yield segment


def _read_table(path: str, language_pair: str | None, allow_invalid: bool) -> Iterator[Segment]:
    numbers: Counter[str] = Counter()
    for line, cells in read_table(path, (7, 9), language_pair=language_pair).rows:
        *names, text = cells[:-3]
        if len(cells) == 7 and names[2] != str(numbers[names[0]]):
            raise DataFormatError(
                f"{path}:{line}: expected sentence {numbers[names[0]]}, got {quote(names[2])}"
            )
        numbers[names[0]] += 1
        spans = None
        try:
            spans = _spans_of(text, cells[-3:])
        except ValueError as error:
            if not (allow_invalid and isinstance(error, SpanOutsideTextError)):
                raise DataFormatError(f"{path}:{line}: {error}") from error
        if len(cells) == 7:
            segment = Segment(text, None, spans, pair=names[0])
            segment.system, segment.number = names[1:]
        else:
            segment = Segment(text, names[-1], spans)
            segment.system, segment.document, segment.number = names[:3]
        segment.line, segment.is_valid = line, spans is not None
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


def segment_of(value: dict[str, Any], allow_invalid: bool = False) -> Segment:
    """Returns the segment of a JSON object. Raises `ValueError`."""
    source, target = (_field(value, name, str) for name in ("source", "target"))
    spans, is_valid = None, True
    if value.get("spans") is not None:
        try:
            spans = [
                checked_span(_field(span, "start", int), _field(span, "end", int), severity, target)
                for span in _field(value, "spans", list)
                if (severity := _field(span, "severity", str)) != _UNDECIDED
            ]
        except SpanOutsideTextError:
            if not allow_invalid:
                raise
            is_valid = False
    elif value.get("tags") is not None:
        raise ValueError(
            "expected spans (or, without severities, tags in all objects), got only tags"
        )
    omission, score = value.get("omission"), value.get("score")
    if omission is not None:
        omission = None if omission == _UNDECIDED else checked_span(0, 0, omission, "").severity
    if score is not None and type(score) not in (int, float):
        raise ValueError(f"expected a score, a number or null, got {quote(score)}")
    pair, document, number, system, domain, protocol = (
        str(value.get(name) or "")
        for name in ("pair", "doc", "segment", "system", "domain", "protocol")
    )
    return Segment(
        *(target, source, spans, omission, score, pair, document, number, system, domain),
        protocol=protocol or "ESA",
        is_valid=is_valid,
    )


def _field(value: Any, name: str, kind: type) -> Any:
    """Returns a field of a JSON object. Raises `ValueError` if the field is missing or has another type."""
    if not isinstance(value, dict) or type(value.get(name)) is not kind:
        raise ValueError(f"expected an object with {name} ({kind.__name__}), got {quote(value)}")
    return value[name]


def checked_span(start: int, end: int, severity: Any, text: str) -> ErrorSpan:
    """Returns the span of an error in a text. Raises `ValueError` if its severity is unknown, and
    `SpanOutsideTextError` if it is not within the text.

    A span that ends one character after the text is cut: the development data of WMT23 contain one.
    """
    severity = SEVERITIES[-1] if severity == "critical" else severity
    if severity not in SEVERITIES:
        raise ValueError(f"expected the severity {' or '.join(SEVERITIES)}, got {quote(severity)}")
    if end == len(text) + 1:
        end -= 1
    if not 0 <= start <= end <= len(text):
        raise SpanOutsideTextError(
            f"expected a span within {len(text)} characters, got {start} to {end}"
        )
    return ErrorSpan(start, end, severity)


def project_spans(
    text: str, spans: Sequence[ErrorSpan], offsets: Offsets, severities: bool = False
) -> list[str]:
    """Converts error spans to tags for the words of a text and for `<EOS>`: n+1 tags for n words, as in WMT22 and 23.

    A word is BAD if a span covers one of its characters. A span that covers no word marks an omission, so the next word
    is BAD.

    # Parameters

    offsets : `Sequence[tuple[int, int]]`
        The start and end of each word, without `<EOS>`.
    severities : `bool`, optional (default = `False`)
        Whether the tags are OK and severities instead of OK and BAD. If two errors overlap, the more severe one wins.
    """
    places = [*offsets, (len(text), len(text) + 1)]
    ranks = [0] * len(places)
    for start, end, severity in spans:
        covered = [i for i, place in enumerate(places) if max(start, place[0]) < min(end, place[1])]
        covered = covered or [next(i for i, place in enumerate(places) if place[0] >= end)]
        for i in covered:
            ranks[i] = max(ranks[i], 1 + SEVERITIES.index(severity))
    names = (OK, *(SEVERITIES if severities else (BAD, BAD)))
    return [names[rank] for rank in ranks]


def token_offsets(metadata: Mapping[str, Any]) -> tuple[str, list[tuple[int, int]]]:
    """Returns the text of an instance's tagged words, and the start and end of each. Without text in the metadata, it
    is the words joined by spaces. An `<EOS>` that is not in the text is empty, at its end.
    """
    words = metadata["words"]
    text = metadata.get("text")
    text = " ".join(words) if text is None else text
    offsets = metadata.get("offsets")
    if offsets is None:
        lacks_eos = words[-1:] == [EOS] and text.split()[-1:] != [EOS]
        offsets = find_words(text, words[:-1] if lacks_eos else words)
    return text, [*offsets, *[(len(text), len(text))] * (len(words) - len(offsets))]


def join_bad_words(
    text: str, offsets: Offsets, tags: Sequence[str], probabilities: Sequence[float]
) -> list[PredictedSpan]:
    """Converts word tags to error spans. Adjacent words with the same tag become one span, including the text between
    them. A word without characters, such as `<EOS>`, becomes a separate empty span.

    # Parameters

    text, offsets
        See `token_offsets`.
    tags : `Sequence[str]`
        The tag of each word: OK, BAD or a severity.
    probabilities : `Sequence[float]`
        The probability of BAD of each word.
    """
    groups: list[list[int]] = []
    for i, tag in enumerate(tags):
        if tag == OK:
            continue
        if i > 0 and tags[i - 1] == tag and offsets[i][0] < offsets[i][1]:
            groups[-1].append(i)
        else:
            groups.append([i])
    spans = []
    for group in groups:
        start, end = offsets[group[0]][0], offsets[group[-1]][1]
        probability = sum(probabilities[i] for i in group) / len(group)
        severity = None if tags[group[0]] == BAD else tags[group[0]]
        spans.append(PredictedSpan(start, end, text[start:end], severity, probability))
    return spans
