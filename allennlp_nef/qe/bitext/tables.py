"""Tables, JSON lines and pairs of text files."""

import csv
import json
import logging
import re
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import chain, islice
from pathlib import Path
from typing import Any

from allennlp_nef.data.files import read_lines, read_objects
from allennlp_nef.errors import DataFormatError, quote
from allennlp_nef.qe.answers import SCORES
from allennlp_nef.qe.bitext.languages import base_language, language_of
from allennlp_nef.qe.bitext.segments import (
    UNKNOWN_SEVERITY,
    Answer,
    Bitext,
    errors_of,
    is_reviewed,
    make_segment,
    open_text,
)
from allennlp_nef.qe.files import read_parallel
from allennlp_nef.qe.translated_sentence import TranslatedSentence

logger = logging.getLogger(__name__)

ADDED = (
    *SCORES,
    *("start_ids", "end_ids", "errors", "probabilities"),
    *("checks", "decision", "reviewer_note"),
)
"""The columns with scores. Starts, ends and errors are as in WMT23: -1, -1 and no-error if there are no errors. The
column of checks has the messages of findings."""
_OWN = "allennlp_nef"  # the field of JSON lines that has them
# The names of columns and of JSON fields, in order of preference; see `_columns`.
SOURCES = ["source", "src", "original", "orig", "input"]
TARGETS = [
    *("target", "tgt", "trg", "translation", "translated", "mt", "machinetranslation"),
    *("hypothesis", "hyp", "output", "tokens", "postedit", "pe", "reference", "ref"),
]
_NAMES = "source and target, languages such as English and German, or codes such as en-US and de-DE"
_SAMPLE = 100  # lines that show the delimiter of a .csv file, and whether the first row is unlike the others
_FULL_STOPS = tuple(".!?…:;。！？：；।؟")
_TSV: dict[str, Any] = {"delimiter": "\t", "quoting": csv.QUOTE_NONE, "quotechar": None}


def read_text_pair(source: str, target: str) -> Bitext:
    """Reads a file of sentences and a file of translations, one per line."""
    lines = enumerate(read_parallel({"source": source, "target": target}), 1)
    segments = [
        make_segment(f"line {number}", target, number, line["source"], line["target"])
        for number, (line, _) in lines
    ]
    return Bitext(segments, path=target)


@lru_cache(maxsize=256)
def _columns(
    names: tuple[str, ...], languages: tuple[str | None, str | None]
) -> tuple[int, int] | None:
    """
    Returns the indices of the source and translation columns; None if the names are unknown.

    Columns can also be named by their languages or language codes; the source comes first unless the languages are
    given.
    """
    keys = list(map(_key, names))
    spoken = [language_of(name) or language_of(key) for name, key in zip(names, keys)]
    if len(names) > 2:  # columns of numbers
        spoken = [None if key in ("id", "no") else code for key, code in zip(keys, spoken)]
    found = []
    for known, language in zip((SOURCES, TARGETS), languages):
        places = [keys.index(name) for name in known if name in keys]
        if language:
            places += [i for i, key in enumerate(keys) if key == _key(language)]
            places += [i for i, code in enumerate(spoken) if code == base_language(language)]
        found.append(next(iter(places), None))
    unnamed = [i for i, code in enumerate(spoken) if code and i not in found]
    missing = [language for index, language in zip(found, languages) if index is None]
    are_different = len({spoken[i] for i in unnamed}) == len(unnamed) == len(missing)
    if are_different and not any(missing):
        found = [unnamed.pop(0) if index is None else index for index in found]
    source, target = found
    return None if source is None or target is None or source == target else (source, target)


def _key(name: str) -> str:
    """Returns what is compared of a name: "source" for "Source text", "source_en", "English source", "SOURCE [x]"."""
    words = re.findall(r"[^\W_]+", re.sub(r"\(.*?\)|\[.*?\]", "", name).lower())
    words = [word for word in words if word not in ("text", "segment", "sentence", "string")]
    kept = [word for word in words if word in (*SOURCES, *TARGETS) or not language_of(word)]
    return "".join(words if language_of(name) else kept or words)


