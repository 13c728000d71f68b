"""The accuracy of tags."""

import torch
from allennlp.nn.util import dist_reduce_sum
from allennlp.training.metrics import Metric


@Metric.register("tag_accuracy")
class TagAccuracy(Metric):
    """`accuracy`, the share of words with the correct tag; 0 if there are no words.

    In distributed training, `get_metric(reset=True)` returns the accuracy over all processes.
    """

    _counts: torch.Tensor

    def __init__(self) -> None:
        self.reset()

    def __call__(self, predictions: torch.Tensor, gold: torch.Tensor, mask: torch.Tensor) -> None:  # type: ignore[override]
        """Counts a batch: predictions (batch, tokens, labels), gold tags and a mask (batch, tokens)."""
        is_right = (predictions.argmax(-1) == gold) & mask
        counts = torch.stack([is_right.sum(), mask.sum()])
        self._counts = self._counts.to(counts.device) + counts

    def get_metric(self, reset: bool = False) -> dict[str, float]:
        correct, total = (dist_reduce_sum(self._counts) if reset else self._counts).tolist()
        if reset:
            self.reset()
        return {"accuracy": correct / total if total else 0.0}

    def reset(self) -> None:
        self._counts = torch.zeros(2, dtype=torch.long)  # words with the right tag, and words
