"""
Segments of WMT24 to 26: translations of one or several sentences, with the judgments of people or of a system.

A judgment has error spans, an omission (something of the source that is missing, which has no place in the text), a
score from 0 to 100, and whether the segment is free of errors. A file has some of these. Its first line tells its
layout:

- WMT24 raw: a `.csv` of the annotation page, 12 columns without names. The texts are in a folder `txt` beside it or
  above, which has the files of the snapshot of the systems.
- Human evaluation of WMT24 and 25: JSON lines with `doc_id`, `src_text`, `tgt_text`, and in `scores` the judgments of
  several people for each system.
- ESA lines: JSON lines, one a translation, with `pair`, `system`, `doc`, `segment`, `source`, `target`, `spans`,
  `omission`, `score`.
- WMT25 spans: a table with names, separated by tabs and quoted where need be: `doc_id`, ..., `start_indices`,
  `end_indices`, `error_types`.
- WMT26: JSON lines, one an item with all its systems: `item_id`, and `src` and `hyps` (input), `task1_pred`,
  `task2_pred`, `task3_pred` (submissions) or `gold`.

Offsets are characters (Unicode code points) from 0, and a span ends before the character of its end. The annotation
page counts otherwise: in the first two layouts the end is inclusive, and offsets count UTF-16 code units, so that an
emoji counts two. They are converted here. In the other layouts they are taken as they are; where they look like such,
or like bytes, a warning says so.

The severity `critical` counts as major. Spans that are `undecided` are left out: the annotator was about to delete
them. Of the raw layout only translations that a person rated count: no tutorials, no quality control (`BAD`), no
documents that only fill up a batch (`#dup`, `#incomplete`), no empty translations, and of several ratings of a
translation the latest.
"""

import csv
import io
import json
import logging
import os
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from allennlp_nef.data.formats.error_spans import (
    NO_ERROR,
    SEVERITIES,
    ErrorSpan,
    OffsetCheck,
    checked_span,
)
from allennlp_nef.data.formats.text_files import (
    csv_reader,
    is_blank,
    is_number,
    is_whole_number,
    iterate_lines,
    number_of,
)
from allennlp_nef.errors import DataFormatError, OnError, printable, quote, raise_error

logger = logging.getLogger(__name__)

MISSING = "missing"
"""The offset of an omission, in files of the annotation page and of WMT25."""
UNDECIDED = "undecided"
MIN_SCORE = 85
"""A segment of a lower score is not free of errors (WMT26, task 3)."""
KEY_COLUMNS = (
    *("doc_id", "segment_id", "source_lang", "target_lang"),
    *("set_id", "system_id", "domain_name", "method"),
)
SPAN_COLUMNS = ("start_indices", "end_indices", "error_types")
COLUMNS = (
    *KEY_COLUMNS[:6],
    *("source_segment", "hypothesis_segment", "reference_segment"),
    *KEY_COLUMNS[6:],
    *SPAN_COLUMNS,
)
"""Of a submission of error spans to WMT25."""
OFFICIAL = "official"
SEPARATOR = "_###_"
"""Between the six parts of an `item_id`."""
TASKS = ("task1_pred", "task2_pred", "task3_pred")
# ISO 639-3, in the raw files, and ISO 639-1, in the names of the texts.
_LANGUAGES = {
    **{"eng": "en", "deu": "de", "ces": "cs", "ukr": "uk", "rus": "ru", "zho": "zh"},
    **{"jpn": "ja", "isl": "is", "spa": "es", "hin": "hi"},
}


