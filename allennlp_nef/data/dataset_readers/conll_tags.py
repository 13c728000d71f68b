"""The reader `conll_tags`, and its writer."""

import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from allennlp.common.checks import ConfigurationError
from allennlp.data import DatasetReader

from allennlp_nef.data.chunks import OUTSIDE, SCHEMES, convert_tags, split_tag
from allennlp_nef.data.columns import NO_TAG, Rows, format_columns, read_columns
from allennlp_nef.data.dataset_readers.base import Prediction, SentenceReader, read_tagged_objects
from allennlp_nef.data.files import is_json_lines
from allennlp_nef.data.sentence import Sentence
from allennlp_nef.errors import DataFormatError


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
    comment_prefix : `str` or `List[str]`, optional (default = `None`, there are no comments)
        The start of lines that are skipped. For GermEval 2014, which has the words in column 1, this is `"#"`.
    sentence_end : `str`, optional (default = `None`, only empty lines end a sentence)
        A value such as `"EndOfSentence"` in the last column of HIPE-2022, which has no empty lines; see `read_columns`.
    tokenizer, token_indexers, max_tokens, label_namespace, encoding, max_instances
        See `SentenceReader` and `NefDatasetReader`.
    """

    writers = {**SentenceReader.writers, "conll": write_conll}

    def __init__(
        self,
        tag_column: int | None = -1,
        word_column: int = 0,
        tag_scheme: str | None = "BIO",
        comment_prefix: str | list[str] | None = None,
        sentence_end: str | None = None,
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
        self.sentence_end = sentence_end

    def tag_index(self, width: int) -> int | None:
        """Returns the index of the tag among `width` columns; None if it is not among them, or if it is the word."""
        if self.tag_column is None:
            return None
        index = self.tag_column + (width if self.tag_column < 0 else 0)
        return index if 0 <= index < width and index != self.word_column % width else None

    def parse(self, path: str) -> Iterator[Rows]:
        return read_columns(
            path, self.encoding, self.comment_prefix, sentence_end=self.sentence_end
        )

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
