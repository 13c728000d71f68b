"""CoNLL columns: the parser and writer of the format, and the `conll_tags` reader."""

import json
import re
from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from allennlp.common.checks import ConfigurationError
from allennlp.data import DatasetReader

from allennlp_nef.data.chunks import OUTSIDE, SCHEMES, convert_tags, split_tag
from allennlp_nef.data.dataset_readers.base import Prediction, SentenceReader, read_tagged_objects
from allennlp_nef.data.files import is_json_lines, peek, read_lines
from allennlp_nef.data.sentence import Sentence
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
    comment_prefix: str | None = None,
    boundary: re.Pattern[str] = _BOUNDARY,
) -> Iterator[Rows]:
    """Yields the sentences of a file of the CoNLL shared tasks (CoNLL-2000, 2002, 2003): one token per line, and an
    empty line after each sentence.

    Columns are separated by tabs if the lines have tabs, and otherwise by blanks. All token lines must have the same
    separator and the same number of columns. If every line ends in a tab, it is ignored. Lines that match `boundary`,
    by default empty lines and those that start with `-DOCSTART-`, end a sentence. Lines that start with
    `comment_prefix` are skipped.

    # Raises

    `DataFormatError`: any error of `read_lines`, or a token line that differs from the first one.
    """

    def is_token(line: str) -> bool:
        is_comment = comment_prefix and line.startswith(comment_prefix)
        return not is_comment and not boundary.fullmatch(line)

    has_other_end, numbered = peek(
        read_lines(path, encoding),
        lambda each: is_token(each[1]) and not each[1].rstrip(" ").endswith("\t"),
    )
    end = "" if has_other_end else "\t"
    first_layout, first_line = "", 0
    sentence = Rows()
    for number, line in numbered:
        if not is_token(line):
            if sentence.rows and boundary.fullmatch(line):
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
    if sentence.rows:
        yield sentence


def format_columns(
    rows: Sequence[Sequence[str]], separator: str, comment_prefix: str | None = None
) -> str:
    """Returns the lines of a sentence, and an empty line.

    # Raises

    `UserError`: a word that would not be read as a token at the start of a line, such as `-DOCSTART-`.
    """
    lines = [separator.join(row) for row in rows]
    for line in lines:
        if _BOUNDARY.fullmatch(line) or line.startswith(("\ufeff", comment_prefix or "\ufeff")):
            raise UserError(
                f"output_format: conll cannot have a line that begins like {quote(line)}"
            )
    return "".join(f"{line}\n" for line in lines) + "\n"


def write_conll(reader: "ConllTagsReader", prediction: Prediction) -> str:
    """Writes columns: those of the input file except for the tag (of a request, the word), the probabilities of all
    labels if requested (JSON without blanks), the gold tag if known, and the predicted tag. BIOUL becomes BIO.

    Columns are separated as in the input file, or by tabs if the input is a request or JSON. In this case, the columns
    before the word column are `_`.
    """
    answer, sentence = prediction.answer, prediction.record
    rows, separator = [["_"] * reader.word_column + [word] for word in sentence.words], "\t"
    if sentence.path and not is_json_lines(sentence.path):
        given = reader.reread(sentence)
        separator = given.separator
        tag_index = reader.tag_index(len(given.rows[0]))
        rows = [[text for i, text in enumerate(row) if i != tag_index] for row in given.rows]
    if "label_probabilities" in answer:
        labels, columns = zip(*answer["label_probabilities"].items())
        for row, values in zip(rows, zip(*columns)):
            of_labels = {label: round(value, 6) for label, value in zip(labels, values)}
            row.append(json.dumps(of_labels, ensure_ascii=False, separators=(",", ":")))
    for tags in (sentence.tags, answer["tags"]):
        if tags is not None:
            tags = convert_tags(tags, "BIO") if reader.tag_scheme == "BIOUL" else tags
            rows = [[*row, tag or NO_TAG[0]] for row, tag in zip(rows, tags)]
    return format_columns(rows, separator, reader.comment_prefix)


