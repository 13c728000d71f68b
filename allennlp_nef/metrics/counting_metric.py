"""Metrics that are sums of counts, those of probabilities, and the accuracy of tags."""

from typing import Any

import numpy
import torch
from allennlp.nn.util import dist_reduce_sum
from allennlp.training.metrics import Metric
from overrides import overrides

from allennlp_nef.metrics.ratios import ratio


class CountingMetric(Metric):
    """Base class of metrics that add up counts, and make scores of the sums.

    In a training with several processes each process counts its own data. `get_metric(reset=True)` gives the scores of
    the data of all processes; all of them have to call it, as the trainer does at the end of an epoch. Without `reset`
    the scores are those of this process. So the processes may have different numbers of batches, also none.

    A subclass implements `no_counts`, `scores` and `__call__`, which adds to `counts`.
    """

    is_slow = False
    """Whether the scores take too long to be shown after each batch of a training."""
    counts: Any
    """The counts since the last reset: a tensor on the device of the batches, so that no batch waits for them."""

    def no_counts(self) -> Any:
        """The counts of no data: an array of zeros, int64 or float64, of any shape."""
        raise NotImplementedError

    def scores(self, counts: Any) -> dict[str, float]:
        """The scores of counts, as Python's numbers."""
        raise NotImplementedError

    def over_processes(self, counts: Any) -> Any:
        """The counts of all processes together, from those of this process."""
        return dist_reduce_sum(counts)

    def add(self, counts: torch.Tensor) -> None:
        """Adds the counts of a batch, in the shape of `no_counts`."""
        self.counts = self.counts.to(counts.device) + counts

    @overrides
    def get_metric(self, reset: bool = False) -> dict[str, float]:
        counts = self.counts
        if reset:
            counts = self.over_processes(counts)
            self.reset()
        return self.scores(counts.cpu().numpy())

    @overrides
    def reset(self) -> None:
        self.counts = torch.from_numpy(self.no_counts())


class ProbabilityMetric(CountingMetric):
    """Base class of metrics of probabilities. The model computes them where some metric is one of these.

    A subclass implements `add_words`, which adds to the counts, `no_counts` and `scores`: see `CountingMetric`.
    """

    @overrides(check_signature=False)
    def __call__(
        self,
        predictions: torch.Tensor,
        gold: torch.Tensor,
        mask: torch.Tensor | None = None,
        probabilities: torch.Tensor | None = None,
    ) -> None:
        """Counts a batch.

        # Parameters

        predictions, gold : `torch.LongTensor`, (batch, tokens)
            The predicted and the gold tags; a gold tag that the vocabulary lacks is -1.
        mask : `torch.BoolTensor`, (batch, tokens), optional (default = `None`, no padding)
        probabilities : `torch.Tensor`, (batch, tokens, labels)
            Those of all labels. The model always gives them.

        # Raises

        `ValueError`: no probabilities.
        """
        if probabilities is None:
            raise ValueError("probabilities: expected those of all labels, got none")
        if mask is None:
            mask = torch.ones_like(gold, dtype=torch.bool)
        # What is in padding has to be a tag and a number. No words are selected: a device would be waited for.
        predictions, gold = predictions.masked_fill(~mask, 0), gold.masked_fill(~mask, 0)
        probabilities = probabilities.detach().double().masked_fill(~mask.unsqueeze(-1), 0)
        self.add_words(
            predictions.flatten(), gold.flatten(), mask.flatten(), probabilities.flatten(0, 1)
        )

    def add_words(
        self,
        predictions: torch.Tensor,
        gold: torch.Tensor,
        mask: torch.Tensor,
        probabilities: torch.Tensor,
    ) -> None:
        """Counts the words of a batch: predicted and gold tags and the mask (words,), probabilities in float64 (words,
        labels). In padding all of them are 0."""
        raise NotImplementedError


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
