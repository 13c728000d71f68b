"""The base classes of the dataset readers, and what the writers of output formats get."""

import logging
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any, ClassVar

from allennlp.common.checks import ConfigurationError
from allennlp.data import DatasetReader, Field, Instance, Token, TokenIndexer
from allennlp.data.fields import MetadataField, TextField
from allennlp.data.token_indexers import SingleIdTokenIndexer
from allennlp.data.tokenizers import Tokenizer
from allennlp.data.vocabulary import DEFAULT_OOV_TOKEN, DEFAULT_PADDING_TOKEN

from allennlp_nef.data.chunks import OUTSIDE
from allennlp_nef.data.fields import TagsField
from allennlp_nef.data.files import data_paths, peek, read_objects
from allennlp_nef.data.sentence import Sentence
from allennlp_nef.data.tokenizers import PUNCTUATION
from allennlp_nef.errors import DataFormatError, quote

logger = logging.getLogger(__name__)


@dataclass
class Prediction:
    """The answer to a sentence, for the writer of an output format."""

    number: int
    """The position of the sentence in the output, from 0."""
    answer: Mapping[str, Any]
    """The answer of the predictor, a JSON object."""
    record: Any
    """The record of the sentence, such as a `Sentence`."""
    options: Mapping[str, Any] = field(default_factory=dict)
    """For formats of submissions: `method`, `language_pair` and `header`."""


Writer = Callable[[Any, Prediction], str]
"""A function of the dataset reader and a prediction; returns the text to write, line ends included."""


