"""
Error spans of WMT23: the start, the end and the severity of each error in a translation, in characters.

A row has the language pair, the system, the sentence, the text, and the starts, ends and severities of its spans, each
separated by blanks; `-1`, `-1` and `no-error` where there is none. Submissions begin with three header lines, gold
files with the names of the columns. The development data have other columns, with the source among them. A span ends
before the character of its end. An empty one, with its start as its end, is an omission: it counts as one place, and
the place after the last character is there for omissions at the end.
"""

import logging
from collections.abc import Collection, Iterable, Sequence
from typing import NamedTuple

from allennlp_nef.data.formats.characters import SplitText, find_words
from allennlp_nef.data.formats.text_files import is_whole_number
from allennlp_nef.data.formats.wmt_layouts import SPAN_LAYOUTS, Row, SystemInfo, read_table
from allennlp_nef.errors import DataFormatError, OnError, quote, raise_error

logger = logging.getLogger(__name__)

SEVERITIES = ("minor", "major")
"""From the lighter to the more severe."""
NO_ERROR = "no-error"
BOTH = "minor+major"
GOLD_NAMES = "\t".join(SPAN_LAYOUTS[0].columns) + "\n"
"""The first line of a gold file."""


def has_severities(labels: Iterable[str]) -> bool:
    """Whether tags are of word-level quality estimation with severities in place of BAD."""
    return any(label in SEVERITIES for label in labels)


def is_word_qe(labels: Collection[str]) -> bool:
    """Whether the labels are OK and BAD, or OK and severities."""
    others = set(labels) - {"OK"}
    return "OK" in labels and (others == {"BAD"} or (bool(others) and others <= {*SEVERITIES}))


class ErrorSpan(NamedTuple):
    """An error in a translation."""

    start: int
    """In characters, from 0."""
    end: int
    """The character after it; the start, for an omission."""
    severity: str
    """One of `SEVERITIES`."""


class PredictedSpan(NamedTuple):
    """An error that a model found in a translation."""

    start: int
    """In characters of the text, from 0."""
    end: int
    """The character after it; the start, for an omission."""
    text: str
    severity: str
    probability: float
    """The mean of the probabilities of BAD of its words."""


class SpannedText(NamedTuple):
    """A translation and its errors."""

    text: str
    spans: list[ErrorSpan]
    line: int
    source: str | None = None
    """In the development data."""


def read_error_spans(
    path: str, clip_spans: bool = False, encoding: str = "utf-8"
) -> tuple[SystemInfo, list[SpannedText]]:
    """
    The sentences of a file in one of the `SPAN_LAYOUTS`, and its system.

    # Parameters

    clip_spans : `bool`, optional (default = `False`)
        Whether a span outside of its text is cut, and one whose start is after its end left out, each with a warning.

    # Raises

    `DataFormatError`: that of `read_table`, sentences out of order, another language pair or system than in the first
    row, different numbers of starts, ends and severities, an unknown severity, a span outside of its text or with its
    start after its end.
    """
    system, sentences = read_spanned(path, clip_spans, encoding)
    return system, [sentence for sentence in sentences if sentence is not None]


def read_spanned(
    path: str,
    clip_spans: bool = False,
    encoding: str = "utf-8",
    on_error: OnError = raise_error,
) -> tuple[SystemInfo, list[SpannedText | None]]:
    """As `read_error_spans`, but an error in the spans of a sentence goes to `on_error`, and the sentence is None."""
    table = read_table(path, SPAN_LAYOUTS, encoding)

    def read(column: int) -> list[SpannedText | None]:
        sentences: list[SpannedText | None] = []
        for row in table.rows:
            try:
                sentences.append(_spanned(path, row, column, clip_spans))
            except DataFormatError as error:
                on_error(error)
                sentences.append(None)
        return sentences

    if "source" in table.layout.columns:
        return SystemInfo("gold"), read(5)
    table.check_order([0, 1])
    return table.system(), read(3)


def format_error_spans(
    language_pair: str, system: str, sentence: int, text: str, spans: Sequence[ErrorSpan]
) -> str:
    """
    A row of a submission or of a gold file (system "gold"), with its line end. A submission begins with the three lines
    of `format_header`, a gold file with `GOLD_NAMES`.

    # Raises

    `DataFormatError`: a tab or a line end in the names or the text, an unknown severity, a span outside of the text or
    with its start after its end.
    """
    for name, value in (("language_pair", language_pair), ("system", system), ("text", text)):
        if any(character in value for character in "\t\r\n"):
            raise DataFormatError(f"{name}: expected no tabs and line ends, got {quote(value)}")
    for span in spans:
        _check(span, text, "spans")
    columns = zip(*spans) if spans else ([-1], [-1], [NO_ERROR])
    cells = [language_pair, system, str(sentence), text]
    return "\t".join(cells + [" ".join(map(str, column)) for column in columns]) + "\n"


def severities_of(text: str, spans: Sequence[ErrorSpan]) -> list[str]:
    """
    The severity at each place of a text: one of `SEVERITIES`, `NO_ERROR`, or `BOTH` where spans overlap.

    As in the official script, the places are those of the text without the blanks around it, and one more. A span in
    the blanks after it stands at the last place.
    """
    length = len(text.strip())
    places = [NO_ERROR] * (length + 1)
    for start, end, severity in spans:
        start, end = min(start, length), min(end, length)
        for place in [start] if start == end else range(start, end):
            places[place] = severity if places[place] in (NO_ERROR, severity) else BOTH
    return places