def _check_first_row(place: str, rows: Sequence[Sequence[str]]) -> None:
    """
    Checks that the first of some rows is a sentence, not names of columns.

    Warns if one of its cells is a known name, or if they are short while most other rows are not. Raises a
    `DataFormatError` if they are two languages, or Excel's declaration of the separator.
    """

    def is_short(row: Sequence[str]) -> bool:
        return all(
            len(cell.split()) <= 3 and not cell.strip().endswith(_FULL_STOPS) for cell in row
        )

    first, *others = rows
    message = f"{place}: expected a sentence, or columns named {_NAMES}, got {quote(first)}"
    spoken = list(map(language_of, first))
    if first[0].startswith("sep=") or (None not in spoken and spoken[0] != spoken[1]):
        raise DataFormatError(message)
    names = (*SOURCES, *TARGETS)
    is_known = any(language_of(cell) or "_" in cell or _key(cell) in names for cell in first)
    if is_short(first) and (is_known or 2 * sum(map(is_short, others)) < len(others)):
        logger.warning("%s (scored as a sentence)", message)


def read_table(path: str, source_language: str | None, target_language: str | None) -> Bitext:
    """
    Reads a table separated by tabs or, for `.csv`, by commas or semicolons. Blank lines are skipped.

    The first row may name the columns. Otherwise, there are two, optionally followed by those of an earlier review.
    Scores and decisions of that review stay where there are no new ones.
    """
    languages = (source_language, target_language)
    dialect = {"delimiter": _delimiter(path, languages)} if _is_csv(path) else _TSV
    rows = ((number, cells) for number, cells, _ in _rows(path, dialect) if cells)
    top = list(islice(rows, _SAMPLE))
    first = tuple(top[0][1]) if top else ()
    is_header = _columns(first, languages) is not None
    names = first if is_header else ("source", "target", *(ADDED if _is_annotated(first) else ()))
    width = len(names)
    left, right = _columns(names, languages) or (0, 1)
    places: Sequence[int] = range(width, width + len(ADDED))  # of the columns `ADDED`
    if {*ADDED} <= {*names}:
        places = [names.index(name) for name in ADDED]
    elif not is_header and len(first) == 2:
        _check_first_row(f"{path}:{top[0][0]}", [cells[:2] for _, cells in top])
    segments = []
    for number, cells in chain(top[is_header:], rows):
        if len(cells) != width:
            expected = f"{width} columns" if is_header else f"2 columns, or columns named {_NAMES}"
            raise DataFormatError(f"{path}:{number}: expected {expected}, got {len(cells)}")
        segments.append(make_segment(f"line {number}", path, number, cells[left], cells[right]))

    def write(draft: Path, answers: Iterable[Answer | None]) -> None:
        header = [dict(zip(ADDED, ADDED))] * is_header
        added = chain(header, map(_cells, segments, answers))
        with open_text(draft, path) as file:
            for _, cells, end in _rows(path, dialect):
                if cells:
                    cells += [""] * (max(places) + 1 - len(cells))
                    for name, cell in next(added).items():
                        cells[places[ADDED.index(name)]] = cell
                csv.writer(file, lineterminator=end, **dialect).writerow(cells)

    source, target = (language_of(names[index]) if is_header else None for index in (left, right))
    return Bitext(segments, source, target, write)


def _is_csv(path: str) -> bool:
    return path.lower().removesuffix(".gz").endswith(".csv")


def _delimiter(path: str, languages: tuple[str | None, str | None]) -> str:
    """Detects a `.csv` delimiter: the one that gives known names, else two columns, else rows of equal length."""
    sample = [line for _, line in islice(read_lines(path, keepends=True), _SAMPLE)]

    def rank(delimiter: str) -> tuple[bool, ...]:
        try:
            rows = list(filter(None, csv.reader(sample, delimiter=delimiter)))
        except csv.Error:
            return ()
        # The last row of a sample may be incomplete.
        widths = {len(row) for row in (rows[:-1] if len(sample) == _SAMPLE else rows)}
        is_named = _columns(next(map(tuple, rows), ()), languages) is not None
        return is_named, widths == {2}, len(widths) == 1 and widths != {1}

    return max(",;", key=rank)


def _rows(path: str, dialect: dict[str, Any]) -> Iterator[tuple[int, list[str], str]]:
    """Yields the line number, the cells and the line ending of each row. A blank row has no cells."""
    end = "\n"

    def lines() -> Iterator[str]:
        nonlocal end
        for _, line in read_lines(path, keepends=True):
            end = "\r\n" if line.endswith("\r\n") else "\n" if line.endswith("\n") else end
            yield line

    reader = csv.reader(lines(), strict=True, **dialect)
    number = 1
    try:
        for cells in reader:
            yield number, cells, end
            number = reader.line_num + 1
    except csv.Error as error:
        raise DataFormatError(f"{path}:{number}: {error}") from None


