"""Correlations and errors of scores, one per sentence or pair."""

from collections.abc import Sequence

import numpy
import torch
from allennlp.common.util import is_distributed
from allennlp.training.metrics import Metric

from allennlp_nef.metrics.tag_scores import Scorer, Scores, TagCounts, Tags, paired, ratio


def count_sentence_scores(gold: Tags, predicted: Tags) -> TagCounts:
    """Counts sentences with one number each.

    The columns are 1, x, y, x^2, y^2, xy, |d| and d^2: x are the gold and y the predicted scores, standardized so that
    a significance test can swap systems with different score ranges; d is the difference of the original scores.
    """
    values = numpy.array([[*g, *p] for g, p in paired(gold, predicted)], dtype=float).reshape(-1, 2)
    x, y = ratio(values - values.mean(0), numpy.broadcast_to(values.std(0), values.shape)).T
    d = values[:, 0] - values[:, 1]
    columns = [numpy.ones_like(x), x, y, x * x, y * y, x * y, numpy.abs(d), d * d]
    return TagCounts(numpy.stack(columns, -1), {})


def sentence_scores(counts: numpy.ndarray) -> Scores:
    """Returns Pearson's correlation, the mean absolute and the root mean squared error of `count_sentence_scores`."""
    n, x, y, xx, yy, xy, d, dd = numpy.moveaxis(counts, -1, 0)
    spread = numpy.sqrt(numpy.maximum(0, n * xx - x * x) * numpy.maximum(0, n * yy - y * y))
    pearson = ratio(n * xy - x * y, spread)
    return {"pearson": pearson, "mae": ratio(d, n), "rmse": numpy.sqrt(ratio(dd, n))}


def spearman(gold: Tags, predicted: Tags) -> float:
    """Returns Spearman's correlation of one number per sentence; 0 if one side is constant."""
    from scipy.stats import spearmanr

    sides: list[numpy.ndarray] = [numpy.ravel(side) for side in (gold, predicted)]
    if any(numpy.unique(side).size < 2 for side in sides):
        return 0.0
    return float(spearmanr(*sides)[0])


def rank_correlations(gold: Tags, predicted: Tags) -> Scores:
    """Returns the Spearman and Kendall correlations of one number per sentence; 0 if one side is constant."""
    from scipy.stats import kendalltau

    kendall = numpy.nan_to_num(kendalltau(gold, predicted)[0])
    return {"spearman": spearman(gold, predicted), "kendall": float(kendall)}


CORRELATIONS = Scorer(
    count_sentence_scores,
    sentence_scores,
    ("pearson", "mae", "rmse"),
    "spearman",
    "",
    rank_correlations,
)


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
        return self.scores(*torch.cat(pairs).numpy().T) if pairs else {}

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
