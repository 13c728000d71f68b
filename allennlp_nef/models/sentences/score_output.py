from typing import Any, ClassVar

import torch
from overrides import overrides
from torch.nn import functional

from allennlp_nef.data.formats.sentence_pairs import MAX_SCORE, MIN_SCORE
from allennlp_nef.metrics import SentenceScoresMetric
from allennlp_nef.models.sentences.pair_output import PairOutput


@PairOutput.register("scores")
class ScoreOutput(PairOutput):
    """
    A distribution over the scores 1 to 5, whose mean is the predicted score: Tai, Socher and Manning (ACL 2015),
    Section 4.2.

    The loss is the Kullback-Leibler divergence from the distribution of the gold score y to the predicted one. That of
    y has the probability max(0, 1 - |y - i|) at each score i: its mean is y. The metrics are `pearson`,
    `spearman` and `mse`, the mean squared error. They take all scores, so they are computed at a reset only: a trainer
    asks after each batch, too.

    Registered as a `PairOutput` with name "scores".

    # Parameters

    input_dim : `int`
        The dimension of the features; the model fills it in.
    """

    gold: ClassVar[str] = "score"
    scores: torch.Tensor

    def __init__(self, input_dim: int) -> None:
        super().__init__()
        scores = torch.arange(MIN_SCORE, MAX_SCORE + 1, dtype=torch.float)
        self.register_buffer("scores", scores, persistent=False)
        self.projection = torch.nn.Linear(input_dim, len(scores))
        self.metric = SentenceScoresMetric()

    @overrides
    def forward(
        self, features: torch.Tensor, gold: torch.Tensor | None = None
    ) -> dict[str, torch.Tensor]:
        logits = self.projection(features).float()  # (batch, scores)
        probabilities = logits.softmax(-1)
        outputs = {"probs": probabilities, "score": probabilities @ self.scores}
        if gold is not None:
            outputs["loss"] = functional.kl_div(
                logits.log_softmax(-1), self.distribution(gold), reduction="batchmean"
            )
            self.metric(outputs["score"], gold)
        return outputs

    def distribution(self, gold: torch.Tensor) -> torch.Tensor:
        """The distribution of each gold score: (batch,) -> (batch, scores)."""
        return (1 - (gold.unsqueeze(-1) - self.scores).abs()).clamp(min=0)

    @overrides
    def readable(self, outputs: dict[str, torch.Tensor]) -> dict[str, list[Any]]:
        names = [str(score) for score in range(MIN_SCORE, MAX_SCORE + 1)]
        return {
            "score": outputs["score"].tolist(),
            "probabilities": [dict(zip(names, row)) for row in outputs["probs"].tolist()],
        }

    @overrides
    def get_metrics(self, reset: bool = False) -> dict[str, float]:
        if not reset:
            return {}
        scores = self.metric.get_metric(reset)
        if not scores:
            return {}
        return {
            "pearson": scores["pearson"],
            "spearman": scores["spearman"],
            "mse": scores["rmse"] ** 2,
        }