@DatasetReader.register("conll_tags")
class ConllTagsReader(SentenceReader):
    """Reads the columns of the CoNLL shared tasks, such as the named entities of CoNLL-2002 (word, tag) and CoNLL-2003
    (word, part of speech, chunk, tag). `read_columns` describes the format. Tags may be IOB1, BIO (IOB2), BIOUL or
    BIOES; chunks are read as in `conlleval`. Files ending in `.jsonl` are JSON lines (see `read_tagged_objects`). For
    the fields of an instance see `SentenceReader`.

    A word whose tag is `?` or empty has no gold tag and is ignored in the loss and scores. A file without the tag
    column is unlabeled, and a warning says so.

    # Parameters

    tag_column : `int`, optional (default = `-1`)
        Counted from 0; negative numbers count from the last column. None: the sentences are unlabeled.
    word_column : `int`, optional (default = `0`)
    tag_scheme : `str`, optional (default = `"BIO"`)
        The scheme of the instances' tags: "BIO" or "BIOUL". None: the tags of the file, which can be any labels.
    comment_prefix : `str`, optional (default = `None`, there are no comments)
        The start of comment lines. For GermEval 2014, which has the words in column 1, this is `"#"`.
    tokenizer, token_indexers, max_tokens, label_namespace, encoding, max_instances
        See `SentenceReader` and `NefDatasetReader`.
    """

    writers = {**SentenceReader.writers, "conll": write_conll}

    def __init__(
        self,
        tag_column: int | None = -1,
        word_column: int = 0,
        tag_scheme: str | None = "BIO",
        comment_prefix: str | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        if tag_scheme not in (*SCHEMES, None):
            raise ConfigurationError(f"tag_scheme must be BIO, BIOUL or null, not {tag_scheme!r}")
        if tag_column == word_column:
            raise ConfigurationError(f"tag_column and word_column are both {tag_column}")
        self.tag_column = tag_column
        self.word_column = word_column
        self.tag_scheme = tag_scheme
        self.comment_prefix = comment_prefix

    def tag_index(self, width: int) -> int | None:
        """Returns the index of the tag among `width` columns; None if it is not among them, or if it is the word."""
        if self.tag_column is None:
            return None
        index = self.tag_column + (width if self.tag_column < 0 else 0)
        return index if 0 <= index < width and index != self.word_column % width else None

    def parse(self, path: str) -> Iterator[Rows]:
        return read_columns(path, self.encoding, self.comment_prefix)

    def examples(self, file_path: str) -> Iterator[Sentence]:
        if is_json_lines(file_path):
            for sentence in read_tagged_objects(file_path, self.encoding, NO_TAG[0]):
                yield self._converted(sentence)
            return
        has_warned = False
        for parsed in self.parse(file_path):
            width = len(parsed.rows[0])
            if not -width <= self.word_column < width:
                raise DataFormatError(
                    f"{file_path}:{parsed.lines[0]}: expected words in column {self.word_column} of {width}"
                )
            index = self.tag_index(width)
            if index is None and self.tag_column is not None and not has_warned:
                self.warn(f"{file_path} has no column {self.tag_column}: it is read without tags.")
                has_warned = True
            words = [row[self.word_column] for row in parsed.rows]
            if "" in words:
                place = f"{file_path}:{parsed.lines[words.index('')]}"
                raise DataFormatError(f"{place}: expected a word, got an empty column")
            tags = None
            if index is not None:
                tags = [None if row[index] in NO_TAG else row[index] for row in parsed.rows]
            yield self._converted(Sentence(words, tags, path=file_path, lines=parsed.lines))

    def _converted(self, sentence: Sentence) -> Sentence:
        """Returns the sentence with its tags in the scheme of the reader."""
        if sentence.tags is None or self.tag_scheme is None:
            return sentence
        for tag, line in zip(sentence.tags, sentence.lines):
            try:
                split_tag(OUTSIDE if tag is None else tag)
            except ValueError as error:
                raise DataFormatError(
                    f"{sentence.path}:{line}: {error} (tag_column, tag_scheme)"
                ) from None
        return replace(sentence, tags=convert_tags(sentence.tags, self.tag_scheme))