def project_spans(
    text: str, spans: Sequence[ErrorSpan], words: Sequence[str], severities: bool = False
) -> list[str]:
    """
    OK or BAD for each word of a text, and for `<EOS>` after them: n+1 tags for n words, as in WMT22 and 23.

    A word is BAD if a span covers one of its characters. A span that is empty or covers no word stands for an omission:
    the word that begins after it is BAD.

    # Parameters

    words : `Sequence[str]`
        The text cut into words, without `<EOS>`.
    severities : `bool`, optional (default = `False`)
        Whether tags are OK and the severities, in place of OK and BAD. A word with a minor and a major error is major.

    # Raises

    `DataFormatError`: a word that does not follow in the text, an unknown severity, a span outside of the text or with
    its start after its end.
    """
    for span in spans:
        _check(span, text, "spans")
    return project_onto_places(text, spans, find_words(text, words), severities)


def project_onto_places(
    text: str,
    spans: Sequence[ErrorSpan],
    offsets: Sequence[tuple[int, int]],
    severities: bool = False,
) -> list[str]:
    """`project_spans` for words of which the start and the end are known."""
    places = [*offsets, (len(text), len(text) + 1)]
    ranks = [0] * len(places)
    for span in spans:
        rank = 1 + SEVERITIES.index(span.severity)
        covered = []
        if span.start < span.end:
            covered = [i for i, (a, b) in enumerate(places) if a < span.end and span.start < b]
        if not covered:
            covered = [next(i for i, (start, _) in enumerate(places) if start >= span.end)]
        for i in covered:
            ranks[i] = max(ranks[i], rank)
    names = ("OK", *(SEVERITIES if severities else ("BAD", "BAD")))
    return [names[rank] for rank in ranks]


def join_bad_words(
    split: SplitText, severities: Sequence[str | None], probabilities: Sequence[float]
) -> list[PredictedSpan]:
    """
    The error spans of tagged words: adjacent BAD words of the same severity are one span, with what is between them.

    A word without characters, such as `<EOS>`, is an empty span, and joined with no other.

    # Parameters

    split : `SplitText`
    severities : `Sequence[str | None]`
        That of each word; None for one that is OK.
    probabilities : `Sequence[float]`
        Of BAD, of each word.
    """
    groups: list[list[int]] = []
    for i, (severity, (start, end)) in enumerate(zip(severities, split.offsets)):
        if severity is None:
            continue
        last = groups[-1][-1] if groups and start < end else None
        if last is not None and last == i - 1 and severities[last] == severity:
            groups[-1].append(i)
        else:
            groups.append([i])
    spans = []
    for group in groups:
        start, end = split.offsets[group[0]][0], split.offsets[group[-1]][1]
        probability = sum(probabilities[i] for i in group) / len(group)
        severity = severities[group[0]] or ""
        spans.append(PredictedSpan(start, end, split.text[start:end], severity, probability))
    return spans


def _spanned(path: str, row: Row, column: int, clip_spans: bool) -> SpannedText:
    """The sentence of a row whose text is in a column, with the columns of its spans after it."""
    location = f"{path}:{row.line}"
    text = row.cells[column]
    source = row.cells[column - 1] if column == 5 else None
    starts, ends, severities = (cell.split() for cell in row.cells[column + 1 :])
    if not len(starts) == len(ends) == len(severities) > 0:
        raise DataFormatError(
            f"{location}: expected as many starts as ends and severities, "
            f"got {len(starts)}, {len(ends)} and {len(severities)}"
        )
    if (starts, ends, severities) == (["-1"], ["-1"], [NO_ERROR]):
        return SpannedText(text, [], row.line, source)
    spans = []
    for start, end, severity in zip(starts, ends, severities):
        if not (is_whole_number(start) and is_whole_number(end)):
            raise DataFormatError(
                f"{location}: expected a start and an end, integers from 0, got {quote(f'{start} {end}')}"
            )
        span = ErrorSpan(int(start), int(end), severity)
        if clip_spans and severity in SEVERITIES and not span.start <= span.end <= len(text):
            cut = span._replace(end=min(span.end, len(text)))
            is_kept = cut.start <= cut.end
            logger.warning(
                "%s: the span %d to %d is %s.",
                location,
                *span[:2],
                f"cut at {cut.end}" if is_kept else "left out",
            )
            if not is_kept:
                continue
            span = cut
        _check(span, text, location)
        spans.append(span)
    return SpannedText(text, spans, row.line, source)


def _check(span: ErrorSpan, text: str, location: str) -> None:
    if span.severity not in SEVERITIES:
        raise DataFormatError(
            f"{location}: expected a severity, {' or '.join(SEVERITIES)}, got {quote(span.severity)}"
        )
    if not 0 <= span.start <= span.end <= len(text):
        raise DataFormatError(
            f"{location}: expected a span within the {len(text)} characters of the text, its start not after its end, "
            f"got {span.start} to {span.end} (the option clip_spans accepts it)"
        )