@dataclass(frozen=True)
class Segment:
    """A translation and what is known about it."""

    pair: str
    """The languages, such as `en-ja`."""
    document: str
    number: str
    """The segment in the document."""
    system: str
    line: int
    """In its file, from 1."""
    domain: str = ""
    source: str | None = None
    target: str | None = None
    spans: list[ErrorSpan] | None = None
    """None where the file has none for it, as one of scores."""
    omission: str | None = None
    """The severity of what is missing in the translation; None where nothing is."""
    score: float | None = None
    """From 0 to 100 (ESA); of the protocol MQM minus the weights of the errors."""
    free_of_errors: bool | None = None
    """Where a file says it."""
    protocol: str = "ESA"
    round: str = ""
    """The campaign of the annotation, where a translation was judged in several."""
    set_name: str = OFFICIAL
    item: str = ""
    """The `item_id`, where the file has one."""
    place: tuple[int, int] = (0, 1)
    """Which of the systems of its item it is, from 0, and how many there are."""
    left_out: int = 0
    """How many spans and omissions were left out: undecided ones, and those that `clip_spans` leaves out."""

    @property
    def key(self) -> tuple[str, str, str, str]:
        """What identifies the translation: languages, document, number and system."""
        return self.pair, self.document, self.number, self.system

    @property
    def item_id(self) -> str:
        """That of its file, or one that is made of the languages, the domain, the document and the number."""
        languages = self.pair.split("-", 1)
        parts = [self.set_name, *languages, self.domain, self.document, self.number]
        return self.item or SEPARATOR.join(parts)

    def is_error_free(self) -> bool | None:
        """
        Whether the segment needs no correction: what its file says; else whether it has no spans, no omission and no
        score below `MIN_SCORE`, as far as they are known. None where nothing is known.
        """
        if self.free_of_errors is not None or (self.spans is None and self.score is None):
            return self.free_of_errors
        has_errors = bool(self.spans) or self.omission is not None or self.left_out > 0
        return not has_errors and (self.score is None or self.score >= MIN_SCORE)


def is_segment_file(path: str, encoding: str = "utf-8") -> bool:
    """Whether the first line of a file is of one of these layouts. Raises the `DataFormatError` of `iterate_lines`."""
    _, line = _first_line(path, encoding)
    return line.lstrip().startswith("{") or _is_span_table(line) or _is_raw_row(line)


def read_segments(
    path: str,
    clip_spans: bool = False,
    encoding: str = "utf-8",
    on_error: OnError = raise_error,
) -> list[Segment]:
    """
    The segments of a file, in its order; of an item with several systems, in the order of these.

    # Parameters

    clip_spans : `bool`, optional (default = `False`)
        Whether a span that ends after its text is cut, and one that does not start before its end and within its text
        left out, each with a warning.
    on_error : `OnError`, optional (default = `raise_error`)
        What to do with a segment that cannot be read.

    # Raises

    `DataFormatError`: what `iterate_lines` raises, no segments, another layout, a field that is missing or of another
    kind, different numbers of starts, ends and severities, an unknown severity, a span outside of its text or with its
    start after its end; of the raw layout, texts that are missing or have other numbers of lines.
    """
    reading = _Reading(path, clip_spans, encoding, on_error)
    number, first = _first_line(path, encoding)
    if first.lstrip().startswith("{"):
        segments = list(reading.json_lines())
    elif _is_span_table(first):
        segments = list(reading.span_table())
    elif _is_raw_row(first):
        segments = reading.raw_table()
    else:
        raise DataFormatError(
            f"{path}:{number}: expected a JSON object, the names of the columns of WMT25 or 12 columns with commas "
            f"between, got {quote(first.strip())}"
        )
    if not segments and not reading.errors:
        raise DataFormatError(f"{path}:1: expected at least one segment, got none")
    reading.offsets.warn(logger.warning, path)
    return segments


def format_span_row(segment: Segment, spans: Sequence[ErrorSpan], omission: str | None) -> str:
    """
    A row of a submission of error spans to WMT25, with its line end. `format_names` gives the line before the rows.

    Tabs and line ends of texts are written as blanks.
    """
    starts = [str(span.start) for span in spans] + [MISSING] * bool(omission)
    ends = [str(span.end) for span in spans] + [MISSING] * bool(omission)
    severities = [span.severity for span in spans] + [omission] * bool(omission)
    source_language, _, target_language = segment.pair.partition("-")
    cells = [segment.document, segment.number, source_language, target_language]
    cells += [segment.set_name, segment.system, segment.source or "", segment.target or "", ""]
    cells += [segment.domain, segment.protocol]
    columns = (starts, ends, severities) if starts else (["-1"], ["-1"], [NO_ERROR])
    return _quoted([*map(in_one_line, cells), *(" ".join(map(str, part)) for part in columns)])


def format_names() -> str:
    """The first line of a submission of error spans to WMT25, with its line end."""
    return _quoted(COLUMNS)


