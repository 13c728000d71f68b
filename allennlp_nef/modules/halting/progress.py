from typing import NamedTuple

import torch

from allennlp_nef.nn.numerics import in_float32_at_least


class Progress(NamedTuple):
    """The tags of sentences after a step, as far as a `Halting` looks at them.

    They are the labels with the highest scores, and their probabilities are those of softmax(scores), also with a CRF.
    """

    confidence: torch.Tensor
    """The lowest probability of a tag of the sentence: (sentences,)."""
    unchanged: torch.Tensor
    """For how many steps, this one included, no tag of the sentence has changed: (sentences,); 0 at the first step."""


class ProgressTracker:
    """Follows the tags of the sentences of a batch from step to step.

    # Parameters

    mask : `torch.BoolTensor`, (batch, tokens)
    """

    def __init__(self, mask: torch.Tensor) -> None:
        self._padding = ~mask
        self._tags = torch.full(mask.shape, -1, device=mask.device)
        self._unchanged = torch.zeros(len(mask), dtype=torch.long, device=mask.device)

    @torch.no_grad()
    def after(self, scores: torch.Tensor, rows: torch.Tensor) -> Progress:
        """The progress after a step. To be called for the steps of a sentence in turn.

        # Parameters

        scores : `torch.Tensor`, (sentences, tokens, labels)
            Those of the tag head after the step.
        rows : `torch.LongTensor`, (sentences,)
            The positions of the sentences in the batch.
        """
        padding = self._padding[rows]
        probabilities, tags = in_float32_at_least(scores).softmax(-1).max(-1)
        confidence = probabilities.masked_fill(padding, 1).min(-1).values
        is_same = ((tags == self._tags[rows]) | padding).all(-1)
        unchanged = (self._unchanged[rows] + 1) * is_same
        self._tags[rows], self._unchanged[rows] = tags, unchanged
        return Progress(confidence, unchanged)
