from typing import Optional

import torch
from allennlp.training.metrics import Metric
from overrides import overrides


class ProbabilityMetric(Metric):
    """Base class of metrics of probabilities. The model computes them where some metric is one of these.

    A subclass that is computed over several processes has to reduce what it counts, as the other metrics do.
    """

    @overrides(check_signature=False)
    def __call__(
        self,
        predictions: torch.Tensor,
        gold: torch.Tensor,
        mask: Optional[torch.Tensor] = None,
        probabilities: Optional[torch.Tensor] = None,
    ) -> None:
        """Counts a batch.

        # Parameters

        predictions, gold : `torch.LongTensor`, (batch, tokens)
            The predicted and the gold tags; a gold tag that the vocabulary lacks is -1.
        mask : `torch.BoolTensor`, (batch, tokens), optional (default = `None`, no padding)
        probabilities : `torch.Tensor`, (batch, tokens, labels)
            Those of all labels. The model always gives them.
        """
        raise NotImplementedError