def format_item(segment: Segment, task: str, prediction: Any) -> str:
    """
    What a submission to WMT26 has for a segment: a line, with its line end, or where its item has several systems, the
    part of the line from its system on to the next one.

    # Parameters

    task : `str`
        One of `TASKS`.
    prediction : `Any`
        What JSON can hold.
    """
    index, count = segment.place
    name = json.dumps(segment.system, ensure_ascii=False)
    text = f"{name}: {json.dumps(prediction, ensure_ascii=False)}"
    if index == 0:
        item = json.dumps(segment.item_id, ensure_ascii=False)
        text = f'{{"item_id": {item}, "{task}": {{{text}'
    else:
        text = f", {text}"
    return text + ("}}\n" if index == count - 1 else "")


def format_segment(segment: Segment) -> str:
    """A line of the layout of ESA lines, with its line end, for a segment with its texts."""
    value: dict[str, Any] = {
        "pair": segment.pair,
        "system": segment.system,
        "domain": segment.domain,
        "doc": segment.document,
        "segment": segment.number,
        "round": segment.round,
        "source": segment.source,
        "target": segment.target,
    }
    if segment.spans is not None:
        value["spans"] = [span._asdict() for span in segment.spans]
    value |= {"omission": segment.omission, "score": segment.score, "protocol": segment.protocol}
    return json.dumps(value, ensure_ascii=False) + "\n"


def in_one_line(text: str) -> str:
    """A text with blanks in place of tabs, line ends and surrogates, which UTF-8 lacks: offsets stay right."""
    return re.sub("[\t\r\n\ud800-\udfff]", " ", text)


def pairs_of(segments: Iterable[Segment]) -> list[str]:
    """The language pairs of segments, in the order of their first ones."""
    return list(dict.fromkeys(segment.pair for segment in segments))


def join_segments(
    gold_path: str,
    gold: Sequence[Segment],
    path: str,
    predicted: Sequence[Segment],
    clip_spans: bool = False,
) -> list[Segment]:
    """
    The predicted segment of each gold segment. A translation that several people judged has several gold segments.

    # Parameters

    clip_spans : `bool`, optional (default = `False`)
        See `read_segments`: for predicted spans whose text the gold file alone has.

    # Raises

    `DataFormatError`: a translation that one side lacks, one that is predicted twice, another text, a span outside of
    the text.
    """
    by_key: dict[tuple[str, ...], Segment] = {}
    for segment in predicted:
        other = by_key.setdefault(segment.key, segment)
        if other is not segment:
            raise DataFormatError(
                f"{path}:{segment.line}: expected one prediction for a translation, got a second one for "
                f"{_named(segment)}, after line {other.line}"
            )
    joined = []
    for segment in gold:
        match = by_key.get(segment.key)
        if match is None:
            raise DataFormatError(
                f"{path}: expected a prediction for {_named(segment)}, as in {gold_path}:{segment.line}, got none"
            )
        texts = [in_one_line(s.target).rstrip() for s in (segment, match) if s.target is not None]
        if len(texts) == 2 and texts[0] != texts[1]:
            raise DataFormatError(
                f"{path}:{match.line}: expected the text of {gold_path}:{segment.line}, {quote(texts[0])}, "
                f"got {quote(texts[1])}"
            )
        if match.target is None and segment.target is not None and match.spans:
            where = f"{path}:{match.line}"
            checked = (
                checked_span(span, segment.target, where, clip_spans) for span in match.spans
            )
            spans = [span for span in checked if span is not None]
            left_out = match.left_out + len(match.spans) - len(spans)
            match = replace(match, spans=spans, left_out=left_out)
        joined.append(match)
    known = {segment.key for segment in gold}
    for segment in predicted:
        if segment.key not in known:
            raise DataFormatError(
                f"{path}:{segment.line}: expected a translation that {gold_path} has, got {_named(segment)}"
            )
    return joined


def _named(segment: Segment) -> str:
    names = (segment.pair, segment.document, segment.number, segment.system)
    return quote(" ".join(names))


def _first_line(path: str, encoding: str) -> tuple[int, str]:
    """The first line that is not blank, and its number, from 1; "" where there is none."""
    lines = enumerate(iterate_lines(path, encoding), 1)
    return next(((number, line) for number, line in lines if not is_blank(line)), (1, ""))


def _is_raw_row(line: str) -> bool:
    return line.count(",") >= 11 and "\t" not in line


def _is_span_table(line: str) -> bool:
    return "\t" in line and set(SPAN_COLUMNS) <= set(line.rstrip("\r\n").split("\t"))


def _quoted(cells: Sequence[str]) -> str:
    text = io.StringIO()
    csv.writer(text, delimiter="\t", lineterminator="\n").writerow(cells)
    return text.getvalue()


