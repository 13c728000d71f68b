"""The tagger for word-level quality estimation."""

import math
from copy import deepcopy
from typing import Any, ClassVar

import torch
from allennlp.common import FromParams, Lazy
from allennlp.common.checks import ConfigurationError
from allennlp.data import TextFieldTensors, Vocabulary
from allennlp.models import Model
from allennlp.modules.seq2seq_encoders import Seq2SeqEncoder
from allennlp.nn import InitializerApplicator, RegularizerApplicator
from allennlp.training.metrics import Metric
from torch import Tensor
from torch.nn import functional

from allennlp_nef.data.fields import NO_LABEL
from allennlp_nef.metrics.sentence_scores import SentenceScores
from allennlp_nef.models.nef_tagger import Metadata, NefTagger
from allennlp_nef.modules.tag_heads import CrfTagHead, Predicted, SoftmaxTagHead, TagHead
from allennlp_nef.nn.util import zero_padding
from allennlp_nef.options import check_numbers
from allennlp_nef.qe.answers import CRITICAL, ESTIMATES, tag_ids
from allennlp_nef.qe.layouts import OK, bad_ids_of, is_word_qe
from allennlp_nef.qe.metrics import BadProbabilityMetric, DetectionScores, WordQe
from allennlp_nef.qe.pair_embedders import PairEmbedder

# The share of BAD words is clamped to [MIN_SHARE, 1 - MIN_SHARE] before its logit is taken.
MIN_SHARE = 1e-4


class SentenceHead(torch.nn.Module, FromParams):
    """Estimates a property of a translation, a number in [0, 1], from its words.

    score = sigmoid(a logit(p) + w . h + b), where p is the mean probability of BAD of the words, and h the mean and the
    maximum of their states. Initially a is 1, and w and b are 0, so that the score is p. The loss of a sentence with
    gold score y is the cross-entropy -y log(score) - (1 - y) log(1 - score), which is minimal at score = y.

    # Parameters

    input_dim : `int`
        The dimension of the states; set by the model.
    loss_weight : `float`, optional (default = `10.0`)
        The weight of the mean loss of the sentences with a gold score, which is added to the loss of the tags.
    threshold : `float`, optional (default = `0.5`)
        Reports count sentences with at least this score; `allennlp-nef calibrate` finds it.
    """

    def __init__(
        self,
        input_dim: int,
        loss_weight: float = 10.0,
        threshold: float = 0.5,
    ) -> None:
        super().__init__()
        check_numbers(0, loss_weight=loss_weight)
        check_numbers(0, 1, threshold=threshold)
        self.loss_weight, self.threshold = loss_weight, threshold
        self.scale = torch.nn.Parameter(torch.ones(()))
        self.projection = torch.nn.Linear(2 * input_dim, 1)
        torch.nn.init.zeros_(self.projection.weight)
        torch.nn.init.zeros_(self.projection.bias)

    def forward(self, states: Tensor, mask: Tensor, bad_probabilities: Tensor) -> Tensor:
        """Returns the logits of the scores, (batch,).

        From states (batch, tokens, input_dim), and a mask and the probabilities of BAD, each (batch, tokens).
        """
        number = mask.sum(-1).clamp(min=1)
        share = bad_probabilities.masked_fill(~mask, 0).sum(-1) / number  # (batch,)
        means = zero_padding(states, mask).sum(1) / number.unsqueeze(-1)  # (batch, input_dim)
        lowest = torch.finfo(states.dtype).min
        highest = states.masked_fill(~mask.unsqueeze(-1), lowest).amax(1)
        highest = zero_padding(highest, mask.any(-1))  # of a sentence without words
        pooled = torch.cat([means, highest], -1)
        return self.scale * torch.logit(share, MIN_SHARE) + self.projection(pooled).squeeze(-1)

    @torch.no_grad()
    def rescale(self, slope: float, intercept: float) -> None:
        """Changes the parameters so that each logit becomes `slope * logit + intercept`."""
        for parameter in self.parameters():
            parameter.mul_(slope)
        self.projection.bias.add_(intercept)

    def loss(self, logits: Tensor, gold: Tensor) -> Tensor:
        """Returns the loss, a scalar; 0 if no gold score is known. Both are (batch,); unknown scores are NaN, and those
        above 1 count as 1.
        """
        is_known = ~gold.isnan()
        gold = gold.to(logits).masked_fill(~is_known, 0).clamp(max=1)
        losses = functional.binary_cross_entropy_with_logits(logits, gold, reduction="none")
        mean = losses.masked_fill(~is_known, 0).sum() / is_known.sum().clamp(min=1)
        return self.loss_weight * mean


