"""The base classes of all readers, and what their output formats get."""

import logging
import signal
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import lru_cache
from typing import Any, ClassVar, NamedTuple, TypeVar

from allennlp.common import Params
from allennlp.common.checks import ConfigurationError
from allennlp.data import DatasetReader, Field, Instance, Token, TokenIndexer
from allennlp.data.fields import MetadataField, TextField
from allennlp.data.token_indexers import SingleIdTokenIndexer
from allennlp.data.tokenizers import Tokenizer, WhitespaceTokenizer
from allennlp.data.vocabulary import DEFAULT_OOV_TOKEN, DEFAULT_PADDING_TOKEN
from overrides import overrides

from allennlp_nef.data.formats.characters import OddCharacters, check_words
from allennlp_nef.data.formats.conll_columns import ColumnSentence
from allennlp_nef.data.formats.conllu import ConlluSentence
from allennlp_nef.data.formats.data_paths import name_of
from allennlp_nef.data.formats.text_files import check_encoding
from allennlp_nef.data.formats.wmt_segments import Segment
from allennlp_nef.data.metadata import SentencesMetadata, metadata_of
from allennlp_nef.data.saved_examples import Request, read_saved_examples
from allennlp_nef.data.weighting import SentenceWeighting
from allennlp_nef.errors import DataFormatError, OnError, quote, raise_error
from allennlp_nef.resources import is_archived
from allennlp_nef.saved_versions import naming_versions

logger = logging.getLogger(__name__)
Sentence = TypeVar("Sentence")
Example = TypeVar("Example")
Text = str | list[str]
"""A sentence: a string, which the reader splits into words, or its words."""


class Prediction(NamedTuple):
    """A sentence that a model has tagged."""

    number: int
    """Its number in the output, from 0."""
    tokens: list[str]
    """The words that are tagged."""
    tags: list[str]
    """The predicted tags, one a word."""
    gold: list[str] | None = None
    """The gold tags, where known."""
    sentence: ColumnSentence | ConlluSentence | None = None
    """The sentence as it stood in its file, where it came from one."""
    method: str = "allennlp_nef"
    """The name of the method, in formats that have one."""
    language_pair: str | None = None
    """Such as "en-de", in formats that have one."""
    header: tuple[int, ...] = ()
    """Bytes on disk, parameters, models in the ensemble: the header lines of formats that have them."""
    text: str | None = None
    """The original text, where known."""
    answer: Mapping[str, Any] = {}
    """The answer in JSON, for formats that write more than tags."""
    segment: Segment | None = None
    """Of a file of segments of WMT24 to 26, what it says of the translation."""


Writer = Callable[[Any, Prediction], str]
"""The dataset reader of the tags, and a sentence -> the text of the sentence, with its line end."""


