"""Callbacks of trainings."""

import logging
import os
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator
from itertools import chain, islice
from typing import Any

from allennlp.common.checks import ConfigurationError
from allennlp.training.callbacks import TrainerCallback
from overrides import overrides

from allennlp_nef.data.aligners import AlignedPair, learn_aligner, save_aligner
from allennlp_nef.data.aligners.encoder_aligner import EncoderAligner
from allennlp_nef.data.dataset_readers import WmtWordQeReader
from allennlp_nef.data.formats.data_paths import DataPath
from allennlp_nef.data.formats.wmt_layouts import without_eos
from allennlp_nef.data.metadata import TaggingMetadata, tagging_metadata
from allennlp_nef.data.saved_examples import FILE_NAME, Request, request_of, write_examples
from allennlp_nef.data.token_indexers import WordPiecesIndexer
from allennlp_nef.errors import DataFormatError, quote
from allennlp_nef.models.out_of_memory import (
    OutOfMemoryError,
    is_out_of_memory,
    out_of_memory_error,
)
from allennlp_nef.modules.options import check_integers
from allennlp_nef.modules.pretrained_transformer import PretrainedTransformer
from allennlp_nef.resources import ALIGNER_NAME, TRANSFORMER_NAME

logger = logging.getLogger(__name__)


@TrainerCallback.register("learn_aligner")
class LearnAligner(TrainerCallback):
    """Learns a word aligner from the alignments of the training data, for sentences that come without alignments.

    It writes `aligner.json.gz` into the folder of the run before the training begins, and always the same file for the
    same data. With the file in `include_in_archive` of the config the archive holds the aligner, and the reader of the
    archive uses it. The file of an aligner that the training data's reader was given (`aligner`) is written as it is.
    Where the reader aligns with an encoder it writes nothing: that is in the config. Nor does it where there are no
    alignments to learn from, and a line of the log says so.

    It learns from all sentences of the training data (from the first `max_instances`, where the reader has that limit),
    also from those that `max_tokens` leaves out, in the first process of a distributed training.

    Registered as a `TrainerCallback` with name "learn_aligner". It does not change the checkpoints.
    """

    @overrides(check_signature=False)
    def on_start(self, trainer: Any, is_primary: bool = True, **kwargs: Any) -> None:
        super().on_start(trainer, is_primary, **kwargs)
        reader = getattr(trainer.data_loader, "reader", None)
        if not is_primary or not isinstance(reader, WmtWordQeReader):
            return
        path = os.path.join(self.serialization_dir, ALIGNER_NAME)
        aligner = reader.aligner
        if isinstance(aligner, EncoderAligner):
            return
        if aligner is None:
            pairs: Iterable[AlignedPair] = _AlignedPairs(reader, trainer.data_loader.data_path)
            if getattr(trainer.data_loader, "max_instances_in_memory", None) is None:
                pairs = list(pairs)
            try:
                aligner = learn_aligner(pairs)
            except DataFormatError as error:
                logger.info("The archive will have no aligner: %s", error)
                return
        save_aligner(aligner, path)


class _AlignedPairs:
    """The aligned sentences of the training data, read anew each time."""

    def __init__(self, reader: WmtWordQeReader, data_path: DataPath) -> None:
        self._reader = reader
        self._data_path = data_path

    def __iter__(self) -> Iterator[AlignedPair]:
        limit: int | None = self._reader.max_instances
        for example in islice(self._reader.examples(self._data_path), limit):
            if example.alignments is not None:
                yield AlignedPair(example.source, without_eos(example.target), example.alignments)


