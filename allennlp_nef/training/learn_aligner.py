import logging
import os
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any

from allennlp.training.callbacks import TrainerCallback
from overrides import overrides

from allennlp_nef.data.aligners import AlignedPair, learn_aligner, save_aligner
from allennlp_nef.data.dataset_readers import WmtWordQeReader
from allennlp_nef.data.formats.data_paths import DataPath
from allennlp_nef.data.formats.wmt_layouts import without_eos
from allennlp_nef.errors import DataFormatError
from allennlp_nef.resources import ALIGNER_NAME

logger = logging.getLogger(__name__)


@TrainerCallback.register("learn_aligner")
class LearnAligner(TrainerCallback):
    """Learns a word aligner from the alignments of the training data, for sentences that come without alignments.

    It writes `aligner.json.gz` into the folder of the run before the training begins, and always the same file for the
    same data. With the file in `include_in_archive` of the config the archive holds the aligner, and the reader of the
    archive uses it. An aligner that the training data's reader was given (`aligner`) is written as it is. Where there
    are no alignments to learn from it writes nothing, and a line of the log says so.

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