def _is_annotated(cells: Sequence[str]) -> bool:
    """Returns whether the first row of a table without names has two columns followed by a review's columns."""
    ours = r"([\d.]*\t){4}[\d -]*\t[\d -]*\t[a-z -]*\t[\d. ]*\t[^\t]*\t(accept|reject)?\t.*"
    return len(cells) == 2 + len(ADDED) and bool(re.fullmatch(ours, "\t".join(cells[2:])))


def _values(segment: TranslatedSentence, answer: Answer | None) -> dict[str, Any]:
    """Returns the known values of the columns in `ADDED`: lists of errors and findings, None in empty cells."""
    values: dict[str, Any] = {}
    if answer is not None:
        values = dict.fromkeys(ADDED[:-3]) | {"checks": answer.get("checks")}
        values |= {name: round(answer[name], 4) for name in SCORES if name in answer}
    spans = errors_of(segment, answer)
    if spans is not None:
        values |= {
            "start_ids": [span["start"] for span in spans],
            "end_ids": [span["end"] for span in spans],
            "errors": [span.get("severity", UNKNOWN_SEVERITY) for span in spans],
            "probabilities": [round(s["probability"], 4) for s in spans if "probability" in s],
        }
    if is_reviewed(segment):
        values |= {"decision": segment.decision, "reviewer_note": segment.note}
    return values


def _cells(segment: TranslatedSentence, answer: Answer | None) -> dict[str, str]:
    """Returns the cells of the columns in `ADDED` that are known."""

    def cell(value: Any) -> str:
        if isinstance(value, dict):  # a finding
            return " ".join(value["message"].split())
        return "" if value is None else f"{value:.4f}" if isinstance(value, float) else str(value)

    without_errors = {"start_ids": "-1", "end_ids": "-1", "errors": "no-error"}
    return {
        name: ("; " if name == "checks" else " ").join(map(cell, value))
        or without_errors.get(name, "")
        if isinstance(value, list)
        else cell(value)
        for name, value in _values(segment, answer).items()
    }


def write_table(
    draft: Path, answers: Iterable[Answer | None], segments: Iterable[TranslatedSentence]
) -> None:
    """Writes segments and their scores as a table with a header. In a `.tsv` file, tabs and newlines become spaces."""
    is_csv = _is_csv(draft.name)
    with open_text(draft) as file:
        writer = csv.writer(file, lineterminator="\n", **({} if is_csv else _TSV))
        writer.writerow(["source", "target", *ADDED])
        for segment, answer in zip(segments, answers):
            texts = [text if is_csv else re.sub("[\t\r\n]", " ", text) for text in segment.texts]
            added = _cells(segment, answer)
            writer.writerow([*texts, *(added.get(name, "") for name in ADDED)])


def read_json_lines(path: str, source_language: str | None, target_language: str | None) -> Bitext:
    """Reads JSON objects, such as answers, with a source and a translation: strings or lists of words."""
    segments = []
    for number, value in read_objects(path):
        name = f"line {number}"
        names = tuple(value)
        columns = _columns(names, (source_language, target_language))
        texts = [_text(value[names[i]]) for i in columns or ()]
        if texts and None not in texts:
            segments.append(make_segment(name, path, number, *map(str, texts)))
        elif isinstance(error := value.get("error"), str):
            segments.append(make_segment(name, path, number, "", "", error=error))
        else:
            expected = f"an object with texts named {_NAMES}"
            raise DataFormatError(f"{path}:{number}: expected {expected}, got {quote(value)}")

    def write(draft: Path, answers: Iterable[Answer | None]) -> None:
        waiting = zip(segments, answers)
        with open_text(draft, path) as file:
            for _, line in read_lines(path, keepends=True):
                if line.strip():
                    fields = json.loads(line)
                    old = fields.get(_OWN)
                    known = (old if isinstance(old, dict) else {}) | _values(*next(waiting))
                    fields[_OWN] = {name: known.get(name) for name in ADDED}
                    end = line[len(line.rstrip("\r\n")) :]
                    line = json.dumps(fields, ensure_ascii=False) + end
                file.write(line)

    return Bitext(segments, write=write)


def _text(value: Any) -> str | None:
    """Returns a string, or the words of a list joined by spaces; None for anything else."""
    if isinstance(value, list) and all(isinstance(word, str) for word in value):
        return " ".join(value)
    return value if isinstance(value, str) else None
