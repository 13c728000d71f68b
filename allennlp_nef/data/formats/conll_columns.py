"""
Columns of the CoNLL shared tasks (CoNLL-2000, 2002, 2003): a token a line, an empty line after each sentence.

Columns are separated by blanks or tabs. Every token line of a file has the same number of them; what they hold is not
fixed. A line whose first column is `-DOCSTART-` separates documents. A line whose first column is `-X-` ends a
sentence, as for `conlleval`. Both are no tokens. A line that begins with `#` is a token as others are, unless the
caller says that comments begin so, as in GermEval 2014.
"""

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from allennlp_nef.data.formats.text_files import TextPath, first_line_of, is_blank, read_blocks
from allennlp_nef.errors import DataFormatError, OnError, quote, raise_error

BOUNDARIES = ("-DOCSTART-", "-X-")
_SEPARATOR = re.compile(r"[ \t]+")


class ColumnSentence(NamedTuple):
    """A sentence, by columns."""

    rows: list[tuple[str, ...]]
    """The columns of each token."""
    lines: list[int]
    """The line of each token, from 1."""


def read_columns(
    path: TextPath,
    encoding: str = "utf-8",
    on_error: OnError = raise_error,
    comment_prefix: str | None = None,
) -> Iterator[ColumnSentence]:
    """
    The sentences of a file, in order. Those with an error go to `on_error`. Lines that begin with `comment_prefix`,
    where there is one, are left out.

    # Raises

    `DataFormatError`: what `read_blocks` raises, a line with more or fewer columns than the first, no sentence.
    """
    num_columns = first_line = 0
    starts_with_hash = False
    for block in read_blocks(path, encoding):
        rows: list[tuple[str, ...]] = []
        numbers: list[int] = []
        for number, line in enumerate(block.lines, block.line):
            if is_blank(line) or (comment_prefix and line.startswith(comment_prefix)):
                continue
            row = tuple(_SEPARATOR.split(line.strip(" \t\r\n")))
            if row[0] in BOUNDARIES:
                if rows:  # without an empty line before it
                    yield ColumnSentence(rows, numbers)
                    rows, numbers = [], []
                continue
            if not num_columns:
                num_columns, first_line = len(row), number
                starts_with_hash = row[0].startswith("#")
            if len(row) != num_columns:
                message = (
                    f"{path}:{number}: expected {num_columns} columns as in line {first_line}, got {len(row)}: "
                    f"{quote(' '.join(row))}"
                )
                if starts_with_hash and not comment_prefix:
                    message += (
                        f" (line {first_line} begins with #: is it a comment? See comment_prefix)"
                    )
                on_error(DataFormatError(message))
                rows = []
                break
            rows.append(row)
            numbers.append(number)
        if rows:
            yield ColumnSentence(rows, numbers)
    if not num_columns:
        raise DataFormatError(
            f"{path}:{first_line_of(path)}: expected at least one sentence, got none"
        )


def check_separator(sentence: ColumnSentence, path: TextPath) -> None:
    """Raises a `DataFormatError` for a sentence whose only column looks like several, separated by commas."""
    words = [row[0] for row in sentence.rows]
    for separator in ",;":
        if len(words) > 1 and all(separator in word[1:-1] for word in words):
            raise DataFormatError(
                f"{path}:{sentence.lines[0]}: expected columns separated by blanks or tabs, got one column, whose "
                f"words all have {separator!r} in them: {quote(words[0])}"
            )


def format_columns(rows: Sequence[Sequence[str]]) -> str:
    """
    The lines of a sentence, columns separated by one blank, with the empty line after it.

    # Raises

    `DataFormatError`: a column that is empty or has whitespace in it.
    """
    for row in rows:
        for column in row:
            if not column or re.search(r"[ \t\r\n]", column):
                raise DataFormatError(
                    f"column: expected text without whitespace, got {quote(column)}"
                )
    return "".join(" ".join(row) + "\n" for row in rows) + "\n"


def as_column(text: str) -> str:
    """Any word or tag as a column: whitespace becomes `_`, and the hyphens of the `BOUNDARIES` do."""
    text = re.sub(r"\s+", "_", text)
    return text.replace("-", "_") if text in BOUNDARIES else text