class NefDatasetReader(DatasetReader):
    """Base class of the dataset readers of this package. A subclass implements `examples`, which parses and checks a
    file, and `text_to_instance`.

    A data path is a file, perhaps compressed (`.gz`), a pattern such as `data/*.conll`, or a list of these.

    The workers of a data loader and the processes of distributed training share the examples that `max_tokens` leaves.

    # Parameters

    token_indexers : `dict[str, TokenIndexer]`, optional (default = `{"tokens": SingleIdTokenIndexer()}`)
    max_tokens : `int`, optional (default = `None`, no limit)
        Longer sentences are left out, and a warning gives their number. Set this for training only, and add a
        `validation_dataset_reader` without it. The paper leaves out training sentences of 50 words or more.
    label_namespace : `str`, optional (default = `"labels"`)
        The vocabulary namespace of the labels.
    encoding : `str`, optional (default = `"utf-8"`)
        The encoding of the files. A byte order mark is dropped.
    max_instances : `int`, optional (default = `None`, no limit)
        See AllenNLP's `DatasetReader`.
    """

    text_fields: tuple[str, ...] = ("tokens",)
    """The names of the fields that hold words."""
    prefix_ending: ClassVar[str] = ""
    """The `ending` of `data_paths`."""
    writers: ClassVar[dict[str, Writer]] = {}
    """The output formats of `allennlp predict` other than JSON, by name."""

    def __init__(
        self,
        token_indexers: dict[str, TokenIndexer] | None = None,
        max_tokens: int | None = None,
        label_namespace: str = "labels",
        encoding: str = "utf-8",
        **kwargs: Any,
    ) -> None:
        super().__init__(
            manual_distributed_sharding=True, manual_multiprocess_sharding=True, **kwargs
        )
        token_indexers = token_indexers or {"tokens": SingleIdTokenIndexer()}
        self.indexers = dict.fromkeys(self.text_fields, token_indexers)
        """The token indexers of each text field."""
        self.max_tokens = max_tokens
        self.label_namespace = label_namespace
        try:
            "a".encode(encoding)
        except LookupError as error:
            raise ConfigurationError(f"encoding: {error}") from error
        self.encoding = encoding
        # For `reread`: a file with its time and size, and the rest of its sentences.
        self._open_file: tuple[str, tuple[int, int] | None] | None = None
        self._parsed: Iterator[Any] = iter(())

    def parse(self, path: str) -> Iterator[Any]:
        """Yields the parsed lines of each sentence of a file, with their `lines`, for writers that copy the others."""
        raise NotImplementedError

    def reread(self, record: Any) -> Any:
        """Returns the parsed lines of a sentence of a file. In the order of the file, each is read once more.

        # Raises

        `DataFormatError`: the file is a pipe, or it has changed since it was read.
        """
        path, line = record.path, record.lines[0]
        file: tuple[str, tuple[int, int] | None] = (path, None)
        if os.path.exists(path):
            if not os.path.isfile(path):
                raise DataFormatError(f"{path}:{line}: expected a file, which can be read again")
            status = os.stat(path)
            file = (path, (status.st_mtime_ns, status.st_size))
        for is_open in (file == self._open_file, False):
            if not is_open:
                self._open_file, self._parsed = file, self.parse(path)
            for parsed in self._parsed:
                if parsed.lines[0] == line:
                    return parsed
        raise DataFormatError(f"{path}:{line}: expected the sentence that was read there before")

    def examples(self, file_path: Any) -> Iterator[Any]:
        """Yields the sentences of a file, for `num_tokens` and `to_instance`. Raises `DataFormatError`.

        `file_path` is a single file: lists and patterns have been expanded.
        """
        raise NotImplementedError

    def num_tokens(self, example: Any) -> int:
        """The number of words of an example, for `max_tokens`."""
        return max(len(example[name]) for name in self.text_fields)

    def to_instance(self, example: Any) -> Instance:
        """The instance of an example, by default a dict of the arguments of `text_to_instance`."""
        return self.text_to_instance(**example)

    def _read(self, file_path: Any) -> Iterator[Instance]:
        for example in self.shard_iterable(self._examples_of(file_path)):
            yield self.to_instance(example)

    def _examples_of(self, file_path: Any) -> Iterator[Any]:
        """Yields the examples of all files of a data path, without those that are too long."""
        num_read = num_left_out = 0
        paths = data_paths(file_path, self.prefix_ending)
        try:
            for path in paths:
                num_before = num_read
                for example in self.examples(path):
                    num_read += 1
                    num_tokens = self.num_tokens(example)
                    if num_tokens == 0:
                        where = f"{path}: sentence {num_read - num_before}"
                        raise DataFormatError(f"{where}: expected words, got none")
                    if self.max_tokens is not None and num_tokens > self.max_tokens:
                        num_left_out += 1
                    else:
                        yield example
                if num_read == num_before:
                    raise DataFormatError(f"{path}:1: expected at least one sentence, got none")
        finally:  # also if `max_instances` ends the reading
            if num_left_out:
                self.warn(
                    "%s: left out %d of %d sentences, which have more than %d tokens (max_tokens).",
                    *(file_path, num_left_out, num_read, self.max_tokens),
                )
        if num_left_out == num_read:
            raise DataFormatError(
                f"{paths[0]}:1: expected at least one sentence of at most {self.max_tokens} tokens, got none"
            )

    def apply_token_indexers(self, instance: Instance) -> None:
        for name, indexers in self.indexers.items():
            instance.fields[name].token_indexers = indexers  # type: ignore[attr-defined]

    def warn(self, message: str, *values: Any) -> None:
        """Logs a warning. Each worker of a data loader reads the whole file, so only the first one logs."""
        worker = self.get_worker_info()
        if worker is None or worker.id == 0:
            logger.warning(message, *values)


def write_text(reader: Any, prediction: Prediction) -> str:
    """The words, each with a slash and its tag unless the tag is O."""
    pairs = zip(prediction.record.words, prediction.answer["tags"], strict=True)
    return " ".join(word if tag == OUTSIDE else f"{word}/{tag}" for word, tag in pairs) + "\n"


