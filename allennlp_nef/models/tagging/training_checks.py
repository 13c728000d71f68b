import logging
from collections.abc import Iterable

import torch
from allennlp.common.checks import ConfigurationError

from allennlp_nef.data.metadata import TaggingMetadata
from allennlp_nef.modules.input_representations import InputRepresentation

logger = logging.getLogger(__name__)


def check_is_labeled(
    tags: torch.Tensor | None, sentence_score: torch.Tensor | None, learns_scores: bool
) -> None:
    """Raises a `ConfigurationError` where a training batch lacks tags, or scores that the model learns."""
    if tags is None:
        raise ConfigurationError(
            "tags: expected gold tags in the training data, got sentences without any; do the files of "
            "train_data_path have them?"
        )
    if learns_scores and sentence_score is None:
        raise ConfigurationError(
            "sentence_score: expected scores of the training sentences, got none; has train_data_path a file "
            ".hter, and dataset_reader the option sentence_scores: true?"
        )


class AlignmentCheck:
    """Warns once where sentences come without word alignments, and the input representation of a model takes them."""

    def __init__(self) -> None:
        self._is_done = False

    def add(self, model: torch.nn.Module, metadata: Iterable[TaggingMetadata | None]) -> None:
        """Looks at the sentences of a batch."""
        if self._is_done or not any(item and item.alignments_from == "none" for item in metadata):
            return
        self._is_done = True
        parts = (part for part in model.modules() if isinstance(part, InputRepresentation))
        effect = next((part.without_alignments for part in parts if part.without_alignments), None)
        if effect:
            logger.warning(
                "Some sentences have no word alignments, and there is no aligner to find them: for these, %s. "
                "`allennlp-nef align-words` aligns data; it needs the extra align: pip install "
                '"allennlp_nef[align]"',
                effect,
            )