@Model.register("word_qe_tagger")
class WordQeTagger(NefTagger):
    """A `nef_tagger` for word-level quality estimation, whose labels are OK and BAD, or OK, minor and major.

    # Parameters

    vocab : `Vocabulary`
    pair_embedder : `PairEmbedder`
        Embeds a source and its translation.
    encoder, decoder, tag_head, dropout, metrics, label_namespace, initializer, regularizer
        See `NefTagger`. `calibration` and `best_threshold_word_qe` are called with probabilities, `sentence_scores`
        with the scores of sentences, all in evaluation only. The result names of `sentence_scores` begin with the name
        of the head (critical errors also have `auc`, `mcc` and `ece`), or with `expected_bad_share_` for a model
        without the head `hter`.
    sentence_heads : `dict[str, SentenceHead]`, optional (default = `None`)
        Estimates of a sentence, which are learned together with the tags from the sentences whose gold score is known:
        "hter", or another score from 0 (perfect) to 1; "quality", the human judgment; and "critical_error_probability".
    temperature : `float`, optional (default = `1.0`)
        T of temperature scaling (Guo et al., ICML 2017): the calibrated probabilities are proportional to p^(1/T). It
        does not affect training or sentence scores. `allennlp-nef calibrate` finds it.
    threshold : `float`, optional (default = `None`)
        Words with at least this calibrated probability of BAD are tagged BAD. By default, a word is BAD if the tag head
        gives BAD a higher score than OK.
    """

    default_predictor = "word_qe"
    sentence_heads: Any
    parts: ClassVar[dict[str, type]] = {
        "pair_embedder": PairEmbedder,
        "encoder": Seq2SeqEncoder,
        "decoder": Seq2SeqEncoder,
    }

    def __init__(
        self,
        vocab: Vocabulary,
        pair_embedder: PairEmbedder,
        encoder: Seq2SeqEncoder,
        decoder: Seq2SeqEncoder | None = None,
        tag_head: Lazy[TagHead] = Lazy(SoftmaxTagHead),
        dropout: float = 0.0,
        metrics: list[Lazy[Metric]] | None = None,
        label_namespace: str = "labels",
        sentence_heads: dict[str, Lazy[SentenceHead]] | None = None,
        temperature: float = 1.0,
        threshold: float | None = None,
        initializer: InitializerApplicator = InitializerApplicator(),
        regularizer: RegularizerApplicator | None = None,
    ) -> None:
        embedder: Any = pair_embedder
        super().__init__(
            vocab,
            embedder,
            encoder,
            decoder,
            tag_head,
            dropout,
            metrics=metrics,
            label_namespace=label_namespace,
            regularizer=regularizer,
        )
        # This model has a pair embedder instead.
        del self.text_field_embedder
        self.pair_embedder = pair_embedder
        labels = self.tag_head.labels
        if not is_word_qe(labels):
            raise ConfigurationError(f"expected the labels OK and BAD or severities, got {labels}")
        check_numbers(1e-6, temperature=temperature)
        unknown = (sentence_heads or {}).keys() - {*ESTIMATES}
        if unknown:
            raise ConfigurationError(
                f"sentence_heads: expected some of {', '.join(ESTIMATES)}, got {', '.join(unknown)}"
            )
        dim = (decoder or encoder).get_output_dim()
        self.sentence_heads = torch.nn.ModuleDict(
            {name: head.construct(input_dim=dim) for name, head in (sentence_heads or {}).items()}
        )
        kinds = [m for m in self.metrics if isinstance(m, SentenceScores)]
        names = (
            self.sentence_heads if "hter" in self.sentence_heads else ["hter", *self.sentence_heads]
        )
        self.score_metrics: dict[str, list[Any]] = {name: deepcopy(kinds) for name in names}
        if kinds and CRITICAL in self.sentence_heads:
            of_head = DetectionScores(self.sentence_heads[CRITICAL].threshold)
            self.score_metrics[CRITICAL].append(of_head)
        self.bad_metrics = [m for m in self.metrics if isinstance(m, WordQe | BadProbabilityMetric)]
        others = {*kinds, *self.bad_metrics}
        self.metrics = [m for m in self.metrics if m not in others]
        self.ok_id, self.bad_ids = labels.index(OK), bad_ids_of(labels)
        self.temperature = temperature
        self.threshold = threshold
        # With label weights w, a softmax has the higher score for BAD if w_BAD P(BAD) > w_OK P(OK).
        is_crf = isinstance(self.tag_head, CrfTagHead)
        weights = torch.ones(len(labels)) if is_crf else self.tag_head.label_weights
        self._default_odds = float(weights[self.ok_id] / weights[self.bad_ids].mean())
        initializer(self)

    def forward(  # type: ignore[override]
        self,
        source: TextFieldTensors,
        target: TextFieldTensors,
        alignments: Tensor | None = None,
        similarity: Tensor | None = None,
        tags: Tensor | None = None,
        sentence_scores: Tensor | None = None,
        metadata: Metadata = None,
        trace: bool = False,
    ) -> dict[str, Any]:
        """
        # Parameters

        source, target, alignments, similarity
            See `PairEmbedder`.
        tags, metadata, trace
            See `NefTagger.forward`.
        sentence_scores : `Tensor`, (batch, estimates), optional (default = `None`)
            The gold scores of the sentences, in the order of `answers.ESTIMATES`; NaN if unknown.

        # Returns

        `dict[str, Any]`: as in `NefTagger.forward`, plus the estimates of `sentence_heads`, (batch,) each, and in
        evaluation mode `source_bad_probabilities`, (batch, source words), if the embedder aligns the words.
        """
        vectors, mask, weights = self.pair_embedder(source, target, alignments, similarity)
        states, encoder_trace = self.encode(vectors, mask, trace)
        output = self.tag(states, mask, tags, metadata, encoder_trace)
        if self.sentence_heads and self.training and sentence_scores is None:
            raise ConfigurationError(
                "sentence_heads: the dataset reader needs sentence_scores: true; without heads, it does not"
            )
        gold = {} if sentence_scores is None else dict(zip(ESTIMATES, sentence_scores.unbind(-1)))
        if self.sentence_heads:
            # These probabilities are not calibrated, so that calibration does not change the scores.
            shares = self.bad_probabilities(self.tag_head.probabilities(output["scores"], mask))
        for name, head in self.sentence_heads.items():
            logits = head(states, mask, shares)
            output[name] = logits.sigmoid()
            if "loss" in output and gold:
                known = gold[name].masked_fill(~mask.any(-1), math.nan)
                output["loss"] = output["loss"] + head.loss(logits, known)
        if self.training:
            return output
        bad = self.bad_probabilities(output["class_probabilities"])  # 0 in padding
        if weights is not None:
            output["source_bad_probabilities"] = source_bad_probabilities(bad, weights, mask)
        # Without a head, the expected share of BAD words serves as the predicted HTER.
        predicted = {"hter": bad.sum(-1) / mask.sum(-1).clamp(min=1), **output}
        for name, scores in gold.items():
            is_known = ~scores.isnan()
            for metric in self.score_metrics.get(name, ()):
                metric(predicted[name][is_known], scores[is_known])
        return output

    def predict(self, scores: Tensor, mask: Tensor) -> Predicted:
        table = self.calibrated(self.tag_head.probabilities(scores, mask))
        ids = tag_ids(table.cpu().numpy(), self.tag_head.labels, self.threshold_or_default)
        tags = torch.from_numpy(ids).to(mask.device).masked_fill(~mask, 0)
        return Predicted(tags, table, table[:, 1:])

    def calibrated(self, probabilities: Tensor) -> Tensor:
        """Returns probabilities (..., labels) after temperature scaling; a row of zeros, as in padding, stays one."""
        if self.temperature == 1:
            return probabilities
        tiny = torch.finfo(probabilities.dtype).tiny
        # Relative to the largest one, at least one power does not underflow.
        relative = probabilities / probabilities.amax(-1, keepdim=True).clamp(min=tiny)
        powers = relative ** (1 / self.temperature)
        return powers / powers.sum(-1, keepdim=True).clamp(min=tiny)

    def bad_probabilities(self, probabilities: Tensor) -> Tensor:
        """Returns the probability of BAD, or of all severities together: (..., labels) -> (...)."""
        return probabilities[..., self.bad_ids].sum(-1).clamp(max=1)  # rounding

    @property
    def outputs(self) -> list[str]:
        """The names of the `sentence_heads`, whose outputs are (batch,), and `source_bad_probabilities`, (batch, source
        words), if the embedder aligns the words."""
        return [*self.sentence_heads] + [
            "source_bad_probabilities"
        ] * self.pair_embedder.aligns_words

    @property
    def thresholds(self) -> dict[str, float]:
        """The fields of answers with the thresholds of the heads."""
        if CRITICAL not in self.sentence_heads:
            return {}
        return {"critical_error_threshold": self.sentence_heads[CRITICAL].threshold}

    @property
    def threshold_or_default(self) -> float:
        """Words with at least this calibrated probability of BAD are tagged BAD."""
        if self.threshold is not None:
            return self.threshold
        odds = self._default_odds ** (1 / self.temperature)
        return odds / (1 + odds)

    def get_metrics(self, reset: bool = False) -> dict[str, float]:
        scores = super().get_metrics(reset)
        for metric in self.bad_metrics:
            scores.update(metric.get_metric(reset))
        for name, metrics in self.score_metrics.items():
            prefix = name if name in self.sentence_heads else "expected_bad_share"
            for each in metrics:
                scores |= {
                    f"{prefix}_{key}": value for key, value in each.get_metric(reset).items()
                }
        return scores

    def _update_metrics(self, output: dict[str, Any], tags: Tensor) -> None:
        """For metrics of OK and BAD, a severity that the model lacks counts as BAD."""
        super()._update_metrics(output, tags)
        mask = output["mask"] & (tags != NO_LABEL)
        for metric in self.bad_metrics:
            if isinstance(metric, WordQe):
                metric(functional.one_hot(output["tag_ids"], len(self.tag_head.labels)), tags, mask)
            elif not self.training:
                metric(output["class_probabilities"], tags, mask)

    def make_output_human_readable(self, output_dict: dict[str, Any]) -> dict[str, Any]:
        """Like `NefTagger.make_output_human_readable`, and adds the `outputs`, with padding."""
        readable = super().make_output_human_readable(output_dict)
        for name in self.outputs:
            readable[name] = output_dict[name].tolist()
        return readable


def source_bad_probabilities(bad: Tensor, weights: Tensor, mask: Tensor) -> Tensor:
    """Returns the mean probability of BAD of the target words, weighted by their alignment to each source word.

    # Parameters

    bad : `Tensor`, (batch, target words)
    weights : `Tensor`, (batch, target words, source words)
    mask : `Tensor`, bool, (batch, target words)

    # Returns

    `Tensor`: (batch, source words).
    """
    weights = weights * mask[..., None]
    totals = weights.sum(1).clamp(min=torch.finfo(weights.dtype).tiny)
    return (bad[:, None] @ weights)[:, 0] / totals
