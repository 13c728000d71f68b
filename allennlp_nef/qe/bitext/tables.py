"""Tables, JSON lines and pairs of text files."""

import csv
import json
import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from allennlp_nef.data.files import read_lines, read_objects
from allennlp_nef.errors import DataFormatError, quote
from allennlp_nef.qe.bitext.segments import UNSCORED, Answer, Bitext, SegmentPair, open_text
from allennlp_nef.qe.files import read_parallel

ADDED = (
    *("hter", "expected_bad_share", "start_ids", "end_ids", "errors", "probabilities"),
    *("decision", "reviewer_note"),
)
"""The columns with scores. Starts, ends and errors are as in WMT23: -1, -1 and no-error if there are no errors."""
_OWN = "allennlp_nef"  # the field of JSON lines that has them
# The names of columns and of JSON fields, in order of preference; see `_column`.
SOURCES = ["source", "src", "original", "orig", "input"]
TARGETS = [
    *[
        "target",
        "tgt",
        "trg",
        "translation",
        "translated",
        "mt",
        "machinetranslation",
        "hypothesis",
        "hyp",
        "output",
    ],
    *["tokens", "postedit", "pe", "reference", "ref"],
]
_SAMPLE = 100  # lines for detecting the delimiter of a .csv file
_TSV: dict[str, Any] = {"delimiter": "\t", "quoting": csv.QUOTE_NONE, "quotechar": None}


def read_text_pair(source: str, target: str) -> Bitext:
    """Reads a file of sentences and a file of translations, one per line."""
    lines = enumerate(read_parallel({"source": source, "target": target}), 1)
    segments = [
        SegmentPair(f"line {number}", where["target"], line["source"], line["target"])
        for number, (line, where) in lines
    ]
    return Bitext(segments, path=target)


def _column(names: Iterable[str], wanted: Sequence[str]) -> int | None:
    """
    Returns the index of the first of the wanted names. Only letters and digits are compared, so "Source text",
    "source_segment" and "SOURCE (en)" all match "source".
    """
    keys = [re.sub(r"\(.*?\)|\[.*?\]|[\W_]", "", name).lower() for name in names]
    keys = [re.sub("(text|segment|sentence|string)$", "", key) for key in keys]
    return next((keys.index(name) for name in wanted if name in keys), None)


def _columns(names: Sequence[str], languages: Sequence[str | None]) -> tuple[int, int] | None:
    """Returns the indices of the source and translation columns, which can also be named by their language codes.

    None if the names are unknown.
    """
    codes = [[re.sub(r"[\W_]", "", code).lower()] if code else [] for code in languages]
    source, target = (
        _column(names, [*known, *own]) for known, own in zip((SOURCES, TARGETS), codes)
    )
    return None if source is None or target is None or source == target else (source, target)


def read_table(path: str, source_language: str | None, target_language: str | None) -> Bitext:
    """
    Reads a table separated by tabs or, for `.csv`, by commas or semicolons. Blank lines are skipped.

    The first row may name the columns. Otherwise, there are two, optionally followed by those of an earlier review.
    Scores and decisions of that review stay where there are no new ones.
    """
    languages = (source_language, target_language)
    sample = [line for _, line in islice(read_lines(path, keepends=True), _SAMPLE)]
    dialect = {"delimiter": _delimiter(sample, languages)} if _is_csv(path) else _TSV
    if sample and re.match("sep=.$", sample[0].strip()):
        raise DataFormatError(
            f"{path}:1: expected a row, got {quote(sample[0].strip())}: remove this line"
        )
    _, first = next(filter(_has_cells, _rows(path, dialect)), (1, []))
    named = _columns(first, languages)
    at = next((i for i in range(len(first)) if (*first[i : i + len(ADDED)],) == ADDED), len(first))
    if named is None and _is_annotated(first):
        at = 2
    own = slice(at, at + len(ADDED))
    width = len(first) if named or at == 2 else 2
    left, right = named or (0, 1)
    segments = []
    rows = filter(_has_cells, _rows(path, dialect))
    for number, cells in islice(rows, named is not None, None):
        if len(cells) != width:
            expected = f"{width} columns" if named else "2 columns, or their names in the first row"
            raise DataFormatError(f"{path}:{number}: expected {expected}, got {len(cells)}")
        place = f"{path}:{number}"
        segments.append(SegmentPair(f"line {number}", place, cells[left], cells[right]))

    def write(draft: Path, answers: Iterable[Answer]) -> None:
        is_header = named is not None
        end = "\r\n" if sample[0].endswith("\r\n") else "\n"
        with open_text(draft, path) as file:
            writer = csv.writer(file, lineterminator=end, **dialect)
            waiting = iter(answers)
            for _, cells in _rows(path, dialect):
                if cells:
                    if is_header:
                        added, is_header = [*ADDED], False
                    else:
                        answer = next(waiting)
                        added = _merged(answer, _cells(answer), cells[own])
                    cells = [*cells[: own.start], *added, *cells[own.stop :]]
                writer.writerow(cells)

    return Bitext(segments, write=write)


def _is_csv(path: str) -> bool:
    return path.lower().removesuffix(".gz").endswith(".csv")


