from typing import Any

import torch
from allennlp.common.checks import ConfigurationError
from allennlp.nn.util import masked_mean
from allennlp.training.metrics import Metric

from allennlp_nef.metrics import SentenceScoresMetric
from allennlp_nef.modules.sentence_score_head import SentenceScoreHead
from allennlp_nef.modules.tag_heads import TagHead


class SentenceScores:
    """The scores of sentences in word-level quality estimation: their place in the output, in the loss and in metrics.

    The score is what a head predicts. Without a head it is the expected share of BAD words, the mean of the words'
    probabilities of BAD.

    # Parameters

    tag_head : `TagHead`
    head : `SentenceScoreHead`, optional
    metrics : `list[Metric]`
        Of these, `SentenceScoresMetric`s are called.

    # Raises

    `ConfigurationError`: a head, or a metric of such scores, where the labels are others than OK and BAD.
    """

    def __init__(
        self, tag_head: TagHead, head: SentenceScoreHead | None, metrics: list[Metric]
    ) -> None:
        self._tag_head = tag_head
        self._head = head
        self._metrics = [each for each in metrics if isinstance(each, SentenceScoresMetric)]
        if (head is not None or self._metrics) and not tag_head.is_word_qe:
            name = "sentence_score" if head is not None else "metrics: sentence_scores"
            raise ConfigurationError(
                f"{name}: expected the labels OK and BAD, got {', '.join(tag_head.labels)}"
            )

    def logits(
        self, states: torch.Tensor, mask: torch.BoolTensor, scores: torch.Tensor
    ) -> torch.Tensor | None:
        """What the head predicts, (batch,), before the sigmoid; None without a head.

        # Parameters

        states : `torch.Tensor`, (batch, tokens, dim)
        mask : `torch.BoolTensor`, (batch, tokens)
        scores : `torch.Tensor`, (batch, tokens, labels)
            Those of the tag head.
        """
        if self._head is None:
            return None
        # Not calibrated: what the head has learned goes with these.
        table = self._tag_head.uncalibrated_probabilities(scores, mask)
        return self._head(states, mask, self._tag_head.bad_probabilities(table))

    def add(
        self,
        output: dict[str, Any],
        logits: torch.Tensor | None,
        scores: torch.Tensor,
        gold: torch.Tensor | None,
        weights: torch.Tensor | None,
        in_loss: torch.Tensor | None,
    ) -> None:
        """Adds a batch: to the output `sentence_score`, (batch,), where there are logits, and its loss to `loss`.

        # Parameters

        output : `dict[str, Any]`
            With `mask`, and with `loss` where there are gold tags.
        logits : `torch.Tensor`, (batch,), optional
            Predicted, before the sigmoid.
        scores : `torch.Tensor`, (batch, tokens, labels)
            Those of the tag head.
        gold : `torch.Tensor`, (batch,), optional
            The gold scores of the sentences.
        weights : `torch.Tensor`, (batch,), optional
            Those of the sentences in the loss.
        in_loss : `torch.BoolTensor`, (batch,), optional
            Which sentences are in the loss, where there are gold tags.
        """
        if logits is not None:
            output["sentence_score"] = logits.sigmoid()
            if gold is not None and in_loss is not None and self._head is not None:
                chosen = None if weights is None else weights.to(logits)[in_loss]
                loss = self._head.loss(logits[in_loss], gold[in_loss], chosen)
                output["loss"] = output["loss"] + loss
        if gold is not None and self._metrics:
            predicted = output.get("sentence_score")
            if predicted is None:
                with torch.no_grad():
                    table = self._tag_head.probabilities(scores, output["mask"])
                    bad = self._tag_head.bad_probabilities(table)
                    predicted = masked_mean(bad, output["mask"], -1)
            for metric in self._metrics:
                metric(predicted, gold)
