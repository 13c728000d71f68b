"""The `learn_aligner` callback."""

import logging
import os
from itertools import islice
from typing import Any

from allennlp.training.callbacks import TrainerCallback

from allennlp_nef.errors import DataFormatError
from allennlp_nef.qe.aligner import ALIGNER_NAME, learn_aligner, save_aligner
from allennlp_nef.qe.layouts import without_eos

logger = logging.getLogger(__name__)


@TrainerCallback.register("learn_aligner")
class LearnAligner(TrainerCallback):
    """Learns a word aligner from the alignments in the training data, for sentences without alignments.

    Writes `aligner.json.gz` to the run folder before training starts. With `include_in_archive: ["aligner.json.gz"]` in
    the config, the reader of the archive uses it. If the training reader already has an aligner, it is written
    unchanged. If the training data have too few alignments, a log message says so.
    """

    def on_start(self, trainer: Any, is_primary: bool = True, **kwargs: Any) -> None:
        super().on_start(trainer, is_primary, **kwargs)
        if not is_primary:
            return
        loader = trainer.data_loader
        aligner = loader.reader.aligner
        if aligner is None:
            pairs = islice(loader.reader.examples(loader.data_path), loader.reader.max_instances)
            try:
                aligner = learn_aligner(
                    (pair.source.words, without_eos(pair.target.words), pair.links or [])
                    for pair in pairs
                )
            except DataFormatError as error:
                logger.info("%s is not written: %s", ALIGNER_NAME, error)
                return
        save_aligner(aligner, os.path.join(self.serialization_dir, ALIGNER_NAME))
