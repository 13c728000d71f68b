import logging
from collections import Counter

import torch

from allennlp_nef.data.metadata import TaggingMetadata

logger = logging.getLogger(__name__)

MAX_LISTED = 20
"""Labels in a warning."""


class UnseenLabels:
    """Counts the gold tags that the vocabulary lacks, for a warning."""

    def __init__(self) -> None:
        self._counts: Counter = Counter()

    def add(self, is_unseen: torch.Tensor, metadata: list[TaggingMetadata | None]) -> None:
        """Counts a batch: `is_unseen` is bool, (batch, tokens); the names of the tags are in the metadata."""
        for row, word in is_unseen.nonzero().tolist():
            item = metadata[row] if metadata else None
            self._counts[item.tags[word] if item and item.tags else "?"] += 1

    def warn(self) -> None:
        """Logs what was counted, and starts again."""
        if not self._counts:
            return
        labels = [f"{label} ({count})" for label, count in self._counts.most_common()]
        others = len(labels) - MAX_LISTED
        logger.warning(
            "%d gold tags are labels that the vocabulary lacks: no prediction is right for them, and their "
            "sentences are left out of the loss. They are %s.",
            sum(self._counts.values()),
            ", ".join(labels[:MAX_LISTED]) + (f" and {others} others" if others > 0 else ""),
        )
        self._counts.clear()