@TrainerCallback.register("save_examples")
class SaveExamples(TrainerCallback):
    """Keeps a few sentences of the validation data with the model, as examples for the page that shows it.

    It writes them as requests into `examples.jsonl` in the folder of the run, before the first epoch. The config's
    `include_in_archive: ["examples.jsonl"]` puts the file into the archive. The lengths of the sentences are spread
    over the quantiles of those with at most `max_words` words; of sentences of a length it takes the first ones.
    Sentences with a blank in a word are left out: the page splits at blanks.

    Registered as a `TrainerCallback` with name "save_examples".

    # Parameters

    count : `int`, optional (default = `5`)
        At least 1. How many sentences; fewer where the data have fewer.
    max_words : `int`, optional (default = `25`)
        At least 1. In quality estimation of either side.
    """

    def __init__(self, serialization_dir: str, count: int = 5, max_words: int = 25) -> None:
        super().__init__(serialization_dir)
        check_integers(count=count, max_words=max_words)
        self.count = count
        self.max_words = max_words

    @overrides(check_signature=False)
    def on_start(self, trainer: Any, is_primary: bool = True, *args: Any, **kwargs: Any) -> None:
        # At the start, so that the file is there however the training ends.
        if not is_primary:
            return
        loader = trainer._validation_data_loader
        if loader is None:
            logger.warning("There are no validation data: %s is not written.", FILE_NAME)
            return
        sentences = tagging_metadata(
            getattr(instance.fields.get("metadata"), "metadata", None)
            for instance in loader.iter_instances()
        )
        known = [sentence for sentence in sentences if sentence is not None]
        if len(known) < len(sentences):
            logger.warning(
                "The validation data are of a dataset reader of another package: %s is not written.",
                FILE_NAME,
            )
            return
        reader = getattr(loader, "reader", None)
        tokenizers = (getattr(reader, f"{side}_tokenizer", None) for side in ("source", "target"))
        requests = self.choose(known, any(tokenizers))
        if not requests:
            logger.warning(
                "The validation data have no sentence of at most %d words (max_words of save_examples): "
                "%s has no examples.",
                *(self.max_words, FILE_NAME),
            )
        write_examples(self.serialization_dir, requests)

    def choose(self, sentences: Iterable[TaggingMetadata], as_lists: bool = False) -> list[Request]:
        """The requests for the sentences that are chosen, the shortest one first."""
        first: dict[int, list[Request]] = defaultdict(list)
        counts: dict[int, int] = defaultdict(int)
        for sentence in sentences:
            sides = [sentence.target or sentence.tokens, sentence.source or []]
            length = max(map(len, sides))
            if length > self.max_words or any(word.split() != [word] for word in sum(sides, [])):
                continue
            counts[length] += 1
            if len(first[length]) < self.count:
                first[length].append(request_of(sentence, as_lists))
        lengths = [length for length in sorted(counts) for _ in range(counts[length])]
        number = min(self.count, len(lengths))
        # The middle of each of `number` equal parts.
        chosen = [lengths[(2 * i + 1) * len(lengths) // (2 * number)] for i in range(number)]
        return [first[length].pop(0) for length in chosen]


@TrainerCallback.register("save_transformer")
class SaveTransformer(TrainerCallback):
    """Keeps the configuration and the tokenizer of `transformer_pair` or `word_pieces` with the model, which has only
    the weights.

    It writes them into `transformer` in the folder of the run, before the first epoch. With that folder in
    `include_in_archive` of the config, the archive needs neither a download nor the folder of the pretrained
    transformer. For other models it writes nothing.

    Registered as a `TrainerCallback` with name "save_transformer".

    # Raises

    `ConfigurationError`: a model with transformers of several names; a reader with the tokenizer of another one.
    """

    @overrides(check_signature=False)
    def on_start(self, trainer: Any, is_primary: bool = True, **kwargs: Any) -> None:
        super().on_start(trainer, is_primary, **kwargs)
        transformers = {module.model_name: module for module in _transformers_of(trainer)}
        if len(transformers) > 1:
            names = " and ".join(map(quote, transformers))
            raise ConfigurationError(
                f"model_name: expected one transformer in a model, got {names}"
            )
        for module in transformers.values():
            for indexer in _word_pieces_of(trainer):
                if (
                    indexer.model_name != module.model_name
                    and indexer.tokenizer is not module.tokenizer
                ):
                    raise ConfigurationError(
                        "dataset_reader: model_name of word_pieces: expected that of the model, "
                        f"{module.model_name!r}, got {indexer.model_name!r}, which has another tokenizer"
                    )
        for module in transformers.values() if is_primary else ():
            folder = os.path.join(self.serialization_dir, TRANSFORMER_NAME)
            module.transformer.config.save_pretrained(folder)
            module.tokenizer.save_pretrained(folder)


def _word_pieces_of(trainer: Any) -> Iterator[WordPiecesIndexer]:
    """The indexers of the training and the validation data."""
    for loader in (trainer.data_loader, getattr(trainer, "_validation_data_loader", None)):
        sides = getattr(getattr(loader, "reader", None), "indexers", {}).values()
        for indexer in chain.from_iterable(map(dict.values, sides)):
            if isinstance(indexer, WordPiecesIndexer):
                yield indexer


@TrainerCallback.register("freeze_transformer")
class FreezeTransformer(TrainerCallback):
    """Trains only what is above a pretrained transformer in the first epochs.

    Layers that start from nothing have large gradients at first, which would change a transformer that is trained
    already. In these epochs its weights, and adapters in it, get no gradients, and it has no dropout. An epoch takes
    about a third of the time then. Registered as a `TrainerCallback` with name "freeze_transformer".

    # Parameters

    epochs : `int`, optional (default = `1`)
        At least 1: how many epochs.

    # Raises

    `ConfigurationError`: a model without such a transformer; a training in several processes, which wait for the
    gradients of all weights.
    """

    def __init__(self, serialization_dir: str, epochs: int = 1) -> None:
        super().__init__(serialization_dir)
        check_integers(epochs=epochs)
        self.epochs = epochs

    @overrides(check_signature=False)
    def on_start(self, trainer: Any, *args: Any, **kwargs: Any) -> None:
        super().on_start(trainer, *args, **kwargs)
        if not _transformers_of(trainer):
            raise ConfigurationError(
                "freeze_transformer: expected a model with transformer_pair or word_pieces, got none of them"
            )
        if trainer._distributed:
            raise ConfigurationError(
                "freeze_transformer: expected a training in one process, got several"
            )
        self._prepare(trainer, trainer._start_after_epochs_completed)

    @overrides(check_signature=False)
    def on_epoch(self, trainer: Any, metrics: Any, epoch: int, *args: Any, **kwargs: Any) -> None:
        self._prepare(trainer, epoch + 1)

    @overrides(check_signature=False)
    def on_end(self, trainer: Any, *args: Any, **kwargs: Any) -> None:
        self._prepare(trainer, self.epochs)

    def _prepare(self, trainer: Any, epoch: int) -> None:
        for module in _transformers_of(trainer):
            module.is_frozen = epoch < self.epochs


def _transformers_of(trainer: Any) -> list[PretrainedTransformer]:
    modules = trainer.model.modules()
    return [module for module in modules if isinstance(module, PretrainedTransformer)]


@TrainerCallback.register("explain_out_of_memory")
class ExplainOutOfMemory(TrainerCallback):
    """Explains an error for lack of memory in training: which batch was too large, and what to change.

    It covers the whole training step. The model itself explains such errors in its forward pass only.

    Registered as a `TrainerCallback` with name "explain_out_of_memory". It does not change the checkpoints.

    # Raises

    `OutOfMemoryError`, in place of torch's.
    """

    @overrides(check_signature=False)
    def on_start(self, trainer: Any, *args: Any, **kwargs: Any) -> None:
        # An exception of the caller, who may train in an `except` clause.
        self._handled = sys.exc_info()[1]

    @overrides(check_signature=False)
    def on_end(self, trainer: Any, *args: Any, **kwargs: Any) -> None:
        error = sys.exc_info()[1]  # the trainer calls this after an exception, too
        if error is self._handled or isinstance(error, OutOfMemoryError):
            return
        if is_out_of_memory(error):
            shape = getattr(trainer.model, "batch_shape", None)
            raise out_of_memory_error(error, shape, training=True) from error