@dataclass
class _Reading:
    """A file that is being read."""

    path: str
    clip_spans: bool
    encoding: str
    on_error: OnError
    offsets: OffsetCheck = field(default_factory=OffsetCheck)
    errors: int = 0

    def refuse(self, error: DataFormatError) -> None:
        self.errors += 1
        self.on_error(error)

    # Tables

    def rows(self, delimiter: str) -> Iterator[tuple[int, list[str]]]:
        """The rows of a table with quotation marks, each with the number of its first line."""
        lines = iterate_lines(self.path, self.encoding)
        reader = csv_reader(lines, delimiter)
        number = 1
        try:
            for cells in reader:
                if any(cells):
                    yield number, cells
                number = reader.line_num + 1
        except csv.Error as error:
            raise DataFormatError(
                f"{self.path}:{number}: expected fields in quotation marks where they contain some, got a row that is "
                f"not ({printable(str(error))})"
            ) from None

    def span_table(self) -> Iterator[Segment]:
        """The segments of the layout of WMT25."""
        rows = self.rows("\t")
        line, names = next(rows)
        for name in (*KEY_COLUMNS, *SPAN_COLUMNS):
            if names.count(name) != 1:
                raise DataFormatError(
                    f"{self.path}:{line}: expected one column {name}, got {names.count(name)}"
                )
        for line, cells in rows:
            try:
                if len(cells) != len(names):
                    raise DataFormatError(
                        f"{self.path}:{line}: expected {len(names)} columns, got {len(cells)}"
                    )
                yield self.span_row(line, dict(zip(names, cells)))
            except DataFormatError as error:
                self.refuse(error)

    def span_row(self, line: int, cells: Mapping[str, str]) -> Segment:
        where = f"{self.path}:{line}"
        segment = Segment(
            f"{cells['source_lang']}-{cells['target_lang']}",
            cells["doc_id"],
            cells["segment_id"],
            cells["system_id"],
            line,
            domain=cells["domain_name"],
            source=cells.get("source_segment"),
            target=cells.get("hypothesis_segment"),
            spans=[],
            protocol=cells["method"],
            set_name=cells["set_id"],
        )
        if cells["error_types"] == NO_ERROR:
            return segment
        columns = [cells[name].split(" ") for name in SPAN_COLUMNS]
        if len({len(column) for column in columns}) != 1 or not all(map(all, columns)):
            raise DataFormatError(
                f"{where}: expected as many starts as ends and severities, with single blanks between, got "
                f"{', '.join(quote(cells[name]) for name in SPAN_COLUMNS)}"
            )
        errors = [
            {"start": _offset(start, where), "end": _offset(end, where), "severity": severity}
            for start, end, severity in zip(*columns)
        ]
        return self.with_errors(segment, errors, where)

    def raw_table(self) -> list[Segment]:
        """The segments of the raw layout of WMT24."""
        texts = _RawTexts(self.path, self.encoding)
        latest: dict[tuple[str, ...], tuple[float, Segment]] = {}
        left_out: Counter[str] = Counter()
        for line, cells in self.rows(","):
            where = f"{self.path}:{line}"
            try:
                if len(cells) != 12:
                    raise DataFormatError(f"{where}: expected 12 columns, got {len(cells)}")
                reason = _reason_to_leave_out(cells)
                segment = None if reason else self.raw_row(line, cells, texts)
                if segment is not None and not (segment.target or "").strip():
                    reason = "empty translations"
                if reason or segment is None:
                    left_out[reason] += 1
                    continue
                time = number_of(cells[11])
                other = latest.get(segment.key)
                left_out["older ratings"] += other is not None
                if other is None or not time < other[0]:
                    latest[segment.key] = time, segment
            except DataFormatError as error:
                self.refuse(error)
        reasons = ", ".join(f"{number} {reason}" for reason, number in left_out.items() if number)
        if reasons:
            logger.info("%s: left out %s.", self.path, reasons)
        return [segment for _, segment in latest.values()]

    def raw_row(self, line: int, cells: Sequence[str], texts: "_RawTexts") -> Segment:
        where = f"{self.path}:{line}"
        system, number, score = cells[1], cells[2], number_of(cells[6])
        if not is_whole_number(number):
            raise DataFormatError(
                f"{where}: expected a line of the texts, from 0, got {quote(number)}"
            )
        if not 0 <= score <= 100:
            raise DataFormatError(f"{where}: expected a score from 0 to 100, got {quote(cells[6])}")
        pair = "-".join(_LANGUAGES.get(language, language) for language in cells[4:6])
        domain, source, target = texts.of(pair, system, int(number), where)
        errors = _json(cells[9], where)
        segment = Segment(
            *(pair, cells[7], number, system, line, domain, source, target),
            spans=[],
            score=score,
        )
        return self.with_errors(segment, errors, where, raw=True)

    # JSON lines

    def json_lines(self) -> Iterator[Segment]:
        """The segments of the layouts in JSON lines."""
        for line, text in enumerate(iterate_lines(self.path, self.encoding), 1):
            if is_blank(text):
                continue
            where = f"{self.path}:{line}"
            try:
                value = _json(text, where)
                if not isinstance(value, dict):
                    raise DataFormatError(f"{where}: expected a JSON object, got {quote(value)}")
                if "item_id" in value:
                    segments = self.item(line, value, where)
                elif "tgt_text" in value:
                    segments = self.human_evaluation(line, value, where)
                elif "pair" in value:
                    segments = iter([self.translation(line, value, where)])
                else:
                    raise DataFormatError(
                        f"{where}: expected the field item_id, tgt_text or pair, got {quote(', '.join(value))}"
                    )
                yield from segments
            except DataFormatError as error:
                self.refuse(error)

    def translation(self, line: int, value: Mapping[str, Any], where: str) -> Segment:
        names = ("pair", "doc", "segment", "system")
        pair, document, number, system = (_text(value, name, where) for name in names)
        if "-" not in pair:
            raise DataFormatError(
                f"{where}: pair: expected languages such as en-de, got {quote(pair)}"
            )
        segment = Segment(
            *(pair, document, number, system, line),
            domain=_text(value, "domain", where, ""),
            source=_text(value, "source", where),
            target=_text(value, "target", where),
            omission=_severity(value.get("omission"), f"{where}: omission"),
            score=_score(value, where),
            protocol=_text(value, "protocol", where, "ESA"),
            round=_text(value, "round", where, ""),
        )
        if segment.omission == UNDECIDED:
            segment = replace(segment, omission=None, left_out=1)
        if "spans" not in value:
            return segment
        return self.with_errors(segment, value["spans"], where)

    def human_evaluation(
        self, line: int, value: Mapping[str, Any], where: str
    ) -> Iterator[Segment]:
        parts = _text(value, "doc_id", where).split("_#_")
        if len(parts) != 4:
            raise DataFormatError(
                f"{where}: doc_id: expected four parts with _#_ between, got {len(parts)}"
            )
        pair, domain, document, number = parts
        source = _text(value, "src_text", where).replace("<br>", "\n")
        targets, scores = (_object(value, name, where) for name in ("tgt_text", "scores"))
        at = f"{where}: scores"
        for system, judgments in scores.items():
            target = _target(targets, system, f"{where}: tgt_text").replace("<br>", "\n")
            if not isinstance(judgments, list):
                raise DataFormatError(f"{at}: expected a list, got {quote(judgments)}")
            for judgment in judgments:
                if not isinstance(judgment, dict):
                    raise DataFormatError(f"{at}: expected a JSON object, got {quote(judgment)}")
                segment = Segment(
                    *(pair, document, number, system, line, domain, source, target),
                    score=_score(judgment, at),
                    protocol=_text(judgment, "protocol", where, "ESA"),
                    round=_text(judgment, "annotator", where, ""),
                )
                yield self.with_errors(segment, judgment.get("errors"), at, raw=True)

    def item(self, line: int, value: Mapping[str, Any], where: str) -> Iterator[Segment]:
        """The systems of an item of WMT26."""
        item = _text(value, "item_id", where)
        parts = item.split(SEPARATOR)
        if len(parts) == 5:  # the first announcement had no name of the set
            parts.insert(0, OFFICIAL)
        if len(parts) != 6:
            raise DataFormatError(
                f"{where}: item_id: expected six parts with {SEPARATOR} between, got {len(parts)}"
            )
        set_name, source_language, target_language, domain, document, number = parts
        names = [name for name in ("hyps", "gold", *TASKS) if name in value]
        if not names:
            raise DataFormatError(
                f"{where}: expected the field hyps, gold or {' or '.join(TASKS)}, got {quote(', '.join(value))}"
            )
        fields = {name: _object(value, name, where) for name in names}
        systems = list(fields[names[0]])
        for name in names:
            if fields[name].keys() != set(systems):
                raise DataFormatError(
                    f"{where}: {name}: expected the systems {quote(', '.join(systems))}, got "
                    f"{quote(', '.join(fields[name]))}"
                )
        for index, system in enumerate(systems):
            segment = Segment(
                f"{source_language}-{target_language}",
                *(document, number, system, line, domain),
                set_name=set_name,
                item=item,
                place=(index, len(systems)),
            )
            if "hyps" in fields:
                segment = replace(
                    segment,
                    source=_text(value, "src", where),
                    target=_target(fields["hyps"], system, f"{where}: hyps"),
                )
            yield self.of_item(segment, {name: fields[name][system] for name in names}, where)

    def of_item(self, segment: Segment, values: Mapping[str, Any], where: str) -> Segment:
        """A segment with what an item says about its system."""
        for name, value in values.items():
            at = f"{where}: {name}"
            if name == "task2_pred":
                segment = replace(segment, score=_score({"score": value}, at))
            elif name == "task3_pred":
                segment = replace(segment, free_of_errors=_decision(value, at))
            elif name in ("gold", "task1_pred"):
                if not isinstance(value, dict):
                    raise DataFormatError(f"{at}: expected a JSON object, got {quote(value)}")
                omission = _severity(value.get("omission"), f"{at}.omission")
                segment = replace(segment, omission=omission)
                segment = self.with_errors(segment, value.get("errors"), at)
                if "score" in value:
                    segment = replace(segment, score=_score(value, at))
                if "error_free" in value:
                    decision = _decision(value["error_free"], at)
                    segment = replace(segment, free_of_errors=decision)
        return segment

    # Errors of a segment

    def with_errors(self, segment: Segment, errors: Any, where: str, raw: bool = False) -> Segment:
        """The segment with its spans and its omission. `raw`: as the annotation page has them."""
        if not isinstance(errors, list):
            raise DataFormatError(f"{where}: expected a list of errors, got {quote(errors)}")
        names = ("start_i", "end_i") if raw else ("start", "end")
        omissions, spans, left_out = [segment.omission], [], segment.left_out
        for error in errors:
            if not isinstance(error, dict):
                raise DataFormatError(f"{where}: expected an error, an object, got {quote(error)}")
            severity = _severity(error.get("severity"), where, False)
            start, end = (error.get(name) for name in names)
            if severity == UNDECIDED:
                left_out += 1
            elif (start, end) == (MISSING, MISSING):
                omissions.append(severity)
            elif type(start) is not int or type(end) is not int:
                raise DataFormatError(
                    f"{where}: expected a start and an end, integers from 0, got {quote(f'{start} {end}')}"
                )
            else:
                span = self.span(segment.target, start, end, str(severity), where, raw)
                spans += [span] if span is not None else []
                left_out += span is None
        known = [severity for severity in omissions if severity in SEVERITIES]
        omission = max(known, key=SEVERITIES.index, default=None)
        return replace(segment, spans=spans, omission=omission, left_out=left_out)

    def span(
        self, text: str | None, start: int, end: int, severity: str, where: str, raw: bool
    ) -> ErrorSpan | None:
        if raw and text is not None:
            start, end = _from_utf16(text, start), _from_utf16(text, end) + 1
        span = ErrorSpan(start, end, severity)
        checked = checked_span(span, text, where, self.clip_spans)
        if checked is not None and text is not None and not raw:
            self.offsets.add(text, checked)
        return checked


