"""The base class of the readers of single tagged sentences."""

from collections.abc import Sequence
from typing import ClassVar

from allennlp.data import Field, Instance
from allennlp.data.fields import MetadataField, TextField
from overrides import overrides

from allennlp_nef.data.dataset_readers.tagging_reader import (
    FileReader,
    Prediction,
    Writer,
    token_of,
)
from allennlp_nef.data.fields import TagsField
from allennlp_nef.data.formats.characters import check_labels, check_words
from allennlp_nef.data.formats.chunks import convert_tags
from allennlp_nef.data.formats.conll_columns import ColumnSentence, as_column, format_columns
from allennlp_nef.data.formats.conllu import ConlluSentence
from allennlp_nef.data.metadata import TaggingMetadata
from allennlp_nef.errors import DataFormatError, quote


def write_words_and_tags(reader: "SentenceReader", prediction: Prediction) -> str:
    """The words and the tags."""
    return format_with_tags([[as_column(token)] for token in prediction.tokens], prediction)


def format_with_tags(
    rows: list[Sequence[str]], prediction: Prediction, is_bioul: bool = False
) -> str:
    for tags in (prediction.gold, prediction.tags):
        if tags is not None:
            tags = convert_tags(tags, "BIO") if is_bioul else tags
            rows = [[*row, as_column(tag)] for row, tag in zip(rows, tags)]
    return format_columns(rows)


class SentenceReader(FileReader):
    """A `FileReader` of single tagged sentences.

    An instance has the fields

    - `tokens`: `TextField`;
    - `tags`: `TagsField` over the tokens, where the tags are known;
    - `metadata`: a `TaggingMetadata`.

    # Parameters

    token_indexers, encoding, max_tokens, label_namespace, weighting
        See `FileReader` and `TaggingReader`.
    """

    writers: ClassVar[dict[str, Writer]] = {"conll": write_words_and_tags}

    @overrides(check_signature=False)
    def text_to_instance(
        self,
        tokens: list[str],
        tags: list[str] | None = None,
        sentence: ColumnSentence | ConlluSentence | None = None,
    ) -> Instance:
        """
        # Parameters

        tokens : `list[str]`
            Words, at least one.
        tags : `list[str]`, optional (default = `None`, unlabeled)
            One a word, as the model has them.
        sentence : `ColumnSentence` or `ConlluSentence`, optional (default = `None`)
            The sentence as it stood in its file.

        # Raises

        `DataFormatError`, a `ValueError`: no words, a string in place of a list, not as many tags as words, a word or
        a tag that `check_words` or `check_labels` refuses.
        """
        if not isinstance(tokens, list) or not tokens:
            raise DataFormatError(f"tokens: expected a list of words, got {quote(tokens)}")
        check_words(tokens, "tokens")
        if tags is not None:
            if not isinstance(tags, list):
                raise DataFormatError(f"tags: expected a list of tags, got {quote(tags)}")
            if len(tags) != len(tokens):
                raise DataFormatError(
                    f"tags: expected {len(tokens)} tags (one a word), got {len(tags)}"
                )
            check_labels(tags, "tags")
        return self.build_instance(tokens, tags, sentence)

    def build_instance(
        self,
        tokens: list[str],
        tags: list[str] | None = None,
        sentence: ColumnSentence | ConlluSentence | None = None,
    ) -> Instance:
        """The instance of parts that were checked."""
        field = TextField([token_of(word) for word in tokens])
        fields: dict[str, Field] = {"tokens": field}
        if tags is not None:
            fields["tags"] = TagsField(tags, field, self._label_namespace)
        metadata = TaggingMetadata(tokens, tags=tags, sentence=sentence)
        fields["metadata"] = MetadataField(metadata)
        return Instance(fields)
