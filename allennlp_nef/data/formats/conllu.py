"""
CoNLL-U (Universal Dependencies, https://universaldependencies.org/format.html), as far as taggers and parsers need it.

A sentence has its text, so that it can be written back with other columns and all other bytes as they were. The words
are those with an integer ID. Multiword tokens (`3-4`) and empty nodes (`5.1`) are no words; they are written back.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import conllu.parser

from allennlp_nef.data.formats.characters import check_words, in_lines
from allennlp_nef.data.formats.text_files import Block, TextPath, is_blank, read_blocks
from allennlp_nef.errors import DataFormatError, OnError, quote, raise_error

COLUMNS = ("id", "form", "lemma", "upos", "xpos", "feats", "head", "deprel", "deps", "misc")
TAG_COLUMNS = ("upos", "xpos", "feats")
UNKNOWN = "_"
_RANGE = re.compile(r"([1-9][0-9]{,8})-([1-9][0-9]{,8})")


class ConlluSentence(NamedTuple):
    """One sentence of a CoNLL-U file."""

    words: list[tuple[str, ...]]
    """The ten columns of each word."""
    lines: list[int]
    """The line of each word, from 1."""
    text: list[str]
    """All lines of the sentence with their ends, also comments and the empty line after it."""
    first_line: int
    """Line of `text[0]`, from 1."""
    comments: dict[str, str | None]
    """The comments of the form `# key = value` (`sent_id`, `text`, ...)."""
    path: str
    """The file, as messages name it."""

    def column(self, name: str) -> list[str]:
        """The values of one of the `COLUMNS`, one a word."""
        index = COLUMNS.index(name)
        return [word[index] for word in self.words]

    def with_columns(self, values: Mapping[str, Sequence[str]]) -> str:
        """
        The text with other values in some of the `COLUMNS`, all else as it was.

        # Raises

        `DataFormatError`: not as many values as words, or one that is empty or has a tab or line end in it.
        """
        text = list(self.text)
        for name, column in values.items():
            _check_values(name, column, len(self.words))
            index = COLUMNS.index(name)
            for line, value in zip(self.lines, column):
                columns, end = _split_line(text[line - self.first_line])
                columns[index] = value
                text[line - self.first_line] = "\t".join(columns) + end
        return "".join(text)


def read_conllu(
    path: TextPath, encoding: str = "utf-8", on_error: OnError = raise_error
) -> Iterator[ConlluSentence]:
    """
    The sentences of a file, in order. Those with an error go to `on_error`.

    # Raises

    `DataFormatError`: what `read_blocks` raises; a line without ten columns, an empty column, an ID that is none or out
    of order, a multiword token that overlaps another or lacks words, a form that `check_words` refuses, a sentence
    without words.
    """
    for block in read_blocks(path, encoding):
        try:
            sentence = _parse(block, path)
        except DataFormatError as error:
            on_error(error)
            continue
        yield sentence


def format_conllu(forms: Sequence[str], columns: Mapping[str, Sequence[str]]) -> str:
    """
    A sentence with its words, and with the values of some of the other `COLUMNS`; the rest are empty.

    # Raises

    `DataFormatError`: no words, not as many values as words, or one that is empty or has a tab or line end in it.
    """
    _check_values("form", forms, max(len(forms), 1))
    for name, values in columns.items():
        _check_values(name, values, len(forms))
    lines = [f"# text = {' '.join(forms)}\n"]
    for index, form in enumerate(forms):
        row = {"id": str(index + 1), "form": form}
        row.update((name, values[index]) for name, values in columns.items())
        lines.append("\t".join(row.get(name, UNKNOWN) for name in COLUMNS) + "\n")
    return "".join(lines) + "\n"


def _check_values(name: str, values: Sequence[str], expected: int) -> None:
    if len(values) != expected:
        raise DataFormatError(f"{name}: expected {expected} values, one a word, got {len(values)}")
    for value in values:
        if not value or any(character in value for character in "\t\r\n"):
            raise DataFormatError(
                f"{name}: expected text without tabs and line ends, got {quote(value)}"
            )


def _split_line(line: str) -> tuple[list[str], str]:
    """The columns of a line, and its end."""
    text = line.rstrip("\r\n")
    return text.split("\t"), line[len(text) :]


def _parse(block: Block, path: TextPath) -> ConlluSentence:
    words: list[tuple[str, ...]] = []
    numbers: list[int] = []
    comments: dict[str, str | None] = {}
    ids = _Ids()
    for number, line in enumerate(block.lines, block.line):
        if is_blank(line) and "\t" not in line:
            continue
        if line.startswith("#"):
            comments.update(conllu.parser.parse_comment_line(line))
            continue
        location = f"{path}:{number}"
        columns, _ = _split_line(line)
        if len(columns) != len(COLUMNS) or not all(columns):
            got = "an empty one" if len(columns) == len(COLUMNS) else str(len(columns))
            text = line.rstrip("\r\n")
            raise DataFormatError(
                f"{location}: expected {len(COLUMNS)} columns, separated by tabs, got {got}: {quote(text)}"
            )
        if ids.add(columns[0], location):
            words.append(tuple(columns))
            numbers.append(number)
    if not words:
        number, line = next(
            (i, line) for i, line in enumerate(block.lines, block.line) if not is_blank(line)
        )
        raise DataFormatError(
            f"{path}:{number}: expected a sentence with words, got {quote(line.rstrip())}"
        )
    if ids.range_end > len(words):
        raise DataFormatError(
            f"{path}:{numbers[-1]}: expected words up to {ids.range_end}, where a multiword token ends, got {ids.words}"
        )
    sentence = ConlluSentence(words, numbers, block.lines, block.line, comments, str(path))
    check_words(sentence.column("form"), in_lines(path, numbers))
    return sentence


class _Ids:
    """The IDs of a sentence so far."""

    def __init__(self) -> None:
        self.words = 0
        self.empty_nodes = 0
        """Since the last word."""
        self.range_end = 0
        """The last word of the multiword tokens."""

    def add(self, text: str, location: str) -> bool:
        """Takes the next ID; whether it is that of a word. Raises a `DataFormatError` where it is out of order."""
        following, empty_node = str(self.words + 1), f"{self.words}.{self.empty_nodes + 1}"
        if text == following:
            self.words, self.empty_nodes = self.words + 1, 0
            return True
        may_be_range = self.range_end <= self.words
        match = _RANGE.fullmatch(text) if may_be_range else None
        if match and match[1] == following and int(match[2]) > self.words:
            self.range_end = int(match[2])
        elif text == empty_node:
            self.empty_nodes += 1
        else:
            a_range = f", a range from {following}" if may_be_range else ""
            raise DataFormatError(
                f"{location}: expected the ID {following}{a_range} or {empty_node}, got {quote(text)}"
            )
        return False