class _RawTexts:
    """The texts of the raw layout: the folder `txt` of the snapshot of the systems of WMT24."""

    def __init__(self, path: str, encoding: str) -> None:
        folder = os.path.dirname(path)
        folders = [os.path.join(folder, "txt"), os.path.join(folder, os.pardir, "txt")]
        self.folder = next(filter(os.path.isdir, folders), None)
        if self.folder is None:
            raise DataFormatError(
                f"{path}: expected a folder txt with the texts beside it or above, got none"
            )
        self.encoding = encoding
        self._lines: dict[str, list[str]] = {}

    def of(self, pair: str, system: str, number: int, where: str) -> tuple[str, str, str]:
        """The domain, the source and the translation of a line, from 0."""
        targets = os.path.join("system-outputs", pair, f"{system}.txt")
        if system.startswith("ref"):
            targets = os.path.join("references", f"{pair}.{system}.txt")
        for name in (pair, system):
            if os.path.basename(name) != name or "\0" in name:
                raise DataFormatError(f"{where}: expected the name of a file, got {quote(name)}")
        folders = (("documents", f"{pair}.docs"), ("sources", f"{pair}.txt"))
        names = [*(os.path.join(*parts) for parts in folders), targets]
        document, source, target = (self._line(name, number, where) for name in names)
        counts = [len(self._lines[os.path.join(str(self.folder), name)]) for name in names]
        if len(set(counts)) > 1:
            raise DataFormatError(
                f"{where}: expected texts with as many lines each, got {', '.join(map(str, counts))} in "
                f"{', '.join(names)}"
            )
        return document.split("\t")[0], source, target

    def _line(self, name: str, number: int, where: str) -> str:
        path = os.path.join(str(self.folder), name)
        if not os.path.isfile(path):
            raise DataFormatError(f"{where}: expected a file {quote(path, 200)}, got none")
        if path not in self._lines:
            self._lines[path] = [line.rstrip("\r\n") for line in iterate_lines(path, self.encoding)]
        lines = self._lines[path]
        if number >= len(lines):
            raise DataFormatError(
                f"{where}: expected a line of {quote(path, 200)}, which has {len(lines)}, got {number} (from 0)"
            )
        return lines[number]


