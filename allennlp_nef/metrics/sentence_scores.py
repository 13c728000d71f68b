"""Correlations and errors of the scores of sentences during training."""

from collections.abc import Sequence

import numpy
import torch
from allennlp.common.util import is_distributed
from allennlp.training.metrics import Metric

from allennlp_nef.metrics.correlations import count_sentence_scores, sentence_scores, spearman
from allennlp_nef.metrics.tag_scores import Tags


class CollectingMetric(Metric):
    """Base class of metrics that need all predictions at once.

    `get_metric` returns scores only with `reset=True`. In distributed training, all processes must call it, and each
    gets the scores over the data of all processes. A subclass adds pairs of numbers with `add` and implements `scores`.
    """

    def __init__(self) -> None:
        self.reset()

    def add(self, predicted: torch.Tensor, gold: torch.Tensor) -> None:
        """Adds the pairs of a batch: (pairs,) each."""
        self._pairs.append(torch.stack([predicted.detach(), gold.to(predicted)], -1))

    def scores(self, predicted: numpy.ndarray, gold: numpy.ndarray) -> dict[str, float]:
        """Computes the scores of all pairs, in float64: (pairs,) each, at least one."""
        raise NotImplementedError

    def get_metric(self, reset: bool = False) -> dict[str, float]:
        if not reset:
            return {}
        pairs = [torch.cat(self._pairs).cpu().double()] if self._pairs else []
        if is_distributed():
            gathered: list[list[torch.Tensor]] = [[]] * torch.distributed.get_world_size()
            torch.distributed.all_gather_object(gathered, pairs)
            pairs = sum(gathered, [])
        self.reset()
        table = torch.cat(pairs) if pairs else torch.empty(0)
        return self.scores(*table.numpy().T) if len(table) else {}

    def reset(self) -> None:
        self._pairs: list[torch.Tensor] = []


@Metric.register("sentence_scores")
class SentenceScores(CollectingMetric):
    """`pearson`, `spearman`, `mae` and `rmse` of the scores of sentences; a correlation of equal numbers is 0.

    Called with predicted and gold scores, (batch,) each.
    """

    def __call__(self, predicted: torch.Tensor, gold: torch.Tensor) -> None:  # type: ignore[override]
        """Adds a batch: (batch,) each."""
        self.add(predicted, gold)

    def scores(self, predicted: numpy.ndarray, gold: numpy.ndarray) -> dict[str, float]:
        sides: Sequence[Tags] = [side[:, None].tolist() for side in (gold, predicted)]
        scores = sentence_scores(count_sentence_scores(*sides).sentences.sum(0))
        scores["spearman"] = spearman(*sides)
        return {name: float(score) for name, score in scores.items()}
