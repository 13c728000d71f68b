from collections.abc import Sequence

import torch
from allennlp.nn.util import dist_reduce_sum
from allennlp.training.metrics import Metric

from allennlp_nef.metrics import ProbabilityMetric, SentenceScoresMetric
from allennlp_nef.modules.tag_heads import TagHead


class TaggingMetrics:
    """Calls the metrics of a tagger, and collects their scores. `SentenceScores` calls those of sentence scores.

    # Parameters

    metrics : `Sequence[Metric]`
    tag_head : `TagHead`
        Gives the probabilities that a `ProbabilityMetric` takes.
    """

    def __init__(self, metrics: Sequence[Metric], tag_head: TagHead) -> None:
        self._metrics = metrics
        self._tag_head = tag_head
        self._has_gold = False

    def add(
        self,
        tag_ids: torch.Tensor,
        tags: torch.Tensor,
        mask: torch.BoolTensor,
        scores: torch.Tensor,
    ) -> None:
        """Adds a batch with gold tags: predicted and gold tags (batch, tokens), scores (batch, tokens, labels)."""
        self._has_gold = True
        probabilities: torch.Tensor | None = None
        if any(isinstance(metric, ProbabilityMetric) for metric in self._metrics):
            with torch.no_grad():
                probabilities = self._tag_head.probabilities(scores, mask)
        for metric in self._metrics:
            if isinstance(metric, ProbabilityMetric):
                metric(tag_ids, tags, mask, probabilities)
            elif not isinstance(metric, SentenceScoresMetric):
                metric(tag_ids, tags, mask)

    def scores(self, reset: bool) -> dict[str, float]:
        """The scores of all metrics; of tags none where no gold tags came since the last reset.

        With `reset` of all processes together, which all have to call it: see `CountingMetric`. Without it, slow
        metrics are left out: AllenNLP asks for the scores after each batch, to show them.
        """
        if reset:
            self._has_gold = dist_reduce_sum(int(self._has_gold)) > 0
        scores: dict[str, float] = {}
        for metric in self._metrics:
            if not reset and getattr(metric, "is_slow", False):
                continue
            if self._has_gold or isinstance(metric, SentenceScoresMetric):
                scores.update(metric.get_metric(reset))
        self._has_gold = self._has_gold and not reset
        return scores
