from typing import Dict, Optional

import torch
from allennlp.nn.util import dist_reduce_sum
from allennlp.training.metrics import Metric
from overrides import overrides


@Metric.register("tag_accuracy")
class TagAccuracy(Metric):
    """The share of words with the right tag, over the whole data set; 0 where there are none.

    Registered as a `Metric` with name "tag_accuracy".
    """

    def __init__(self) -> None:
        self._correct = 0
        self._total = 0

    @overrides(check_signature=False)
    def __call__(
        self,
        predictions: torch.Tensor,
        gold: torch.Tensor,
        mask: Optional[torch.Tensor] = None,
    ) -> None:
        """Predicted and gold tags, and the mask: each (batch, tokens)."""
        if mask is None:
            mask = torch.ones_like(gold, dtype=torch.bool)
        correct = ((predictions == gold) & mask).sum()
        self._correct += int(dist_reduce_sum(correct))
        self._total += int(dist_reduce_sum(mask.sum()))

    @overrides
    def get_metric(self, reset: bool = False) -> Dict[str, float]:
        accuracy = self._correct / self._total if self._total else 0.0
        if reset:
            self.reset()
        return {"accuracy": accuracy}

    @overrides
    def reset(self) -> None:
        self._correct = 0
        self._total = 0
