"""
Error spans of WMT23: the start, the end and the severity of each error in a translation, in characters.

A row has the language pair, the system, the sentence, the text, and the starts, ends and severities of its spans, each
separated by blanks; `-1`, `-1` and `no-error` where there is none. Submissions begin with three header lines, gold
files with the names of the columns. The development data have other columns, with the source among them. A span ends
before the character of its end. An empty one, with its start as its end, is an omission: it counts as one place, and
the place after the last character is there for omissions at the end.
"""

import logging
import unicodedata
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
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
    document: str | None = None
    """In the development data: the name of its document."""


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
        offsets = OffsetCheck()
        for row in table.rows:
            try:
                sentences.append(_spanned(path, row, column, clip_spans, offsets))
            except DataFormatError as error:
                on_error(error)
                sentences.append(None)
        offsets.warn(logger.warning, path)
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


def _spanned(
    path: str, row: Row, column: int, clip_spans: bool, offsets: "OffsetCheck"
) -> SpannedText:
    """The sentence of a row whose text is in a column, with the columns of its spans after it."""
    location = f"{path}:{row.line}"
    text = row.cells[column]
    source, document = (row.cells[4], row.cells[1]) if column == 5 else (None, None)
    starts, ends, severities = (cell.split() for cell in row.cells[column + 1 :])
    if not len(starts) == len(ends) == len(severities) > 0:
        raise DataFormatError(
            f"{location}: expected as many starts as ends and severities, "
            f"got {len(starts)}, {len(ends)} and {len(severities)}"
        )
    if (starts, ends, severities) == (["-1"], ["-1"], [NO_ERROR]):
        return SpannedText(text, [], row.line, source, document)
    spans = []
    for start, end, severity in zip(starts, ends, severities):
        if not (is_whole_number(start) and is_whole_number(end)):
            raise DataFormatError(
                f"{location}: expected a start and an end, integers from 0, got {quote(f'{start} {end}')}"
            )
        span = checked_span(ErrorSpan(int(start), int(end), severity), text, location, clip_spans)
        if span is not None:
            spans.append(span)
            offsets.add(text, span)
    return SpannedText(text, spans, row.line, source, document)


def checked_span(
    span: ErrorSpan, text: str | None, location: str, clip_spans: bool = False
) -> ErrorSpan | None:
    """
    A span that is within its text, or where that is not known, within some text. With `clip_spans` one that ends after
    the text is cut there, and one whose start is then after its end is None, each with a warning.

    # Raises

    `DataFormatError`, which begins with the location: an unknown severity, a span outside of the text or with its start
    after its end.
    """
    length = span.end if text is None else len(text)
    is_inside = 0 <= span.start <= span.end <= length
    if clip_spans and span.severity in SEVERITIES and span.start >= 0 and not is_inside:
        cut = span._replace(end=min(span.end, length))
        is_kept = cut.start <= cut.end
        logger.warning(
            "%s: the span %d to %d is %s.",
            location,
            *span[:2],
            f"cut at {cut.end}" if is_kept else "left out",
        )
        return cut if is_kept else None
    _check(span, text, location)
    return span


def _check(span: ErrorSpan, text: str | None, location: str) -> None:
    if span.severity not in SEVERITIES:
        raise DataFormatError(
            f"{location}: expected a severity, {' or '.join(SEVERITIES)}, got {quote(span.severity)}"
        )
    if text is None:
        if not 0 <= span.start <= span.end:
            raise DataFormatError(
                f"{location}: expected a span, its start not after its end, got {span.start} to {span.end} (the option "
                "clip_spans accepts it)"
            )
    elif not 0 <= span.start <= span.end <= len(text):
        units = [
            name
            for name, encoding, size in UNITS
            if 0 <= span.start <= span.end <= _length(text, encoding, size)
        ]
        hints = ["the option clip_spans accepts it"] if span.start >= 0 else []
        hints += [f"offsets may count {units[0]}"] if units else []
        hint = f" ({'; '.join(hints)})" if hints else ""
        raise DataFormatError(
            f"{location}: expected a span within the {len(text)} characters of the text, its start not after its end, "
            f"got {span.start} to {span.end}{hint}"
        )


# Offsets in other units

UNITS = (("UTF-16 code units", "utf-16-le", 2), ("UTF-8 bytes", "utf-8", 1))
"""What offsets may count in place of characters: its name, the encoding, and the bytes of a unit."""


def _length(text: str, encoding: str, size: int) -> int:
    return len(text.encode(encoding, "surrogatepass")) // size


def _in_characters(text: str, offset: int, encoding: str, size: int) -> int | None:
    """The character of an offset in other units; None where it is within a character."""
    data = text.encode(encoding, "surrogatepass")
    try:
        return len(data[: offset * size].decode(encoding))
    except UnicodeDecodeError:
        return None


class OffsetCheck:
    """Tells by the words of the texts whether the offsets of a file are in characters, and the ends exclusive.

    A word is one between blanks and punctuation: texts without these, such as Chinese ones, tell nothing.
    """

    MIN_SPANS = 10
    """So many have to tell against the offsets."""

    def __init__(self) -> None:
        self._ends: Counter[str] = Counter()
        self._units: Counter[str] = Counter()

    def add(self, text: str, span: ErrorSpan) -> None:
        """Counts a span of a text."""
        if span.start >= span.end:
            return
        if _ends_word(text, span.end):
            self._ends["whole"] += 1
        elif _ends_word(text, span.end + 1) and _in_word(text, span.end):
            self._ends["cut"] += 1
        if text[: span.end].isascii():
            return
        is_right = _is_words(text, span.start, span.end)
        for name, encoding, size in UNITS:
            start, end = (_in_characters(text, offset, encoding, size) for offset in span[:2])
            if (start, end) != span[:2]:
                self._units[f"{name}, characters"] += is_right
                is_other = start is not None and end is not None and _is_words(text, start, end)
                self._units[name] += is_other

    def warn(self, warn: Callable[..., None], path: str) -> None:
        """Hands a message and its values to a function, where the offsets look like others."""
        for name, _, _ in UNITS:
            others, right = self._units[name], self._units[f"{name}, characters"]
            if others >= self.MIN_SPANS and others > 2 * right:
                warn(
                    "%s: of the spans in texts with characters such as emoji, %d mark whole words if offsets count %s, "
                    "and %d if they count characters, as they are read here.",
                    path,
                    others,
                    name,
                    right,
                )
        cut, whole = self._ends["cut"], self._ends["whole"]
        if cut >= self.MIN_SPANS and cut > whole:
            warn(
                "%s: %d spans end before the last letter of a word, and %d at the end of one: are the ends inclusive? "
                "They are read as exclusive.",
                path,
                cut,
                whole,
            )


def _is_letter(character: str) -> bool:
    """Whether it is of a word that blanks and punctuation separate from others."""
    if character < "\u2e80" or "\uac00" <= character <= "\ud7a3":
        return unicodedata.category(character)[0] in "LMN"
    return False


def _in_word(text: str, place: int) -> bool:
    return 0 < place < len(text) and _is_letter(text[place - 1]) and _is_letter(text[place])


def _ends_word(text: str, place: int) -> bool:
    is_after = 0 < place <= len(text) and _is_letter(text[place - 1])
    return is_after and not _in_word(text, place)


def _is_words(text: str, start: int, end: int) -> bool:
    """Whether two places are the start of a word and the end of one."""
    starts = 0 <= start < len(text) and _is_letter(text[start]) and not _in_word(text, start)
    return starts and _ends_word(text, end)