def _reason_to_leave_out(cells: Sequence[str]) -> str:
    """Why a raw row is no judgment; "" where it is one."""
    if "-tutorial" in cells[1]:
        return "tutorials"
    if cells[3] != "TGT":
        return "rows of quality control"
    if "#" in cells[7]:
        return "rows that fill up batches"
    return ""


def _from_utf16(text: str, offset: int) -> int:
    """The character of a UTF-16 code unit. After the end of the text, one unit is one character."""
    if text.isascii() or offset <= 0:
        return offset
    units = 0
    for index, character in enumerate(text):
        units += 1 + (character > "\uffff")
        if offset < units:
            return index
    return len(text) + offset - units


def _offset(text: str, where: str) -> int | str:
    if text == MISSING:
        return text
    if not is_whole_number(text):
        raise DataFormatError(
            f"{where}: expected offsets, integers from 0 or {MISSING}, got {quote(text)}"
        )
    return int(text)


def _severity(value: Any, where: str, may_lack: bool = True) -> str | None:
    if value is None and may_lack:
        return None
    if value == "critical":
        return SEVERITIES[-1]
    if value not in (*SEVERITIES, UNDECIDED):
        expected = " or ".join((*SEVERITIES, *(["null"] if may_lack else [])))
        raise DataFormatError(f"{where}: expected a severity, {expected}, got {quote(value)}")
    return str(value)


