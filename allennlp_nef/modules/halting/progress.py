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
    halted: torch.Tensor
    """The learned probability to have halted at this step or an earlier one: (sentences,); 0 without `halting_rate`."""


class ProgressTracker:
    """Follows the tags of the sentences of a batch from step to step.

    # Parameters

    mask : `torch.BoolTensor`, (batch, tokens)
    counts_changes : `bool`, optional (default = `True`)
        Whether `unchanged` is counted; else it stays 0.
    """

    def __init__(self, mask: torch.Tensor, counts_changes: bool = True) -> None:
        self._padding = ~mask
        self._counts_changes = counts_changes
        self._tags = torch.full(mask.shape, -1, device=mask.device)
        self._unchanged = torch.zeros(len(mask), dtype=torch.long, device=mask.device)
        self._left = torch.ones(len(mask), device=mask.device)

    @torch.no_grad()
    def after(self, scores: torch.Tensor, logits: torch.Tensor | None = None) -> Progress:
        """The progress after a step.

        # Parameters

        scores : `torch.Tensor`, (sentences, tokens, labels)
            Of the tag head.
        logits : `torch.Tensor`, (sentences,), optional (default = `None`)
            Of the learned probabilities to halt at this step.
        """
        scores = in_float32_at_least(scores)
        highest, tags = scores.max(-1, keepdim=True)
        # The softmax at the highest score.
        probabilities = (scores - highest).exp_().sum(-1).reciprocal_()
        confidence = probabilities.masked_fill_(self._padding, 1).amin(-1)
        if self._counts_changes:
            is_same = ((tags.squeeze(-1) == self._tags) | self._padding).all(-1)
            self._tags, self._unchanged = tags.squeeze(-1), (self._unchanged + 1) * is_same
        if logits is not None:
            self._left = self._left * (-logits).sigmoid()
        return Progress(confidence, self._unchanged, 1 - self._left)

    def keep(self, rows: torch.Tensor) -> None:
        """Leaves the other sentences out of all further steps."""
        self._padding, self._tags = self._padding[rows], self._tags[rows]
        self._unchanged, self._left = self._unchanged[rows], self._left[rows]
