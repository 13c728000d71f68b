"""
Pairs of sentences, with a class (such as entailment), a score from 1 to 5, or neither.

- SICK: a table whose columns are separated by tabs, with their names in the first line: `sentence_A`, `sentence_B`,
  and where known `entailment_judgment` (or `entailment_label`) and `relatedness_score`. Other columns are not read.
- SNLI: files whose names end in `.jsonl`, a JSON object a line, with `sentence1`, `sentence2` and `gold_label`, which
  is `-` where the annotators did not agree.

Empty lines are no pairs. The dependency trees of pairs are in a file of CoNLL-U: that of the first sentence of each
pair, then that of the second (`with_heads`).
"""

import json
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from allennlp_nef.data.formats.characters import check_labels
from allennlp_nef.data.formats.conllu import ConlluSentence, read_conllu, tree_of
from allennlp_nef.data.formats.text_files import TextPath, is_blank, iterate_lines, number_of
from allennlp_nef.errors import DataFormatError, OnError, quote, raise_error

MIN_SCORE, MAX_SCORE = 1, 5
NO_CLASS = "-"
"""The class of a pair whose annotators did not agree."""
_SENTENCES = ("sentence_A", "sentence_B")
_CLASSES = ("entailment_judgment", "entailment_label")
_SCORE = "relatedness_score"
Split = Callable[[str], list[str]]
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
    split: Split = str.split,
    encoding: str = "utf-8",
    on_error: OnError = raise_error,
) -> Iterator[SentencePair]:
    """
    The pairs of a file, in its order.

    # Parameters

    path : `str`
    split : `Callable[[str], list[str]]`, optional (default = `str.split`)
        The words of a sentence.
    encoding : `str`, optional (default = `"utf-8"`)
    on_error : `OnError`, optional (default: raise the error)
        What happens to a pair that cannot be read.

    # Raises

    `DataFormatError`: what `iterate_lines` raises, missing columns or fields, a line that is no JSON object, a sentence
    without words, a class that `check_labels` refuses, a score that is no number from 1 to 5, a file without pairs.
    """
    has_pair = False
    rows = _objects if str(path).endswith(".jsonl") else _table_rows
    for number, row in rows(path, encoding):
        has_pair = True
        try:
            try:
                pair = _pair(number, row(), split)
            except ValueError as error:
                raise DataFormatError(f"{path}:{number}: {error}") from None
            check_labels([] if pair.label is None else [pair.label], f"{path}:{number}")
        except DataFormatError as error:
            on_error(error)
            continue
        yield pair
    if not has_pair:
        raise DataFormatError(f"{path}:1: expected at least one pair of sentences, got none")


def _table_rows(path: TextPath, encoding: str) -> Iterator[tuple[int, Callable[[], Row]]]:
    """The number of each line and what gives its cells by their names, or raises a `ValueError`."""
    names: list[str] = []
    for number, line in enumerate(iterate_lines(path, encoding), 1):
        if is_blank(line):
            continue
        cells = line.rstrip("\r\n").split("\t")
        if not names:
            names = cells
            missing = [name for name in _SENTENCES if name not in names]
            if missing:
                raise DataFormatError(
                    f"{path}:{number}: expected a first line with the names of the columns, {' and '.join(_SENTENCES)} "
                    f"among them, got no {missing[0]} in {quote(line.strip())}"
                )
            continue
        yield number, partial(_cells, names, cells)


def _cells(names: list[str], cells: list[str]) -> Row:
    if len(cells) != len(names):
        raise ValueError(
            f"expected {len(names)} columns, separated by tabs, as in the first line, got {len(cells)}"
        )
    return dict(zip(names, cells))


def _objects(path: TextPath, encoding: str) -> Iterator[tuple[int, Callable[[], Row]]]:
    for number, line in enumerate(iterate_lines(path, encoding), 1):
        if not is_blank(line):
            yield number, partial(_object, line)


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


def _pair(line: int, row: Row, split: Split) -> SentencePair:
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


Heads = tuple[list[int], list[int]] | None
"""Of both sentences the head of each word, from 1, or 0; None without trees."""


def with_heads(
    read_pairs: Callable[[OnError], Iterable[SentencePair]],
    path: TextPath,
    folder: str | None,
    on_error: OnError = raise_error,
) -> Iterator[tuple[SentencePair, Heads]]:
    """
    Each pair with its heads.

    # Parameters

    read_pairs : `Callable[[OnError], Iterable[SentencePair]]`
        Reads the pairs of the file, all of them, in its order. It calls its argument once for each pair that cannot be
        read; the trees of that pair are passed over.
    path : `str`
        The file of the pairs.
    folder : `str`, optional
        Where the trees are; the file has the name of that of the pairs, with the ending `.conllu`.
    on_error : `OnError`, optional (default: raise the error)
        What happens to a pair that cannot be read, or whose heads are no tree.

    # Raises

    `DataFormatError`: what `read_conllu` and `tree_of` raise, other words than those of the pair, fewer or more
    sentences than the pairs have.
    """
    if folder is None:
        for pair in read_pairs(on_error):
            yield pair, None
        return
    unread: list[DataFormatError] = []  # the errors of pairs whose trees come next

    def on_unread(error: DataFormatError) -> None:
        on_error(error)
        unread.append(error)

    def pass_over() -> None:
        for _ in range(2 * len(unread)):
            next(sentences, None)
        unread.clear()

    trees_path = str(Path(folder) / f"{Path(str(path)).stem}.conllu")
    sentences = read_conllu(trees_path)
    for pair in read_pairs(on_unread):
        pass_over()
        found = [
            _tree_with_words(next(sentences, None), words, trees_path, f"{path}:{pair.line}")
            for words in (pair.first, pair.second)
        ]
        try:
            first, second = (tree_of(sentence, trees_path).heads for sentence in found)
        except DataFormatError as error:
            on_error(error)
            continue
        yield pair, (first, second)
    pass_over()
    more = next(sentences, None)
    if more is not None:
        raise DataFormatError(
            f"{trees_path}:{more.lines[0]}: expected the end of the file, as in {path}, got another sentence"
        )


def _tree_with_words(
    sentence: ConlluSentence | None, words: list[str], trees_path: str, place: str
) -> ConlluSentence:
    if sentence is None:
        raise DataFormatError(
            f"{trees_path}: expected the tree of {place}, got the end of the file"
        )
    forms = sentence.column("form")
    if forms != words:
        raise DataFormatError(
            f"{trees_path}:{sentence.lines[0]}: expected the words of {place}, "
            f"{quote(' '.join(words))}, got {quote(' '.join(forms))}"
        )
    return sentence
