from typing import Any

import numpy
import torch
from allennlp.training.metrics import Metric
from overrides import overrides

from allennlp_nef.metrics.counting_metric import CountingMetric
from allennlp_nef.metrics.ratios import ratio


@Metric.register("tag_accuracy")
class TagAccuracy(CountingMetric):
    """The share of words with the right tag, over the whole data set; 0 where there are none.

    Registered as a `Metric` with name "tag_accuracy".
    """

    def __init__(self) -> None:
        self.reset()

    @overrides(check_signature=False)
    def __call__(
        self,
        predictions: torch.Tensor,
        gold: torch.Tensor,
        mask: torch.Tensor | None = None,
    ) -> None:
        """Predicted and gold tags, and the mask: each (batch, tokens)."""
        if mask is None:
            mask = torch.ones_like(gold, dtype=torch.bool)
        correct = ((predictions == gold) & mask).sum()
        self.add(torch.stack([correct, mask.sum()]))

    @overrides
    def no_counts(self) -> numpy.ndarray:
        return numpy.zeros(2, dtype=numpy.int64)  # words with the right tag, and words

    @overrides
    def scores(self, counts: Any) -> dict[str, float]:
        return {"accuracy": float(ratio(*counts))}
