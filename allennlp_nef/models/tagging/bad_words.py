import logging

import torch

from allennlp_nef.modules.tag_heads import TagHead

logger = logging.getLogger(__name__)

MAX_RATIO = 1.5
"""Of the share of words that are tagged BAD, and of that on the data on which the threshold was chosen."""


class BadWords:
    """Counts the words that a threshold tags BAD, for a warning where they are far more or fewer than expected.

    # Parameters

    tag_head : `TagHead`
        With the calibration that has the threshold.
    """

    def __init__(self, tag_head: TagHead) -> None:
        self._tag_head = tag_head
        self._bad = self._words = 0

    def add(self, tag_ids: torch.Tensor, mask: torch.Tensor) -> None:
        """Counts a batch of predicted tags; both are (batch, tokens)."""
        calibration = self._tag_head.calibration
        if calibration is not None and calibration.threshold is not None:
            self._bad += int((mask & (tag_ids != self._tag_head.labels.index("OK"))).sum())
            self._words += int(mask.sum())

    def warn(self) -> None:
        """Logs a warning where the shares differ by more than `MAX_RATIO`, and starts again."""
        calibration, bad, words = self._tag_head.calibration, self._bad, self._words
        self._bad = self._words = 0
        if calibration is None or calibration.tagged_share is None or not words:
            return
        expected, share = calibration.tagged_share, bad / words
        if max(expected, share) > MAX_RATIO * min(expected, share):
            names = {"mcc": "MCC", "f1_mult": "F1-MULT", "span_f1": "F1 of characters"}
            goal = names.get(str(calibration.objective))
            logger.warning(
                "%.1f%% of the words are tagged BAD, but %.1f%% of those on which the threshold %.4g was chosen%s. "
                "These data are unlike those, and another threshold may be better: calibrate the model on data like "
                "these, or with `allennlp-nef calibrate --adapt-to` these data, which need no tags.",
                100 * share,
                100 * expected,
                calibration.threshold,
                f" for the highest {goal}" if goal else "",
            )
