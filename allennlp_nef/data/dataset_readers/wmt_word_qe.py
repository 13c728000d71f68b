from typing import Any, ClassVar, Dict, Iterator, List, Optional, Sequence, Tuple

from allennlp.data import DatasetReader, Field, Instance, TokenIndexer
from allennlp.data.fields import MetadataField, SequenceLabelField, TextField
from allennlp.data.token_indexers import SingleIdTokenIndexer
from overrides import overrides

from allennlp_nef.data.dataset_readers.tagging_reader import TaggingReader, token_of
from allennlp_nef.data.fields.alignment_field import AlignmentField
from allennlp_nef.data.formats.wmt_word_qe import (
    WordQeExample,
    check_alignments,
    check_tags,
    read_examples,
)
from allennlp_nef.data.metadata import TaggingMetadata
from allennlp_nef.data.writers import Writer
from allennlp_nef.data.writers.word_qe import write_submission, write_tags, write_text
from allennlp_nef.errors import DataFormatError, quote


@DatasetReader.register("wmt_word_qe")
class WmtWordQeReader(TaggingReader):
    """
    Reads word-level quality estimation data of the WMT shared tasks: sentences, their machine
    translations, word alignments, and one of OK and BAD a target word. The data path is the prefix
    of the files, `data/train` for `data/train.src`, `data/train.mt` and so on; the module
    `allennlp_nef.data.formats.wmt_word_qe` states the format.

    An instance has the fields

    - `source` and `target`: `TextField`s;
    - `alignments`: bool (target words, source words), True where aligned, padded with False;
    - `tags`: `SequenceLabelField` over the target words, where the tags are known;
    - `metadata`: a `TaggingMetadata`.

    Registered as a `DatasetReader` with name "wmt_word_qe".

    # Parameters

    source_token_indexers, target_token_indexers : `Dict[str, TokenIndexer]`, optional
        Default: `{"tokens": SingleIdTokenIndexer}` with the namespaces "source_tokens" and
        "target_tokens".
    max_tokens, label_namespace
        See `TaggingReader`.
    """

    writers: ClassVar[Dict[str, Writer]] = {
        "tags": write_tags,
        "tsv": write_submission,
        "text": write_text,
    }

    def __init__(
        self,
        source_token_indexers: Optional[Dict[str, TokenIndexer]] = None,
        target_token_indexers: Optional[Dict[str, TokenIndexer]] = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self._source_token_indexers = source_token_indexers or {
            "tokens": SingleIdTokenIndexer(namespace="source_tokens")
        }
        self._target_token_indexers = target_token_indexers or {
            "tokens": SingleIdTokenIndexer(namespace="target_tokens")
        }

    @overrides
    def examples(self, file_path: str) -> Iterator[WordQeExample]:
        return read_examples(file_path)

    @overrides
    def num_tokens(self, example: Any) -> int:
        return len(example.target)

    @overrides
    def to_instance(self, example: Any) -> Instance:
        return self.build_instance(example.source, example.target, example.alignments, example.tags)

    @overrides(check_signature=False)
    def text_to_instance(
        self,
        source: List[str],
        target: List[str],
        alignments: Optional[Sequence[Sequence[int]]] = None,
        tags: Optional[List[str]] = None,
        attention: bool = False,
        trace: bool = False,
    ) -> Instance:
        """
        # Parameters

        source, target : `List[str]`
            Words, at least one each.
        alignments : `Sequence[Sequence[int]]`, optional (default = `None`, nothing is aligned)
            Pairs (source index, target index), from 0.
        tags : `List[str]`, optional (default = `None`, unlabelled)
            OK or BAD for each target word.
        attention : `bool`, optional (default = `False`)
            Whether the model returns the attention for this sentence.
        trace : `bool`, optional (default = `False`)
            Whether the model returns the trace for this sentence.

        # Raises

        `DataFormatError`, a `ValueError`: no words, a string in place of a list, an alignment
        outside of the sentences, not as many tags as target words, an unknown tag.
        """
        for name, words in (("source", source), ("target", target)):
            if not isinstance(words, list) or not words:
                raise DataFormatError(f"{name}: expected a list of words, got {quote(words)}")
        pairs = check_alignments(alignments or (), len(source), len(target))
        if tags is not None:
            if len(tags) != len(target):
                raise DataFormatError(
                    f"tags: expected {len(target)} tags (one a target word), got {len(tags)}"
                )
            check_tags(tags)
        return self.build_instance(source, target, pairs, tags, attention, trace)

    def build_instance(
        self,
        source: List[str],
        target: List[str],
        alignments: Sequence[Tuple[int, int]],
        tags: Optional[List[str]] = None,
        attention: bool = False,
        trace: bool = False,
    ) -> Instance:
        """The instance of parts that were checked. `attention` and `trace` as for `text_to_instance`."""
        target_field = TextField([token_of(word) for word in target])
        fields: Dict[str, Field] = {
            "source": TextField([token_of(word) for word in source]),
            "target": target_field,
            "alignments": AlignmentField(alignments, len(target), len(source)),
        }
        if tags is not None:
            fields["tags"] = SequenceLabelField(tags, target_field, self._label_namespace)
        metadata = TaggingMetadata(target, source, tags, None, alignments, attention, trace)
        fields["metadata"] = MetadataField(metadata)
        return Instance(fields)

    @overrides
    def apply_token_indexers(self, instance: Instance) -> None:
        """Sets the indexers. `text_to_instance` does not: worker processes would send them along with each instance."""
        fields: Any = instance.fields
        fields["source"].token_indexers = self._source_token_indexers
        fields["target"].token_indexers = self._target_token_indexers
