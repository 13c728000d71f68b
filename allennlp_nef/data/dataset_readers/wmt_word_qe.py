import logging
import signal
from functools import lru_cache
from typing import Any, Dict, Iterable, Iterator, List, Optional, Sequence

from allennlp.common.checks import ConfigurationError
from allennlp.data import DatasetReader, Field, Instance, Token, TokenIndexer
from allennlp.data.fields import MetadataField, SequenceLabelField, TextField
from allennlp.data.token_indexers import SingleIdTokenIndexer
from allennlp.data.vocabulary import DEFAULT_OOV_TOKEN, DEFAULT_PADDING_TOKEN
from overrides import overrides

from allennlp_nef.data.fields.alignment_field import AlignmentField
from allennlp_nef.data.formats.errors import DataFormatError, quote
from allennlp_nef.data.formats.wmt_word_qe import (
    WordQeExample,
    check_alignments,
    check_tags,
    read_examples,
)
from allennlp_nef.data.metadata import TaggingMetadata

logger = logging.getLogger(__name__)


@DatasetReader.register("wmt_word_qe")
class WmtWordQeReader(DatasetReader):
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

    Registered as a `DatasetReader` with name "wmt_word_qe". Sentences are shared out among the
    workers of a data loader and the processes of distributed training, after `max_tokens`.

    # Parameters

    source_token_indexers, target_token_indexers : `Dict[str, TokenIndexer]`, optional
        Default: `{"tokens": SingleIdTokenIndexer}` with the namespaces "source_tokens" and
        "target_tokens".
    max_tokens : `int`, optional (default = `None`, no limit)
        At least 1. Sentences of more target words are left out, and their number is logged as a
        warning. The paper leaves out training sentences of 50 words or more: 49. Give a limit to
        the training reader alone and a `validation_dataset_reader` without one.
    label_namespace : `str`, optional (default = `"labels"`)
        Vocabulary namespace of the tags.
    """

    def __init__(
        self,
        source_token_indexers: Optional[Dict[str, TokenIndexer]] = None,
        target_token_indexers: Optional[Dict[str, TokenIndexer]] = None,
        max_tokens: Optional[int] = None,
        label_namespace: str = "labels",
        **kwargs: Any,
    ) -> None:
        super().__init__(
            manual_distributed_sharding=True, manual_multiprocess_sharding=True, **kwargs
        )
        if max_tokens is not None and max_tokens < 1:
            raise ConfigurationError(f"max_tokens: expected at least 1 or null, got {max_tokens}")
        self._source_token_indexers = source_token_indexers or {
            "tokens": SingleIdTokenIndexer(namespace="source_tokens")
        }
        self._target_token_indexers = target_token_indexers or {
            "tokens": SingleIdTokenIndexer(namespace="target_tokens")
        }
        self._max_tokens = max_tokens
        self._label_namespace = label_namespace

    @overrides(check_signature=False)
    def _read(self, file_path: str) -> Iterator[Instance]:
        """
        Instances of the files with the prefix `file_path`.

        # Raises

        `DataFormatError`, a `ValueError`: see `read_examples`.
        """
        examples = read_examples(file_path)
        if self._max_tokens is not None:
            examples = self._leave_out_long(examples, self._max_tokens)
        try:
            for example in self.shard_iterable(examples):
                yield self.text_to_instance(
                    example.source, example.target, example.alignments, example.tags
                )
        except DataFormatError:
            if self.get_worker_info() is not None:
                # AllenNLP's data loader reports the error and then ends this worker by SIGTERM.
                # The traceback of AllenNLP's handler could come after the report: no handler.
                signal.signal(signal.SIGTERM, signal.SIG_DFL)
            raise

    def _leave_out_long(
        self, examples: Iterable[WordQeExample], max_tokens: int
    ) -> Iterator[WordQeExample]:
        number_read = number_left_out = 0
        try:
            for example in examples:
                number_read += 1
                if len(example.target) > max_tokens:
                    number_left_out += 1
                else:
                    yield example
            if number_left_out == number_read:
                raise DataFormatError(
                    f"max_tokens: expected some sentence of at most {max_tokens} target words, "
                    f"got none among {number_read}"
                )
        finally:  # also where the reader's max_instances ends the reading
            worker = self.get_worker_info()
            if number_left_out and (worker is None or worker.id == 0):
                logger.warning(
                    "Left out %d of %d sentences: they have more than %d target words.",
                    number_left_out,
                    number_read,
                    max_tokens,
                )

    @overrides(check_signature=False)
    def text_to_instance(
        self,
        source: List[str],
        target: List[str],
        alignments: Optional[Sequence[Sequence[int]]] = None,
        tags: Optional[List[str]] = None,
        keep_trace: bool = False,
    ) -> Instance:
        """
        # Parameters

        source, target : `List[str]`
            Words, at least one each.
        alignments : `Sequence[Sequence[int]]`, optional (default = `None`, nothing is aligned)
            Pairs (source index, target index), from 0.
        tags : `List[str]`, optional (default = `None`, unlabelled)
            OK or BAD for each target word.
        keep_trace : `bool`, optional (default = `False`)
            Whether the model returns the attention of every step for this sentence.

        # Raises

        `DataFormatError`, a `ValueError`: no words, a string in place of a list, an alignment
        outside of the sentences, not as many tags as target words, an unknown tag.
        """
        for name, words in (("source", source), ("target", target)):
            if not isinstance(words, list) or not words:
                raise DataFormatError(f"{name}: expected a list of words, got {quote(words)}")
        pairs = check_alignments(alignments or (), len(source), len(target))
        target_field = TextField([_token(word) for word in target])
        fields: Dict[str, Field] = {
            "source": TextField([_token(word) for word in source]),
            "target": target_field,
            "alignments": AlignmentField(pairs, len(target), len(source)),
        }
        if tags is not None:
            if len(tags) != len(target):
                raise DataFormatError(
                    f"tags: expected {len(target)} tags (one a target word), got {len(tags)}"
                )
            check_tags(tags)
            fields["tags"] = SequenceLabelField(tags, target_field, self._label_namespace)
        fields["metadata"] = MetadataField(TaggingMetadata(target, source, tags, keep_trace))
        return Instance(fields)

    @overrides
    def apply_token_indexers(self, instance: Instance) -> None:
        """Sets the indexers of `source` and `target`, here and not in `text_to_instance`: they
        would be sent along with every instance from a worker process."""
        fields: Any = instance.fields
        fields["source"].token_indexers = self._source_token_indexers
        fields["target"].token_indexers = self._target_token_indexers


def _token(word: str) -> Token:
    """The token of a word. A word that is AllenNLP's padding symbol to the letter is an unknown one, or it would be
    taken for padding."""
    if word == DEFAULT_PADDING_TOKEN:
        word = DEFAULT_OOV_TOKEN
    return _shared_token(word) if len(word) < 64 else Token(word)


@lru_cache(maxsize=2**16)
def _shared_token(word: str) -> Token:
    """Instances share the tokens of words (nothing writes to a token): that halves the time that reading takes, most
    of which is the garbage collector's."""
    return Token(word)