class TaggingReader(DatasetReader):
    """Base class of all dataset readers of this package: errors with file and line, a limit on the length, shards.

    Implement `examples`, `num_tokens` and `to_instance`. The workers of a data loader and the processes of distributed
    training share the sentences that `max_tokens` leaves.

    # Parameters

    max_tokens : `int`, optional (default = `None`, no limit)
        At least 1. Sentences of more tokens (words that are tagged) are left out, and their number is logged as a
        warning. The paper leaves out training sentences of 50 words or more: 49. Give a limit to
        the training reader alone and a `validation_dataset_reader` without one.
    label_namespace : `str`, optional (default = `"labels"`)
        Vocabulary namespace of the tags.
    weighting : `SentenceWeighting`, optional (default = `None`)
        Gives the sentences weights in the loss. Then all sentences of a file are in memory while it is read. It is for
        the training reader alone; a `validation_dataset_reader` has none. Predictors do without it.
    """

    writers: ClassVar[dict[str, Writer]] = {}
    """The output formats of `allennlp predict` besides JSON, by name."""
    saved_examples: list[Request] | None = None
    """The examples of the archive that the reader was loaded from; None where it has none."""

    def __init__(
        self,
        max_tokens: int | None = None,
        label_namespace: str = "labels",
        weighting: SentenceWeighting | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(
            manual_distributed_sharding=True, manual_multiprocess_sharding=True, **kwargs
        )
        if not isinstance(label_namespace, str):
            raise ConfigurationError(f"label_namespace: expected a name, got {label_namespace!r}")
        self._max_tokens = max_tokens
        self._label_namespace = label_namespace
        self._weighting = weighting
        self._weighted_path: str | None = None
        self.indexers: dict[str, dict[str, TokenIndexer]] = {}
        """The indexers of each field that holds a sentence."""
        self.on_error: OnError = raise_error
        """What `examples` does with a sentence that cannot be read."""

    _is_archived = False
    """Whether it is that of an archive, not that of a training."""

    @classmethod
    def from_params(cls, params: Params, *args: Any, **extras: Any) -> "TaggingReader":
        """The reader of a config. Where an archive is loaded, errors name the versions that it was saved with."""
        folder = extras.get("serialization_dir")
        with naming_versions(folder):
            reader: TaggingReader = super().from_params(params, *args, **extras)
        reader.saved_examples = read_saved_examples(folder)
        reader._is_archived = is_archived(extras)
        return reader

    @overrides
    def read(self, file_path: Any) -> Iterator[Instance]:
        """As AllenNLP's, with a warning where an archive has the `max_instances` of its training."""
        count = 0
        for instance in super().read(file_path):
            count += 1
            yield instance
        if self._is_archived and count == self.max_instances:
            logger.warning(
                "%s: only the first %d sentences were read, as max_instances of the archive's dataset reader says.",
                *(file_path, count),
            )

    def examples(self, file_path: str) -> Iterator[Any]:
        """The sentences of a file, as the format's module gives them. Raises `DataFormatError`."""
        raise NotImplementedError

    @overrides
    def apply_token_indexers(self, instance: Instance) -> None:
        """Sets the indexers. `text_to_instance` does not: worker processes would send them along with each instance."""
        for name, indexers in self.indexers.items():
            field: Any = instance.fields[name]
            field.token_indexers = indexers

    def num_tokens(self, example: Any) -> int:
        """How many tokens an example has."""
        raise NotImplementedError

    @property
    def has_limit(self) -> bool:
        """Whether `max_tokens` leaves some sentences out."""
        return self._max_tokens is not None

    def is_too_long(self, example: Any) -> bool:
        """Whether `max_tokens` leaves an example out."""
        return self._max_tokens is not None and self.num_tokens(example) > self._max_tokens

    def prepared(self, examples: Iterable[Any]) -> Iterable[Any]:
        """The same examples; a reader may do here what is faster for many at once."""
        return examples

    def to_instance(self, example: Any) -> Instance:
        """The instance of an example, which its format's module has checked."""
        raise NotImplementedError

    @overrides(check_signature=False)
    def _read(self, file_path: str) -> Iterator[Instance]:
        """Raises `DataFormatError`, a `ValueError`."""
        examples = self.examples(file_path)
        if self._max_tokens is not None:
            examples = self._leave_out_long(examples, self._max_tokens, file_path)
        try:
            if self._weighting is None:
                for example in self.prepared(self.shard_iterable(examples)):
                    yield self.to_instance(example)
            else:
                yield from self.shard_iterable(self._weighted(examples, self._weighting, file_path))
        except DataFormatError:
            if self.get_worker_info() is not None:
                # AllenNLP's data loader reports the error and then ends this worker by SIGTERM.
                # The traceback of AllenNLP's handler could come after the report: no handler.
                signal.signal(signal.SIGTERM, signal.SIG_DFL)
            raise

    def use_no_weights(self) -> None:
        """Reads all sentences from now on, with equal weights: no longer for a training."""
        self._weighting = None

    def _weighted(
        self, examples: Iterable[Any], weighting: SentenceWeighting, file_path: str
    ) -> Iterator[Instance]:
        """The instances of the examples with their weights, without those of weight 0.

        Raises a `ConfigurationError` where the reader has read other data, whose sentences would be left out.
        """
        if self._weighted_path not in (None, file_path):
            raise ConfigurationError(
                "weighting: expected a validation_dataset_reader without it, got one reader for "
                f"{self._weighted_path} and {file_path}"
            )
        self._weighted_path = file_path
        instances = [self.to_instance(example) for example in self.prepared(examples)]
        target = map(self.to_instance, self.prepared(self.examples(weighting.target_path)))
        weights = weighting.weights(
            list(map(metadata_of, instances)), list(map(metadata_of, target))
        )
        if not weights.all():
            self.warn(
                "Left out %d of %d sentences of %s: their weight is 0 (weighting).",
                (weights == 0).sum(),
                len(weights),
                file_path,
            )
        for instance, weight in zip(instances, weights.tolist()):
            if weight:
                metadata_of(instance).weight = weight
                yield instance

    def parse_sentences(
        self, sentences: Iterable[Sentence], parse: Callable[[Sentence, OddCharacters], Example]
    ) -> Iterator[Example]:
        """What `parse` makes of sentences while it counts odd characters. Its errors go to `on_error`."""
        odd = OddCharacters()
        for sentence in sentences:
            try:
                example = parse(sentence, odd)
            except DataFormatError as error:
                self.on_error(error)
                continue
            yield example
        odd.warn(self.warn)

    def warn(self, message: str, *values: Any) -> None:
        """Logs a warning. All workers of a data loader read the whole file: only the first one logs."""
        worker = self.get_worker_info()
        if worker is None or worker.id == 0:
            logger.warning(message, *values)

    def _leave_out_long(
        self, examples: Iterable[Any], max_tokens: int, file_path: str
    ) -> Iterator[Any]:
        number_read = number_left_out = 0
        try:
            for example in examples:
                number_read += 1
                if self.is_too_long(example):
                    number_left_out += 1
                else:
                    yield example
            if number_left_out == number_read:
                raise DataFormatError(
                    f"{name_of(file_path)}: expected some sentence of at most {max_tokens} tokens (max_tokens), "
                    f"got none among {number_read}"
                )
        finally:  # also where the reader's max_instances ends the reading
            if number_left_out:
                self.warn(
                    "Left out %d of %d sentences: they have more than %d tokens.",
                    number_left_out,
                    number_read,
                    max_tokens,
                )


def token_of(word: str) -> Token:
    """The token of a word. AllenNLP's padding symbol becomes the unknown word: it would be taken for padding."""
    if word == DEFAULT_PADDING_TOKEN:
        word = DEFAULT_OOV_TOKEN
    return _shared_token(word) if len(word) < 64 else Token(word)


@lru_cache(maxsize=2**16)
def _shared_token(word: str) -> Token:
    """Instances share tokens, which nothing writes to. This halves the time of reading: most of it is garbage
    collection."""
    return Token(word)


class FileReader(TaggingReader):
    """A `TaggingReader` of one file, whose encoding is an option, with the same indexers for all sentences.

    # Parameters

    token_indexers : `dict[str, TokenIndexer]`, optional
        Default: `{"tokens": SingleIdTokenIndexer}`.
    encoding : `str`, optional (default = `"utf-8"`)
        Of the files. A byte order mark is dropped.
    max_tokens, label_namespace, weighting
        See `TaggingReader`.
    """

    text_fields: ClassVar[tuple[str, ...]] = ("tokens",)
    """The names of the fields that hold sentences."""

    def __init__(
        self,
        token_indexers: dict[str, TokenIndexer] | None = None,
        encoding: str = "utf-8",
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        try:
            check_encoding(encoding)
        except DataFormatError as error:
            raise ConfigurationError(str(error)) from None
        self.encoding = encoding
        token_indexers = token_indexers or {"tokens": SingleIdTokenIndexer()}
        self.indexers = dict.fromkeys(self.text_fields, token_indexers)


class UntaggedReader(FileReader):
    """Base class of the readers of sentences and pairs that are not for taggers: classes, scores, trees.

    # Parameters

    tokenizer : `Tokenizer`, optional (default = `None`, words are between whitespace)
        Splits the sentences of files and of requests that are strings.
    token_indexers, encoding
        See `FileReader`.
    max_tokens : `int`, optional (default = `None`, no limit)
        At least 1. Longer sentences are left out, and their number is logged as a warning. Give a limit to the training
        reader alone and a `validation_dataset_reader` without one.
    max_instances : `int`, optional (default = `None`, all)
        The first ones of a file are read.
    """

    def __init__(
        self,
        tokenizer: Tokenizer | None = None,
        token_indexers: dict[str, TokenIndexer] | None = None,
        encoding: str = "utf-8",
        max_tokens: int | None = None,
        max_instances: int | None = None,
    ) -> None:
        super().__init__(
            token_indexers, encoding, max_tokens=max_tokens, max_instances=max_instances
        )
        self.tokenizer = tokenizer or WhitespaceTokenizer()

    def split(self, text: str) -> list[str]:
        """The words of a sentence."""
        return [token.text for token in self.tokenizer.tokenize(text) if token.text]

    def words_of(self, text: Any, name: str) -> list[str]:
        """The words of a sentence from Python. Raises a `DataFormatError` for what is none."""
        words = self.split(text) if isinstance(text, str) else text
        if not isinstance(words, list) or not words:
            raise DataFormatError(f"{name}: expected a sentence or its words, got {quote(text)}")
        check_words(words, name)
        return words

    def fields_of(self, *sentences: list[str]) -> dict[str, Field]:
        """The fields of the sentences' words, and their metadata."""
        fields: dict[str, Field] = {
            name: TextField([token_of(word) for word in words])
            for name, words in zip(self.text_fields, sentences)
        }
        return {**fields, "metadata": MetadataField(SentencesMetadata(list(sentences)))}
