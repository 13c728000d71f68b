import math
from typing import Optional, Tuple

import torch
from allennlp.common import FromParams
from allennlp.common.checks import ConfigurationError

from allennlp_nef.modules.seq2seq_encoders.neural_easy_first import NeuralEasyFirstTrace
from allennlp_nef.modules.tag_heads import TagHead


class StepLoss(FromParams):
    """A loss at the steps before the last one, for the training of a tagger with the decoder `neural_easy_first`.

    Where L_n is the loss of a sentence if step n were its last one, the sentence with N steps has the loss

        L_N + weight * (L_1 + ... + L_(N - 1)) / (N - 1)

    All steps share the output layer. With a CRF, L_1 to L_(N - 1) are the cross entropies of the words under
    softmax(emissions); other tag heads have one loss for all steps. It makes a tagger better after fewer steps than
    it was trained with, and costs no parameters.

    # Parameters

    steps : `str`, optional (default = `"all"`)
        "all", or "drawn": the mean over the steps 1 to N - 1 is replaced by the loss of one of them, drawn anew for
        each sentence and each time. On average that is the same loss, and it is faster.
    weight : `float`, optional (default = `1.0`)
        Above 0.
    """

    def __init__(self, steps: str = "all", weight: float = 1.0) -> None:
        if steps not in ("all", "drawn"):
            raise ConfigurationError(f'step_loss: steps: expected "all" or "drawn", got {steps!r}')
        if isinstance(weight, bool) or not 0 < weight < math.inf:
            raise ConfigurationError(
                f"step_loss: weight: expected a number above 0, got {weight!r}"
            )
        self.steps = steps
        self.weight = weight

    def loss(
        self,
        trace: NeuralEasyFirstTrace,
        tag_head: TagHead,
        mask: torch.Tensor,
        tags: torch.Tensor,
        weights: Optional[torch.Tensor] = None,
    ) -> torch.Tensor:
        """What is added to the loss of a batch, a scalar. Mask, tags and weights are those of `TagHead.loss`."""
        rows, steps, shares = self._chosen(trace.num_steps)
        scores = tag_head.scores(trace.outputs(rows, steps))  # (pairs, tokens, labels)
        losses = tag_head.step_losses(scores, mask[rows], tags[rows])
        losses = losses * shares.to(losses)
        if weights is not None:
            losses = losses * weights.to(losses)[rows]
        divisor = tag_head.loss_weight(mask).clamp(min=1).to(losses.dtype)
        return self.weight * losses.sum() / divisor

    def _chosen(self, num_steps: torch.Tensor) -> Tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """Sentences, their steps, from 0, and the shares of these in the mean, (pairs,) each."""
        counts = (num_steps - 1).clamp(min=0)
        if self.steps == "all":
            steps = torch.arange(int(counts.max()), device=counts.device)
            rows, steps = (steps < counts.unsqueeze(1)).nonzero(as_tuple=True)
            return rows, steps, 1 / counts[rows].double()
        rows = (counts > 0).nonzero().squeeze(1)
        counts = counts[rows]
        drawn = (torch.rand(len(rows), device=counts.device) * counts).long()
        return rows, drawn.minimum(counts - 1), torch.ones_like(counts)
