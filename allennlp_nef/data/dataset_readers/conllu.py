"""The reader `conllu_tags`, and its writer."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from allennlp.common.checks import ConfigurationError
from allennlp.data import DatasetReader

from allennlp_nef.data.conllu import (
    TAG_COLUMNS,
    UNKNOWN,
    ConlluSentence,
    format_conllu,
    read_conllu,
)
from allennlp_nef.data.dataset_readers.base import Prediction, SentenceReader, read_tagged_objects
from allennlp_nef.data.files import is_json_lines, peek
from allennlp_nef.data.sentence import Sentence


def check_column(column: str) -> str:
    if column not in TAG_COLUMNS:
        raise ConfigurationError(f"column must be one of {', '.join(TAG_COLUMNS)}, not {column!r}")
    return column


def write_conllu(reader: "ConlluTagsReader", prediction: Prediction) -> str:
    """Writes CoNLL-U: the sentence of the input file with the predicted tags in the reader's column."""
    return fill_in(reader, prediction, {reader.column: prediction.answer["tags"]})


def fill_in(reader: Any, prediction: Prediction, columns: Mapping[str, Sequence[str]]) -> str:
    """Returns the sentence of the input file, or a new one, with these columns."""
    sentence = prediction.record
    if sentence.path and not is_json_lines(sentence.path):
        return reader.reread(sentence).with_columns(columns)
    return format_conllu(sentence.words, columns)


@DatasetReader.register("conllu_tags")
class ConlluTagsReader(SentenceReader):
    """Reads one column of CoNLL-U files (Universal Dependencies) as tags: parts of speech or morphological features; or
    JSON lines (see `read_tagged_objects`). For the fields of an instance see `SentenceReader`.

    A word without UPOS has no gold tag and is ignored in the loss and scores. A file without any value in the column is
    unlabeled, and a warning says so. The `feats` column is empty for most words of some languages, so with `feats` a
    file is unlabeled only if it has no UPOS either.

    # Parameters

    column : `str`, optional (default = `"upos"`)
        "upos", "xpos" or "feats".
    tokenizer, token_indexers, max_tokens, label_namespace, encoding, max_instances
        See `SentenceReader` and `NefDatasetReader`.
    """

    writers = {**SentenceReader.writers, "conllu": write_conllu}

    def __init__(self, column: str = "upos", **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.column = check_column(column)

    def parse(self, path: str) -> Iterator[ConlluSentence]:
        return read_conllu(path, self.encoding)

    def examples(self, file_path: str) -> Iterator[Sentence]:
        no_tag = UNKNOWN if self.column == "upos" else None
        if is_json_lines(file_path):
            yield from read_tagged_objects(file_path, self.encoding, no_tag)
            return
        names = ("upos", "feats") if self.column == "feats" else (self.column,)
        is_labeled, sentences = peek(
            self.parse(file_path),
            lambda parsed: any({*parsed.column(name)} != {UNKNOWN} for name in names),
        )
        if not is_labeled:
            self.warn(
                "%s has no %s, so its sentences are unlabeled.", file_path, self.column.upper()
            )
        for parsed in sentences:
            tags = parsed.column(self.column)
            gold = [None if tag == no_tag else tag for tag in tags] if is_labeled else None
            yield Sentence(parsed.column("form"), gold, path=file_path, lines=parsed.lines)
