from typing import Any, Dict, List, Optional, Union

from allennlp.common.checks import ConfigurationError
from allennlp.data import Field, Instance, TokenIndexer
from allennlp.data.fields import MetadataField, TextField
from allennlp.data.token_indexers import SingleIdTokenIndexer
from overrides import overrides

from allennlp_nef.data.dataset_readers.tagging_reader import TaggingReader, token_of
from allennlp_nef.data.fields.tags_field import TagsField
from allennlp_nef.data.formats.conll_columns import ColumnSentence
from allennlp_nef.data.formats.conllu import ConlluSentence
from allennlp_nef.data.formats.errors import DataFormatError, quote
from allennlp_nef.data.formats.text_files import check_encoding
from allennlp_nef.data.metadata import TaggingMetadata


class SentenceReader(TaggingReader):
    """A `TaggingReader` of single sentences.

    An instance has the fields

    - `tokens`: `TextField`;
    - `tags`: `TagsField` over the tokens, where the tags are known;
    - `metadata`: a `TaggingMetadata`.

    # Parameters

    token_indexers : `Dict[str, TokenIndexer]`, optional
        Default: `{"tokens": SingleIdTokenIndexer}`.
    encoding : `str`, optional (default = `"utf-8"`)
        Of the files. A byte order mark is dropped.
    max_tokens, label_namespace
        See `TaggingReader`.
    """

    def __init__(
        self,
        token_indexers: Optional[Dict[str, TokenIndexer]] = None,
        encoding: str = "utf-8",
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        try:
            check_encoding(encoding)
        except DataFormatError as error:
            raise ConfigurationError(str(error)) from None
        self.encoding = encoding
        self._token_indexers = token_indexers or {"tokens": SingleIdTokenIndexer()}

    @overrides(check_signature=False)
    def text_to_instance(
        self,
        tokens: List[str],
        tags: Optional[List[str]] = None,
        keep_trace: bool = False,
        keep_decisions: bool = False,
        sentence: Union[ColumnSentence, ConlluSentence, None] = None,
    ) -> Instance:
        """
        # Parameters

        tokens : `List[str]`
            Words, at least one.
        tags : `List[str]`, optional (default = `None`, unlabelled)
            One a word, as the model has them.
        keep_trace : `bool`, optional (default = `False`)
            Whether the model returns the attention of every step for this sentence.
        keep_decisions : `bool`, optional (default = `False`)
            Whether it returns the tags after every step too, with the trace.
        sentence : `ColumnSentence` or `ConlluSentence`, optional (default = `None`)
            Where it came from.

        # Raises

        `DataFormatError`, a `ValueError`: no words, an empty word, a string in place of a list, not as many tags as
        words.
        """
        if not isinstance(tokens, list) or not tokens:
            raise DataFormatError(f"tokens: expected a list of words, got {quote(tokens)}")
        if not all(tokens):
            raise DataFormatError(f"tokens: expected words, got {quote(tokens)}")
        field = TextField([token_of(word) for word in tokens])
        fields: Dict[str, Field] = {"tokens": field}
        if tags is not None:
            if not isinstance(tags, list):
                raise DataFormatError(f"tags: expected a list of tags, got {quote(tags)}")
            if len(tags) != len(tokens):
                raise DataFormatError(
                    f"tags: expected {len(tokens)} tags (one a word), got {len(tags)}"
                )
            fields["tags"] = TagsField(tags, field, self._label_namespace)
        metadata = TaggingMetadata(tokens, None, tags, keep_trace, sentence, keep_decisions)
        fields["metadata"] = MetadataField(metadata)
        return Instance(fields)

    @overrides
    def apply_token_indexers(self, instance: Instance) -> None:
        """Sets the indexers here and not in `text_to_instance`: they would be sent along with every instance from a
        worker process."""
        fields: Any = instance.fields
        fields["tokens"].token_indexers = self._token_indexers
