"""CoNLL-U (https://universaldependencies.org/format.html): parser and formatter."""

import re
from array import array
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from allennlp_nef.data.files import read_lines
from allennlp_nef.errors import DataFormatError, quote

COLUMNS = ("id", "form", "lemma", "upos", "xpos", "feats", "head", "deprel", "deps", "misc")
TAG_COLUMNS = ("upos", "xpos", "feats")
UNKNOWN = "_"
_RANGE = re.compile(r"([1-9][0-9]{,8})-([1-9][0-9]{,8})")


@dataclass
class ConlluSentence:
    """A sentence of a CoNLL-U file. Its words have integer IDs; multiword tokens and empty nodes are not words."""

    path: str
    text: list[str]
    """All lines with their line endings, including comments and the empty lines after the sentence."""
    first_line: int
    """The line number of `text[0]`, from 1."""
    words: list[list[str]]
    """The ten columns of each word."""
    lines: "array[int]"
    """The line number of each word, from 1."""

    def column(self, name: str) -> list[str]:
        """Returns the value of one of the `COLUMNS` for each word."""
        index = COLUMNS.index(name)
        return [word[index] for word in self.words]

    def with_columns(self, values: Mapping[str, Sequence[str]]) -> str:
        """Returns the text with different values in some of the `COLUMNS`. All other bytes are unchanged."""
        text = list(self.text)
        for name, column in values.items():
            index = COLUMNS.index(name)
            for number, value in zip(self.lines, column, strict=True):
                # The line ending belongs to the last column.
                columns = text[number - self.first_line].split("\t")
                columns[index] = value
                text[number - self.first_line] = "\t".join(columns)
        return "".join(text)


def read_conllu(path: str, encoding: str = "utf-8") -> Iterator[ConlluSentence]:
    """Yields the sentences of a file. Together, their `text` is the file without its byte order mark.

    # Raises

    `DataFormatError`: any error of `read_lines`, a line that does not have ten columns, an empty column, an ID that is
    out of order, a multiword token with missing words, or a sentence without words.
    """
    text: list[str] = []
    first_line, started, ended = 1, False, False
    for number, line in read_lines(path, encoding, keepends=True):
        is_empty = not line.strip(" \r\n")
        if ended and not is_empty:
            yield _parse(path, text, first_line)
            text, first_line, started, ended = [], number, False, False
        text.append(line)
        started = started or not is_empty
        ended = started and is_empty
    if started:
        yield _parse(path, text, first_line)


def _parse(path: str, text: list[str], first_line: int) -> ConlluSentence:
    sentence = ConlluSentence(path, text, first_line, [], array("L"))
    empty_nodes = range_end = 0
    for number, line in enumerate(text, first_line):
        line = line.rstrip("\r\n")
        if not line.strip(" ") or line.startswith("#"):
            continue
        columns = line.split("\t")
        if len(columns) != len(COLUMNS) or not all(columns):
            raise DataFormatError(
                f"{path}:{number}: expected {len(COLUMNS)} columns separated by tabs, none of them empty, "
                f"got {len(columns)}: {quote(line)}"
            )
        last = len(sentence.words)
        match = _RANGE.fullmatch(columns[0]) if range_end <= last else None
        if columns[0] == str(last + 1):
            sentence.words.append(columns)
            sentence.lines.append(number)
            empty_nodes = 0
        elif columns[0] == f"{last}.{empty_nodes + 1}":
            empty_nodes += 1
        elif match and int(match[1]) == last + 1 <= int(match[2]):
            range_end = int(match[2])
        else:
            raise DataFormatError(
                f"{path}:{number}: expected the ID {last + 1}, {last}.{empty_nodes + 1} or a range from {last + 1} "
                f"(ranges must not overlap), got {quote(columns[0])}"
            )
    if not sentence.words:
        raise DataFormatError(f"{path}:{first_line}: expected a sentence with words, got none")
    if range_end > len(sentence.words):
        raise DataFormatError(
            f"{path}:{sentence.lines[-1]}: expected words up to {range_end}, the end of a multiword token, "
            f"got {len(sentence.words)}"
        )
    return sentence


def format_conllu(forms: Sequence[str], columns: Mapping[str, Sequence[str]]) -> str:
    """Returns the lines of a new sentence: its words and some of the other `COLUMNS`."""
    lines = [f"# text = {' '.join(forms)}\n"]
    for index, form in enumerate(forms):
        values = {name: column[index] for name, column in columns.items()}
        row = {"id": str(index + 1), "form": form, **values}
        lines.append("\t".join(row.get(name, UNKNOWN) for name in COLUMNS) + "\n")
    return "".join(lines) + "\n"