def _score(value: Mapping[str, Any], where: str) -> float | None:
    score = value.get("score")
    if score is None:
        return None
    if not is_number(score) or score > 100:
        raise DataFormatError(f"{where}: expected a score, a number up to 100, got {quote(score)}")
    return float(score)


def _decision(value: Any, where: str) -> bool:
    if value not in (0, 1) or isinstance(value, float):
        raise DataFormatError(
            f"{where}: expected 1 for a segment that is free of errors or 0, got {quote(value)}"
        )
    return bool(value)


def _json(text: str, where: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise DataFormatError(
            f"{where}: expected JSON, got {quote(text.strip())} ({error})"
        ) from None


def _text(value: Mapping[str, Any], name: str, where: str, default: str | None = None) -> str:
    """The text of a field, or that of its number."""
    text = value.get(name, default)
    if text is None and default is not None:
        return default
    if type(text) is int:
        return str(text)
    if not isinstance(text, str):
        raise DataFormatError(f"{where}: {name}: expected a text, got {quote(text)}")
    return text


def _target(targets: Mapping[str, Any], system: str, where: str) -> str:
    text = targets.get(system)
    if not isinstance(text, str):
        raise DataFormatError(f"{where}: expected the text of {quote(system)}, got {quote(text)}")
    return text


def _object(value: Mapping[str, Any], name: str, where: str) -> dict[str, Any]:
    """The object of a field, with at least one system."""
    item = value.get(name)
    if not isinstance(item, dict) or not item:
        raise DataFormatError(f"{where}: {name}: expected an object of systems, got {quote(item)}")
    return item
