import torch
from overrides import overrides

from allennlp_nef.metrics.counting_metric import CountingMetric


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
        self.add_words(predictions[mask], gold[mask], probabilities.detach()[mask].double())

    def add_words(
        self, predictions: torch.Tensor, gold: torch.Tensor, probabilities: torch.Tensor
    ) -> None:
        """Counts the words of a batch: predicted and gold tags (words,), probabilities in float64 (words, labels)."""
        raise NotImplementedError