class SentenceReader(NefDatasetReader):
    """A `NefDatasetReader` of sentences with a tag for each word, whose `examples` are `Sentence` records.

    An instance has the fields `tokens` (`TextField`), `tags` (`TagsField`, if the tags are known) and `metadata`, the
    `Sentence`. If no word of a data path has a gold tag, its sentences are unlabeled, and a warning says so.

    # Parameters

    tokenizer : `Tokenizer`, optional (default = `None`, the rules of `punctuation`)
        Splits the strings in requests into words. The words of files are never split.
    token_indexers, max_tokens, label_namespace, encoding, max_instances
        See `NefDatasetReader`.
    """

    writers: ClassVar[dict[str, Writer]] = {"text": write_text}

    def __init__(self, tokenizer: Tokenizer | None = None, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.tokenizer = tokenizer or PUNCTUATION

    def num_tokens(self, example: Sentence) -> int:
        return len(example.words)

    def _examples_of(self, file_path: Any) -> Iterator[Sentence]:
        is_labeled, sentences = peek(
            super()._examples_of(file_path),
            lambda sentence: sentence.tags is None or any(tag is not None for tag in sentence.tags),
        )
        if not is_labeled:
            self.warn("%s has no gold tags, so its sentences are unlabeled.", file_path)
        for sentence in sentences:
            yield sentence if is_labeled else replace(sentence, tags=None)

    def to_instance(self, example: Sentence) -> Instance:
        words = text_field(example.words)
        fields: dict[str, Field] = {"tokens": words}
        if example.tags is not None:
            fields["tags"] = TagsField(example.tags, words, self.label_namespace)
        return Instance({**fields, "metadata": MetadataField(example)})

    def text_to_instance(
        self, tokens: list[str], tags: Sequence[str | None] | None = None
    ) -> Instance:
        """The instance of a sentence: its words and, if they are known, their tags. The tag None stands for a word
        without a gold tag.
        """
        return self.to_instance(Sentence(tokens, None if tags is None else list(tags)))


def read_tagged_objects(
    path: str, encoding: str = "utf-8", no_tag: str | None = None
) -> Iterator[Sentence]:
    """Yields the sentences of a file of JSON lines with `tokens` and `tags`, such as the answers of `nef_tagger`. Other
    fields are ignored. The tags null and `no_tag` stand for a word without a gold tag. A file whose first object has
    no `tags` is unlabeled. Tokens and tags have neither tabs and line ends, nor blanks at their ends.

    # Raises

    `DataFormatError`: what `read_objects` raises, a token or a tag that is not a string, or a number of tags that
    differs from the number of tokens.
    """
    is_labeled = None
    for number, value in read_objects(path, encoding):
        tokens: Any = value.get("tokens")
        tags = value.get("tags")
        is_labeled = tags is not None if is_labeled is None else is_labeled
        if not _are_tagged(tokens, tags) or (tags is not None) != is_labeled:
            expected = "tags, one for each token" if is_labeled else "no tags"
            raise DataFormatError(
                f"{path}:{number}: expected tokens, a list of words, and {expected}, got {quote(value)}"
            )
        gold = tags and [None if tag == no_tag else tag for tag in tags]
        yield Sentence(tokens, gold, path=path, lines=[number] * len(tokens))


def _are_tagged(tokens: Any, tags: Any) -> bool:
    """Whether these are a list of words and, if it is not None, a list of their tags."""
    tags = tokens if tags is None else tags
    if not (isinstance(tokens, list) and isinstance(tags, list) and 0 < len(tokens) == len(tags)):
        return False
    without_none = [tag for tag in tags if tag is not None]
    return all(
        isinstance(each, str) and each and each.strip(" ") == re.sub("[\t\r\n]", "", each)
        for each in [*tokens, *without_none]
    )


def text_field(words: list[str]) -> TextField:
    """The field of a sentence. `apply_token_indexers` adds its indexers, so that worker processes do not send them
    along with each instance.
    """
    return TextField([token_of(word) for word in words])


@lru_cache(maxsize=2**16)
def token_of(word: str) -> Token:
    """The token of a word. Instances share tokens, which saves a third of the time of reading. AllenNLP's padding
    symbol becomes the unknown word, because the index of this symbol means padding.
    """
    return Token(DEFAULT_OOV_TOKEN if word == DEFAULT_PADDING_TOKEN else word)
