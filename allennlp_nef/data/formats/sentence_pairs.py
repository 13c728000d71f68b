"""
Pairs of sentences, with a class (such as entailment), a score from 1 to 5, or neither.

- SICK: a table whose columns are separated by tabs, with their names in the first line: `sentence_A`, `sentence_B`,
  and where known `entailment_judgment` (or `entailment_label`) and `relatedness_score`. Other columns are not read.
- SNLI: files whose names end in `.jsonl`, a JSON object a line, with `sentence1`, `sentence2` and `gold_label`, which
  is `-` where the annotators did not agree.

Empty lines are no pairs.
"""

import json
from collections.abc import Iterator
from typing import Any, NamedTuple

from allennlp_nef.data.formats.characters import SplitWords, check_labels
from allennlp_nef.data.formats.text_files import (
    TextPath,
    is_blank,
    iterate_lines,
    number_of,
    parse_lines,
)
from allennlp_nef.errors import DataFormatError, OnError, quote, raise_error

MIN_SCORE, MAX_SCORE = 1, 5
NO_CLASS = "-"
"""The class of a pair whose annotators did not agree."""
_SENTENCES = ("sentence_A", "sentence_B")
_CLASSES = ("entailment_judgment", "entailment_label")
_SCORE = "relatedness_score"
Row = dict[str, Any]


class SentencePair(NamedTuple):
    """A pair of a file."""

    line: int
    """From 1."""
    first: list[str]
    second: list[str]
    label: str | None = None
    """The class; None where it is not known."""
    score: float | None = None
    """From 1 to 5; None where it is not known."""


def read_sentence_pairs(
    path: TextPath,
    split: SplitWords = str.split,
    encoding: str = "utf-8",
    on_error: OnError = raise_error,
) -> Iterator[SentencePair]:
    """
    The pairs of a file, in its order.

    # Parameters

    split : `Callable[[str], list[str]]`, optional (default = `str.split`)
        The words of a sentence.

    # Raises

    `DataFormatError`: what `parse_lines` raises, missing columns or fields, a line that is no JSON object, a sentence
    without words, a class that `check_labels` refuses, a score that is no number from 1 to 5.
    """
    is_table = not str(path).endswith(".jsonl")
    names = _column_names(path, encoding) if is_table else []
    header: list[int] = []

    def parse(number: int, line: str) -> SentencePair | None:
        if is_table and not header:
            header.append(number)
            return None
        pair = _pair(number, _cells(names, line) if is_table else _object(line), split)
        check_labels([] if pair.label is None else [pair.label], f"{path}:{number}")
        return pair

    return parse_lines(path, parse, "pair of sentences, got none", encoding, on_error)


def _column_names(path: TextPath, encoding: str) -> list[str]:
    """The cells of the first line of a table. Raises a `DataFormatError` where a sentence is not among them."""
    for number, line in enumerate(iterate_lines(path, encoding), 1):
        if is_blank(line):
            continue
        names = line.rstrip("\r\n").split("\t")
        missing = [name for name in _SENTENCES if name not in names]
        if missing:
            raise DataFormatError(
                f"{path}:{number}: expected a first line with the names of the columns, {' and '.join(_SENTENCES)} "
                f"among them, got no {missing[0]} in {quote(line.strip())}"
            )
        return names
    return []


def _cells(names: list[str], line: str) -> Row:
    cells = line.split("\t")
    if len(cells) != len(names):
        raise ValueError(
            f"expected {len(names)} columns, separated by tabs, as in the first line, got {len(cells)}"
        )
    return dict(zip(names, cells))


def _object(line: str) -> Row:
    """The fields of SNLI by the names of SICK."""
    try:
        fields = json.loads(line)
    except (ValueError, RecursionError):
        fields = None
    if not isinstance(fields, dict):
        raise ValueError(f"expected a JSON object, got {quote(line.strip())}")
    names = {"sentence1": _SENTENCES[0], "sentence2": _SENTENCES[1], "gold_label": _CLASSES[0]}
    for name in names:
        optional = name == "gold_label"
        if not (isinstance(fields.get(name), str) or (optional and fields.get(name) is None)):
            got = quote(fields[name]) if name in fields else "no such field"
            raise ValueError(f"{name}: expected a string, got {got}")
    return {names[name]: fields[name] for name in names if fields.get(name) is not None}


def _pair(line: int, row: Row, split: SplitWords) -> SentencePair:
    first, second = (split(row[name]) for name in _SENTENCES)
    for name, words in zip(_SENTENCES, (first, second)):
        if not words:
            raise ValueError(f"{name}: expected a sentence, got none")
    label = next((row[name] for name in _CLASSES if name in row), None)
    score = None
    if _SCORE in row:
        score = number_of(row[_SCORE])
        if not MIN_SCORE <= score <= MAX_SCORE:
            raise ValueError(
                f"{_SCORE}: expected a number from {MIN_SCORE} to {MAX_SCORE}, got {quote(row[_SCORE])}"
            )
    return SentencePair(line, first, second, label, score)
