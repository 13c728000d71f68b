"""The reader of CoNLL columns, and its output format."""

import json
from collections.abc import Iterator, Sequence
from typing import Any, ClassVar

from allennlp.common.checks import ConfigurationError
from allennlp.data import DatasetReader, Instance
from overrides import overrides

from allennlp_nef.data.dataset_readers.sentence_reader import SentenceReader, format_with_tags
from allennlp_nef.data.dataset_readers.tagging_reader import Prediction, Writer
from allennlp_nef.data.formats.characters import OddCharacters, check_labels, in_lines
from allennlp_nef.data.formats.chunks import SCHEMES, convert_tags, split_tag
from allennlp_nef.data.formats.conll_columns import (
    ColumnSentence,
    as_column,
    check_separator,
    read_columns,
)
from allennlp_nef.data.formats.text_files import TextPath
from allennlp_nef.errors import DataFormatError


def write_conll(reader: "ConllTagsReader", prediction: Prediction) -> str:
    """The columns of the input file other than the tag's (of a request, the words), and the tags; BIOUL as BIO.

    Before the tags come the probabilities of all labels, where they are wanted, as JSON without blanks.
    """
    rows: list[Sequence[str]] = [[as_column(token)] for token in prediction.tokens]
    if isinstance(prediction.sentence, ColumnSentence):
        rows = [reader.without_tag(row) for row in prediction.sentence.rows]
    if "label_probabilities" in prediction.answer:
        columns = prediction.answer["label_probabilities"]
        for i, values in enumerate(zip(*columns.values())):
            word = {label: round(value, 6) for label, value in zip(columns, values)}
            rows[i] = [*rows[i], json.dumps(word, ensure_ascii=False, separators=(",", ":"))]
    return format_with_tags(rows, prediction, is_bioul=reader.tag_scheme == "BIOUL")


@DatasetReader.register("conll_tags")
class ConllTagsReader(SentenceReader):
    """
    Reads the columns of the CoNLL shared tasks, such as the named entities of CoNLL-2002 (word and tag, or word,
    part of speech and tag) and CoNLL-2003 (word, part of speech, chunk, tag). The module
    `allennlp_nef.data.formats.conll_columns` states the format. Tags may be in IOB1, BIO (IOB2) or BIOUL: their chunks
    are those that `conlleval` finds. For the fields of an instance see `SentenceReader`.

    A file that ends before the tag column, in every line, is unlabeled; a warning says so.

    Registered as a `DatasetReader` with name "conll_tags".

    # Parameters

    tag_column : `int`, optional (default = `-1`)
        From 0; negative numbers count from the last column. None: there is no such column, the sentences are
        unlabeled.
    word_column : `int`, optional (default = `0`)
    comment_prefix : `str`, optional (default = `None`, no line is a comment)
        Lines that begin with it are comments. GermEval 2014 has comments that begin with `"#"`, the words in column 1,
        the outer tags in column 2 and the inner ones in column 3.
    tag_scheme : `str`, optional (default = `"BIO"`)
        What the model gets: "BIO" or "BIOUL". None: the tags as they are, which need not be chunk tags.
    token_indexers, encoding, max_tokens, label_namespace
        See `SentenceReader` and `TaggingReader`.
    """

    writers: ClassVar[dict[str, Writer]] = {"conll": write_conll}

    def __init__(
        self,
        tag_column: int | None = -1,
        word_column: int = 0,
        tag_scheme: str | None = "BIO",
        comment_prefix: str | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        if tag_scheme is not None and tag_scheme not in SCHEMES:
            raise ConfigurationError(
                f"tag_scheme: expected {', '.join(SCHEMES)} or null, got {tag_scheme!r}"
            )
        for name, column in (("tag_column", tag_column), ("word_column", word_column)):
            is_number = isinstance(column, int) and not isinstance(column, bool)
            if not is_number and (name == "word_column" or column is not None):
                raise ConfigurationError(f"{name}: expected an integer, got {column!r}")
        if tag_column == word_column:
            raise ConfigurationError(
                f"tag_column: expected another column than word_column, got {tag_column}"
            )
        if comment_prefix is not None and not (
            isinstance(comment_prefix, str) and comment_prefix.split() == [comment_prefix]
        ):
            raise ConfigurationError(
                f"comment_prefix: expected text without whitespace or null, got {comment_prefix!r}"
            )
        self.comment_prefix = comment_prefix
        self.tag_column = tag_column
        self.word_column = word_column
        self.tag_scheme = tag_scheme

    @overrides
    def examples(self, file_path: TextPath) -> Iterator[tuple[ColumnSentence, list[str] | None]]:
        """Sentences and their tags."""
        warned = False
        odd = OddCharacters()
        for sentence in read_columns(file_path, self.encoding, self.on_error, self.comment_prefix):
            width, line = len(sentence.rows[0]), sentence.lines[0]
            if not -width <= self.word_column < width:
                raise DataFormatError(
                    f"{file_path}:{line}: expected a column {self.word_column} with the words (word_column, from 0), "
                    f"got {width} columns"
                )
            tag_index = self._tag_index(width)
            if tag_index is None and self.tag_column is not None and not warned:
                check_separator(sentence, file_path)
                self.warn(
                    "%s has no column of tags: the sentences are unlabeled (tag_column is %d, of %d columns).",
                    *(file_path, self.tag_column, width),
                )
                warned = True
            try:
                odd.check(self.given_words(sentence), in_lines(file_path, sentence.lines))
                tags = self._tags(sentence, tag_index, file_path)
            except DataFormatError as error:
                self.on_error(error)
                continue
            yield sentence, tags
        odd.warn(self.warn)

    @overrides
    def num_tokens(self, example: Any) -> int:
        return len(example[0].rows)

    @overrides
    def to_instance(self, example: Any) -> Instance:
        sentence, tags = example
        return self.build_instance(self.given_words(sentence), tags, sentence)

    def without_tag(self, row: Sequence[str]) -> list[str]:
        """The columns of a token other than its tag."""
        index = self._tag_index(len(row))
        return [column for i, column in enumerate(row) if i != index]

    def given_words(self, sentence: ColumnSentence) -> list[str]:
        """The words of a sentence of a file."""
        return [row[self.word_column] for row in sentence.rows]

    def given_tags(self, sentence: ColumnSentence) -> list[str] | None:
        """The tags as they stand in the file; None where it has none."""
        index = self._tag_index(len(sentence.rows[0]))
        return None if index is None else [row[index] for row in sentence.rows]

    def _tag_index(self, width: int) -> int | None:
        """The column of the tags, from 0, among `width`; None if it is not among them."""
        if self.tag_column is None:
            return None
        index = self.tag_column + (width if self.tag_column < 0 else 0)
        is_word = index == self.word_column % width
        return index if 0 <= index < width and not is_word else None

    def _tags(
        self, sentence: ColumnSentence, index: int | None, path: TextPath
    ) -> list[str] | None:
        tags = self.given_tags(sentence)
        if tags is None:
            return None
        check_labels(tags, in_lines(path, sentence.lines))
        if self.tag_scheme is None:
            return tags
        try:
            return convert_tags(tags, self.tag_scheme)
        except ValueError:
            for tag, line in zip(tags, sentence.lines):
                try:
                    split_tag(tag)
                except ValueError as error:
                    raise DataFormatError(
                        f"{path}:{line}: {error} in column {index} (from 0; see tag_column and tag_scheme)"
                    ) from None
            raise
