from typing import Any, ClassVar

from allennlp.common.checks import ConfigurationError
from allennlp.data import Field, Instance, TokenIndexer
from allennlp.data.fields import MetadataField, TextField
from allennlp.data.token_indexers import SingleIdTokenIndexer
from allennlp.data.tokenizers import Tokenizer, WhitespaceTokenizer
from overrides import overrides

from allennlp_nef.data.dataset_readers.tagging_reader import TaggingReader, token_of
from allennlp_nef.data.formats.characters import check_words
from allennlp_nef.data.formats.text_files import check_encoding
from allennlp_nef.data.metadata import SentencesMetadata
from allennlp_nef.errors import DataFormatError, quote

Text = str | list[str]
"""A sentence: a string, which the reader splits into words, or its words."""


class UntaggedReader(TaggingReader):
    """Base class of the readers of sentences and pairs that are not for taggers: classes, scores, trees.

    # Parameters

    tokenizer : `Tokenizer`, optional (default = `None`, words are between whitespace)
        Splits the sentences of files and of requests that are strings.
    token_indexers : `dict[str, TokenIndexer]`, optional
        Default: `{"tokens": SingleIdTokenIndexer}`.
    encoding : `str`, optional (default = `"utf-8"`)
        Of the files. A byte order mark is dropped.
    max_tokens : `int`, optional (default = `None`, no limit)
        At least 1. Longer sentences are left out, and their number is logged as a warning. Give a limit to the training
        reader alone and a `validation_dataset_reader` without one.
    max_instances : `int`, optional (default = `None`, all)
        The first ones of a file are read.
    """

    text_fields: ClassVar[tuple[str, ...]] = ("tokens",)
    """The names of the fields that hold sentences."""

    def __init__(
        self,
        tokenizer: Tokenizer | None = None,
        token_indexers: dict[str, TokenIndexer] | None = None,
        encoding: str = "utf-8",
        max_tokens: int | None = None,
        max_instances: int | None = None,
    ) -> None:
        super().__init__(max_tokens=max_tokens, max_instances=max_instances)
        try:
            check_encoding(encoding)
        except DataFormatError as error:
            raise ConfigurationError(str(error)) from None
        self.encoding = encoding
        self.tokenizer = tokenizer or WhitespaceTokenizer()
        self._token_indexers = token_indexers or {"tokens": SingleIdTokenIndexer()}

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

    @overrides
    def apply_token_indexers(self, instance: Instance) -> None:
        for name in self.text_fields:
            field: Any = instance.fields[name]
            field.token_indexers = self._token_indexers
