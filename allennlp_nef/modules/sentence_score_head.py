"""The output layer for the score of a sentence."""

from typing import cast

import torch
from allennlp.common import FromParams
from allennlp.common.checks import ConfigurationError
from allennlp.nn.util import masked_mean
from torch.nn import functional

MIN_SHARE = 1e-4
"""Of BAD words, where its logit is taken; and its distance from 1."""


class SentenceScoreHead(torch.nn.Module, FromParams):
    """Predicts the score of a translation in [0, 1], such as HTER, from its words.

    score = sigmoid(a logit(p) + w . h + b), where p is the expected share of BAD words (the mean of their probabilities
    of BAD) and h the mean of the states of the words. At the start of a training a is 1, and w and b are 0: the score
    is p. The loss of a sentence is the cross-entropy -y log(score) - (1 - y) log(1 - score) with its gold score y,
    which is the lowest where the score is y; a gold score above 1 counts as 1.

    # Parameters

    input_dim : `int`
        The dimension of the states; the model fills it in.
    loss_weight : `float`, optional (default = `10.0`)
        Above 0. What the mean of the sentences' losses is multiplied by before the loss of the tags is added, which by
        default is a sum over the words of a sentence.
    """

    def __init__(self, input_dim: int, loss_weight: float = 10.0) -> None:
        super().__init__()
        if not 0 < loss_weight < float("inf"):
            raise ConfigurationError(
                f"sentence_score: loss_weight: expected a number above 0, got {loss_weight!r}"
            )
        self.loss_weight = loss_weight
        self.scale = torch.nn.Parameter(torch.ones(()))
        self.projection = torch.nn.Linear(input_dim, 1)
        torch.nn.init.zeros_(self.projection.weight)
        torch.nn.init.zeros_(self.projection.bias)

    def forward(
        self, states: torch.Tensor, mask: torch.BoolTensor, bad_probabilities: torch.Tensor
    ) -> torch.Tensor:
        """The logits of the scores, (batch,).

        # Parameters

        states : `torch.Tensor`, (batch, tokens, input_dim)
        mask : `torch.BoolTensor`, (batch, tokens)
        bad_probabilities : `torch.Tensor`, (batch, tokens)
        """
        share = masked_mean(bad_probabilities, mask, -1)  # (batch,)
        return self.scale * torch.logit(share, MIN_SHARE) + self.projected(states, mask)

    def projected(self, states: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        """w . h + b, the part of the logits that does not depend on the probabilities: (batch,)."""
        wide = cast(torch.BoolTensor, mask.unsqueeze(-1))
        pooled = masked_mean(states, wide, 1)  # (batch, input_dim)
        projected: torch.Tensor = self.projection(pooled).squeeze(-1)
        return projected

    def loss(
        self,
        logits: torch.Tensor,
        gold: torch.Tensor,
        mask: torch.Tensor,
        weights: torch.Tensor | None = None,
    ) -> torch.Tensor:
        """The loss of a batch, a scalar; 0 without sentences.

        # Parameters

        logits, gold : `torch.Tensor`, (batch,)
            The logits of the scores, and the gold scores.
        mask : `torch.BoolTensor`, (batch,)
            Which sentences count.
        weights : `torch.Tensor`, (batch,), optional (default = `None`, all are 1)
        """
        gold = gold.to(logits).clamp(max=1).masked_fill(~mask, 0)
        losses = functional.binary_cross_entropy_with_logits(logits, gold, reduction="none")
        if weights is not None:
            losses = losses * weights.to(losses)
        return self.loss_weight * losses.masked_fill(~mask, 0).sum() / mask.sum().clamp(min=1)