def _delimiter(sample: Sequence[str], languages: Sequence[str | None]) -> str:
    """Detects a `.csv` delimiter: the one that gives known names, else two columns, else rows of equal length."""

    def rank(delimiter: str) -> tuple[bool, bool, bool]:
        try:
            rows = [row for row in csv.reader(sample, delimiter=delimiter) if row]
        except csv.Error:
            return False, False, False
        if len(sample) == _SAMPLE:
            del rows[-1]  # it may be incomplete
        widths = {len(row) for row in rows}
        is_named = bool(rows) and _columns(rows[0], languages) is not None
        return is_named, widths == {2}, len(widths) == 1 and widths != {1}

    return max(",;", key=rank)


def _rows(path: str, dialect: dict[str, Any]) -> Iterator[tuple[int, list[str]]]:
    """Yields the line number and the cells of each row. A blank row has no cells."""
    lines = (line for _, line in read_lines(path, keepends=True))
    reader = csv.reader(lines, strict=True, **dialect)
    number = 1
    try:
        for cells in reader:
            yield number, cells
            number = reader.line_num + 1
    except csv.Error as error:
        raise DataFormatError(f"{path}:{number}: {error}") from None


def _has_cells(row: tuple[int, list[str]]) -> bool:
    return bool(row[1])


def _merged(answer: Answer, new: Sequence[Any], old: Sequence[Any]) -> list[Any]:
    """Returns the values of the columns `ADDED`: those of an answer, and old ones for what it does not say."""
    known = dict.fromkeys(ADDED, True)
    if old and answer.get("error") == UNSCORED["error"]:
        known |= {"hter": False, "expected_bad_share": False}
        known |= dict.fromkeys(ADDED[2:6], "spans" in answer)
    if old:
        known |= dict.fromkeys(ADDED[6:], "review" in answer)
    return [new[i] if known[name] else old[i] for i, name in enumerate(ADDED)]


def _is_annotated(cells: Sequence[str]) -> bool:
    """Returns whether the first row of a table without names has two columns followed by a review's columns."""
    ours = r"[\d.]*\t[\d.]*\t[\d -]*\t[\d -]*\t[a-z -]*\t[\d. ]*\t(accept|reject)?\t.*"
    return len(cells) == 2 + len(ADDED) and bool(re.fullmatch(ours, "\t".join(cells[2:])))


def _values(answer: Answer) -> list[Any]:
    """Returns the values of the `ADDED` columns: lists in error columns, and None in empty cells."""
    scores = [round(answer[name], 4) if name in answer else None for name in ADDED[:2]]
    errors: list[Any] = [None] * 4
    if (spans := answer.get("spans")) is not None:
        errors = [
            [span["start"] for span in spans],
            [span["end"] for span in spans],
            [span.get("severity", "major") for span in spans],
            [round(span["probability"], 4) for span in spans if "probability" in span],
        ]
    review = answer.get("review")
    return [*scores, *errors, *((review.decision, review.note) if review else (None, None))]


def _cells(answer: Answer) -> list[str]:
    """Returns the cells of the `ADDED` columns."""

    def cell(value: Any) -> str:
        if isinstance(value, list):
            return " ".join(map(cell, value))
        return "" if value is None else f"{value:.4f}" if isinstance(value, float) else str(value)

    without_errors = ["", "", "-1", "-1", "no-error", "", "", ""]
    return [
        default if value == [] else cell(value)
        for value, default in zip(_values(answer), without_errors)
    ]


def write_table(draft: Path, answers: Iterable[Answer], segments: Iterable[SegmentPair]) -> None:
    """Writes segments and their scores as a table with a header. In a `.tsv` file, tabs and newlines become spaces."""
    is_csv = _is_csv(draft.name)
    dialect = {} if is_csv else _TSV
    with open_text(draft) as file:
        writer = csv.writer(file, lineterminator="\n", **dialect)
        writer.writerow(["source", "target", *ADDED])
        for segment, answer in zip(segments, answers):
            texts = [segment.source, segment.target]
            cells = texts if is_csv else [re.sub("[\t\r\n]", " ", text) for text in texts]
            writer.writerow([*cells, *_cells(answer)])


def read_json_lines(path: str, source_language: str | None, target_language: str | None) -> Bitext:
    """Reads JSON objects, such as answers, with a source and a translation: strings or lists of words."""
    segments = []
    for number, value in read_objects(path):
        place = f"{path}:{number}"
        names = list(value)
        columns = _columns(names, (source_language, target_language))
        texts = [_text(value[names[column]]) for column in columns or ()]
        if texts and None not in texts:
            segments.append(SegmentPair(f"line {number}", place, *map(str, texts)))
        elif isinstance(value.get("error"), str):
            segments.append(SegmentPair(f"line {number}", place, "", "", error=value["error"]))
        else:
            raise DataFormatError(
                f"{place}: expected an object with source and target, got {quote(value)}"
            )

    def write(draft: Path, answers: Iterable[Answer]) -> None:
        waiting = iter(answers)
        with open_text(draft, path) as file:
            for _, line in read_lines(path, keepends=True):
                if line.strip():
                    fields, answer = json.loads(line), next(waiting)
                    old = list(fields.get(_OWN, {}).values())
                    fields[_OWN] = dict(zip(ADDED, _merged(answer, _values(answer), old)))
                    end = line[len(line.rstrip("\r\n")) :]
                    line = json.dumps(fields, ensure_ascii=False) + end
                file.write(line)

    return Bitext(segments, write=write)


def _text(value: Any) -> str | None:
    """Returns a string, or the words of a list joined by spaces; None for anything else."""
    if isinstance(value, list) and all(isinstance(word, str) for word in value):
        return " ".join(value)
    return value if isinstance(value, str) else None
