from collections.abc import Iterable, Iterator, Mapping
from typing import Any, ClassVar

from allennlp.common.checks import ConfigurationError
from allennlp.data import DatasetReader, Instance
from overrides import overrides

from allennlp_nef.data.dataset_readers.sentence_reader import SentenceReader
from allennlp_nef.data.dataset_readers.tagging_reader import Prediction, Writer
from allennlp_nef.data.formats.characters import OddCharacters, check_labels, in_lines
from allennlp_nef.data.formats.conllu import (
    TAG_COLUMNS,
    UNKNOWN,
    ConlluSentence,
    format_conllu,
    read_conllu,
)
from allennlp_nef.data.formats.text_files import TextPath
from allennlp_nef.errors import DataFormatError


def write_conllu(reader: "ConlluTagsReader", prediction: Prediction) -> str:
    """CoNLL-U: the sentence of the input file with the reader's column filled in, all else as it was."""
    return filled_in(prediction, {reader.column: prediction.tags})


def filled_in(prediction: Prediction, columns: Mapping[str, list[str]]) -> str:
    if isinstance(prediction.sentence, ConlluSentence):
        return prediction.sentence.with_columns(columns)
    return format_conllu(prediction.tokens, columns)


@DatasetReader.register("conllu_tags")
class ConlluTagsReader(SentenceReader):
    """
    Reads one column of CoNLL-U files (Universal Dependencies) as tags: parts of speech or morphological features. The
    words are those with an integer ID; multiword tokens and empty nodes are no words. The module
    `allennlp_nef.data.formats.conllu` states the format. For the fields of an instance see `SentenceReader`.

    A file without any value in the column is unlabeled; a warning says so. Where the column is `feats`, a file is
    unlabeled if it has neither a feature nor a part of speech.

    Registered as a `DatasetReader` with name "conllu_tags".

    # Parameters

    column : `str`, optional (default = `"upos"`)
        "upos", "xpos" or "feats".
    token_indexers, encoding, max_tokens, label_namespace
        See `SentenceReader` and `TaggingReader`.
    """

    writers: ClassVar[dict[str, Writer]] = {**SentenceReader.writers, "conllu": write_conllu}

    def __init__(self, column: str = "upos", **kwargs: Any) -> None:
        super().__init__(**kwargs)
        if column not in TAG_COLUMNS:
            raise ConfigurationError(
                f"column: expected one of {', '.join(TAG_COLUMNS)}, got {column!r}"
            )
        self.column = column

    @overrides
    def examples(self, file_path: TextPath) -> Iterator[tuple[ConlluSentence, list[str] | None]]:
        """Sentences and their tags."""
        # Most files show it in the first sentence. One that is unlabeled is read twice, and never is in memory.
        is_labeled = self._is_labeled(read_conllu(file_path, self.encoding, _pass_over))
        if not is_labeled:
            self.warn("%s has no %s: the sentences are unlabeled.", file_path, self.column.upper())
        odd = OddCharacters()
        for sentence in read_conllu(file_path, self.encoding, self.on_error):
            where = in_lines(file_path, sentence.lines)
            odd.check(sentence.column("form"), where)
            tags = sentence.column(self.column) if is_labeled else None
            try:
                if tags:
                    check_labels(tags, where)
                    if self.column == "upos" and UNKNOWN in tags:
                        line = sentence.lines[tags.index(UNKNOWN)]
                        raise DataFormatError(
                            f"{file_path}:{line}: expected a UPOS tag, as other words have, got {UNKNOWN!r}"
                        )
            except DataFormatError as error:
                self.on_error(error)
                continue
            yield sentence, tags
        odd.warn(self.warn)

    @overrides
    def num_tokens(self, example: Any) -> int:
        return len(example[0].words)

    @overrides
    def to_instance(self, example: Any) -> Instance:
        sentence, tags = example
        return self.build_instance(sentence.column("form"), tags, sentence)

    def _is_labeled(self, sentences: Iterable[ConlluSentence]) -> bool:
        columns = ("upos", "feats") if self.column == "feats" else (self.column,)
        return any(
            value != UNKNOWN
            for sentence in sentences
            for column in columns
            for value in sentence.column(column)
        )


def _pass_over(error: DataFormatError) -> None:
    """Errors of the first reading come again in the second one."""
