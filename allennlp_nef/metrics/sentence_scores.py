"""Correlations and errors of the scores of sentences."""

from typing import Any

import numpy
import torch
from allennlp.common.util import is_distributed
from allennlp.training.metrics import Metric
from overrides import overrides

from allennlp_nef.metrics.counting_metric import CountingMetric
from allennlp_nef.metrics.wmt_scores import count_correlations, sentence_scores


@Metric.register("sentence_scores")
class SentenceScoresMetric(CountingMetric):
    """How near the scores of sentences are to the gold ones, such as HTER, over the whole data set.

    `pearson` and `spearman` are the correlations (the primary scores of the WMT shared tasks), `mae` the mean absolute
    error, `rmse` the root of the mean squared error. A correlation with scores that are all the same is 0. Without gold
    scores since the last reset there are none of the four. `spearman` needs all scores: they are kept until the reset,
    16 bytes a sentence.

    `nef_tagger` calls it with its scores of sentences where the data have gold ones.

    Registered as a `Metric` with name "sentence_scores".
    """

    is_slow = True

    def __init__(self) -> None:
        self.reset()

    @overrides(check_signature=False)
    def __call__(self, predictions: torch.Tensor, gold: torch.Tensor) -> None:
        """Predicted and gold scores: each (batch,)."""
        self.counts.append(torch.stack([predictions, gold], -1).detach().double())

    @overrides
    def reset(self) -> None:
        self.counts = []  # of each batch the predicted and the gold scores, (batch, 2)

    @overrides
    def get_metric(self, reset: bool = False) -> dict[str, float]:
        counts = [torch.cat(self.counts).cpu().numpy()] if self.counts else []
        if reset:
            counts = self.over_processes(counts)
            self.reset()
        return self.scores(counts)

    @overrides
    def over_processes(self, counts: Any) -> Any:
        if not is_distributed():
            return counts
        gathered: list[Any] = [None] * torch.distributed.get_world_size()
        torch.distributed.all_gather_object(gathered, counts)
        return sum(gathered, [])

    @overrides
    def scores(self, counts: Any) -> dict[str, float]:
        if not counts:
            return {}
        predicted, gold = numpy.concatenate(counts).T[..., None]  # (sentences, 1) each
        sums = count_correlations(gold, predicted).sentences.sum(0)
        scores = {name: float(score) for name, score in sentence_scores(sums).items()}
        scores["spearman"] = _spearman(gold[:, 0], predicted[:, 0])
        return scores


def _spearman(gold: numpy.ndarray, predicted: numpy.ndarray) -> float:
    from scipy.stats import spearmanr

    if len(set(gold)) == 1 or len(set(predicted)) == 1:
        return 0.0
    return float(spearmanr(gold, predicted)[0])
