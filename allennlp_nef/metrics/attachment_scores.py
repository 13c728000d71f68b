"""UAS and LAS of dependency trees."""

from typing import Any

import numpy
import torch
from overrides import overrides

from allennlp_nef.metrics.counting_metric import CountingMetric
from allennlp_nef.metrics.ratios import ratio


class AttachmentScoresMetric(CountingMetric):
    """Scores of dependency trees over the whole data set: `UAS` and `LAS`, the shares of words with the right head, and
    also with the right label; `UEM` and `LEM`, the shares of sentences in which that holds for all words.

    All words count, punctuation too. Where no word was counted, there are no scores. AllenNLP's `AttachmentScores` has
    the same scores. But it adds up the processes of a training at each batch, and fails where their batches differ in
    shape.
    """

    def __init__(self) -> None:
        self.reset()

    @overrides(check_signature=False)
    def __call__(
        self,
        heads: torch.Tensor,
        labels: torch.Tensor,
        gold_heads: torch.Tensor,
        gold_labels: torch.Tensor,
        mask: torch.Tensor,
    ) -> None:
        """Predicted and gold heads and labels, and the mask: each (batch, words)."""
        has_head = heads == gold_heads
        has_both = has_head & (labels == gold_labels)
        is_right = torch.stack([has_head, has_both])
        words = (is_right & mask).flatten(1).sum(-1)
        is_sentence = mask.any(-1)
        sentences = ((is_right | ~mask).all(-1) & is_sentence).sum(-1)
        self.add(torch.stack([*words, *sentences, mask.sum(), is_sentence.sum()]))

    @overrides
    def no_counts(self) -> numpy.ndarray:
        return numpy.zeros(6, dtype=numpy.int64)  # UAS, LAS, UEM, LEM; words, sentences

    @overrides
    def scores(self, counts: Any) -> dict[str, float]:
        *right, words, sentences = counts
        if words == 0:
            return {}
        totals = (words, words, sentences, sentences)
        names = ("UAS", "LAS", "UEM", "LEM")
        return {name: float(ratio(*pair)) for name, *pair in zip(names, right, totals)}
