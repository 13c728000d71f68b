"""
CoNLL-U (Universal Dependencies, https://universaldependencies.org/format.html), as far as taggers and parsers need it.

A sentence has its text, so that it can be written back with other columns and all other bytes as they were. The words
are those with an integer ID. Multiword tokens (`3-4`) and empty nodes (`5.1`) are no words; they are written back.
Its dependency tree, in the columns HEAD and DEPREL, is checked when it is asked for (`tree_of`).
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

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
    """The comments of the form `# key = value` (`sent_id`, `text`, ...), and `newdoc` and `newpar` without a value."""
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
            key, equals, value = (part.strip() for part in line[1:].partition("="))
            if key in ("newdoc", "newpar") or (key and value):
                comments[key] = value if equals else None
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


class DependencyTree(NamedTuple):
    """The basic dependencies of a sentence."""

    heads: list[int]
    """Of each word: the number of its head, from 1; 0 for the root."""
    labels: list[str]
    """Of each word: its DEPREL."""


def tree_of(sentence: ConlluSentence, path: TextPath) -> DependencyTree:
    """
    The tree of a sentence that was read from a file.

    # Raises

    `DataFormatError`, with file and line: a HEAD that is no word of the sentence, a DEPREL that is empty, no root or
    several, a cycle.
    """
    heads: list[int] = []
    labels = sentence.column("deprel")
    for head, label, line in zip(sentence.column("head"), labels, sentence.lines):
        # Python reads no numbers of thousands of digits.
        is_number = head.isascii() and head.isdigit() and len(head) < 10
        if not is_number or int(head) > len(labels):
            raise DataFormatError(
                f"{path}:{line}: expected a HEAD from 0 to {len(labels)}, got {quote(head)}"
            )
        if label == UNKNOWN:
            raise DataFormatError(f"{path}:{line}: expected a DEPREL, got {UNKNOWN!r}")
        heads.append(int(head))
    roots = [index for index, head in enumerate(heads) if head == 0]
    if len(roots) != 1:
        line = sentence.lines[roots[1] if roots else 0]
        raise DataFormatError(f"{path}:{line}: expected one word with HEAD 0, got {len(roots)}")
    cycle = find_cycle(heads)
    if cycle:
        words = ", ".join(map(str, cycle))
        line = sentence.lines[cycle[0] - 1]
        raise DataFormatError(f"{path}:{line}: expected a tree, got a cycle of the words {words}")
    return DependencyTree(heads, labels)


def check_heads(heads: Sequence[Any], count: int, name: str) -> None:
    """Raises a `DataFormatError` where numbers from Python are not the heads of a tree of so many words."""
    are_numbers = isinstance(heads, list) and all(type(head) is int for head in heads)
    if not are_numbers or len(heads) != count or not all(0 <= head <= count for head in heads):
        raise DataFormatError(
            f"{name}: expected {count} numbers from 0 to {count}, one a word, got {quote(heads)}"
        )
    if heads.count(0) != 1 or find_cycle(heads):
        raise DataFormatError(f"{name}: expected a tree with one root, got {quote(heads)}")


def find_cycle(heads: Sequence[int]) -> list[int] | None:
    """The words of a cycle, numbers from 1 in ascending order; None where there is none."""
    reaches_root = [True, *[False] * len(heads)]
    for start in range(1, len(heads) + 1):
        path: list[int] = []
        word = start
        while not reaches_root[word]:
            if word in path:
                return sorted(path[path.index(word) :])
            path.append(word)
            word = heads[word - 1]
        for word in path:
            reaches_root[word] = True
    return None
