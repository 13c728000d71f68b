"""The columns of the CoNLL shared tasks: parser and formatter."""

import re
from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial

from allennlp_nef.data.files import peek, read_lines
from allennlp_nef.errors import DataFormatError, UserError, quote

# The values of the tag column for words without a gold tag.
NO_TAG = ("?", "")
# Empty lines, and lines that start a document.
_BOUNDARY = re.compile(r"[ \t]*(-DOCSTART-([ \t].*)?)?")
# For `conlleval`, `-X-` also ends a sentence.
CONLLEVAL_BOUNDARY = re.compile(r"[ \t]*((-DOCSTART-|-X-)([ \t].*)?)?")


@dataclass
class Rows:
    """The parsed lines of a sentence in a file of CoNLL columns."""

    rows: list[list[str]] = field(default_factory=list)
    """The columns of each token."""
    lines: "array[int]" = field(default_factory=partial(array, "L"))
    """The line number of each token, from 1."""
    separator: str = "\t"
    """The column separator."""


def read_columns(
    path: str,
    encoding: str = "utf-8",
    comment_prefix: str | Sequence[str] | None = None,
    boundary: re.Pattern[str] = _BOUNDARY,
    sentence_end: str | None = None,
) -> Iterator[Rows]:
    """Yields the sentences of a file of the CoNLL shared tasks (CoNLL-2000, 2002, 2003): one token per line, and an
    empty line after each sentence.

    Columns are separated by tabs if the lines have tabs, and otherwise by blanks. All token lines must have the same
    separator and the same number of columns. If every line ends in a tab, it is ignored. Lines that match `boundary`,
    by default empty lines and those that start with `-DOCSTART-`, end a sentence. Lines that start with one of the
    `comment_prefix` are skipped. With `sentence_end`, tokens and comments end a sentence, too: tokens that have this
    value in a column, alone or among others, which `|` separates.

    # Raises

    `DataFormatError`: any error of `read_lines`, or a token line that differs from the first one.
    """

    comments = _prefixes(comment_prefix)

    def is_token(line: str) -> bool:
        return not line.startswith(comments) and not boundary.fullmatch(line)

    has_other_end, numbered = peek(
        read_lines(path, encoding),
        lambda each: is_token(each[1]) and not each[1].rstrip(" ").endswith("\t"),
    )
    end = "" if has_other_end else "\t"
    first_layout, first_line = "", 0
    sentence = Rows()
    for number, line in numbered:
        if not is_token(line):
            if sentence.rows and (sentence_end or boundary.fullmatch(line)):
                yield sentence
                sentence = Rows()
            continue
        line = line.rstrip(" ").removesuffix(end)
        if "\t" in line:
            row, sentence.separator = [column.strip(" ") for column in line.split("\t")], "\t"
        else:
            row, sentence.separator = [column for column in line.split(" ") if column], " "
        separators = "tabs" if sentence.separator == "\t" else "blanks"
        layout = f"{len(row)} column{'s' * (len(row) != 1)} separated by {separators}"
        if not first_line:
            first_layout, first_line = layout, number
        if layout != first_layout:
            raise DataFormatError(
                f"{path}:{number}: expected {first_layout}, as in line {first_line}, got {layout}: {quote(line)}"
            )
        sentence.rows.append(row)
        sentence.lines.append(number)
        if sentence_end and any(sentence_end in column.split("|") for column in row):
            yield sentence
            sentence = Rows()
    if sentence.rows:
        yield sentence


def _prefixes(comment_prefix: str | Sequence[str] | None) -> tuple[str, ...]:
    """Returns the starts of comments: one, several or none."""
    prefixes = [comment_prefix] if isinstance(comment_prefix, str) else comment_prefix or ()
    return tuple(filter(None, prefixes))


def format_columns(
    rows: Sequence[Sequence[str]],
    separator: str,
    comment_prefix: str | Sequence[str] | None = None,
) -> str:
    """Returns the lines of a sentence, and an empty line.

    # Raises

    `UserError`: a word that would not be read as a token at the start of a line, such as `-DOCSTART-`.
    """
    lines = [separator.join(row) for row in rows]
    for line in lines:
        if _BOUNDARY.fullmatch(line) or line.startswith(("\ufeff", *_prefixes(comment_prefix))):
            raise UserError(
                f"output_format: conll cannot have a line that begins like {quote(line)}"
            )
    return "".join(f"{line}\n" for line in lines) + "\n"
