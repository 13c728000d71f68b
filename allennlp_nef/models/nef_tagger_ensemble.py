"""Ensembles of taggers."""

import math
from collections.abc import Iterable, Sequence
from typing import Any, cast

import torch
from allennlp.common import Lazy
from allennlp.common.checks import ConfigurationError
from allennlp.data import Vocabulary
from allennlp.models import Model
from allennlp.training.metrics import Metric
from overrides import overrides

from allennlp_nef.data.formats.error_spans import is_word_qe
from allennlp_nef.models.base import DecodeOptions, VersionedModel, thresholds_of
from allennlp_nef.models.nef_tagger import Encoded, NefTagger
from allennlp_nef.modules.calibration import Calibration
from allennlp_nef.modules.options import registered_name
from allennlp_nef.modules.tag_decoder import TagDecoder, tags_by_threshold
from allennlp_nef.modules.tag_heads import ChainProbabilities, TagHead, forbidden_transitions
from allennlp_nef.nn.linear_chain import viterbi


class EnsembleTagHead(TagHead):
    """The mean of the probabilities of the tag heads of several taggers: p_i = sum_m w_m p_i^m.

    The p^m are calibrated, where the heads have a calibration. The scores are those of all heads, (batch, tokens,
    heads, labels). The loss is the sum of -log p_i of the gold tags. The model `nef_tagger_ensemble` makes the head; it
    is not registered.

    The tags are the labels with the highest p_i. For the labels of quality estimation, a word is BAD where its
    probability of BAD is at least the mean of the heads' thresholds, with 0.5 for a head without one; with severities
    it has the more probable one. Under constraints the tags are the
    well-formed sequence with the highest sum of p_i, which is the expected number of right tags.

    # Parameters

    decoders : `Sequence[TagDecoder]`
        Of heads with the same labels.
    weights : `Sequence[float]`
        w, with a sum of 1.
    vocab : `Vocabulary`
    constraints : `str`, optional (default = `None`)
        "BIO" or "BIOUL".
    """

    transitions: torch.Tensor
    start: torch.Tensor
    end: torch.Tensor

    def __init__(
        self,
        decoders: Sequence[TagDecoder],
        weights: Sequence[float],
        vocab: Vocabulary,
        constraints: str | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(sum(each.head.input_dim for each in decoders), vocab, **kwargs)
        self._decoders = tuple(decoders)
        self._weights = tuple(weights)
        self.constraints = constraints
        if constraints is not None:
            forbidden = forbidden_transitions(self.labels, constraints)
            for name, each in zip(("transitions", "start", "end"), forbidden):
                scores = torch.zeros(each.shape).masked_fill(each, -math.inf)
                self.register_buffer(name, scores, persistent=False)

    @overrides
    def sentence_losses(
        self, scores: torch.Tensor, mask: torch.Tensor, tags: torch.Tensor
    ) -> torch.Tensor:
        probabilities = self.probabilities(scores, mask)
        gold = probabilities.gather(-1, tags.masked_fill(~mask, 0).unsqueeze(-1)).squeeze(-1)
        smallest = torch.finfo(gold.dtype).tiny  # constraints of a CRF may forbid the gold tag
        return -gold.clamp(min=smallest).log().masked_fill(~mask, 0).sum(-1)

    @overrides
    def decode(self, scores: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        probabilities = self.probabilities(scores, mask)
        if self.constraints is not None:
            return viterbi(probabilities, mask, self.transitions, self.start, self.end)
        threshold = self.decode_threshold()
        if threshold is None:
            return probabilities.argmax(-1).masked_fill(~mask, 0)
        limit = torch.tensor(threshold, dtype=torch.double, device=mask.device)
        return tags_by_threshold(probabilities, limit, self.labels).masked_fill(~mask, 0)

    @overrides
    def probabilities(self, scores: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        return self._mean(
            decoder(each, mask).probabilities
            for decoder, each in zip(self._decoders, scores.unbind(2))
        )

    @overrides
    def chain_probabilities(
        self, scores: torch.Tensor, mask: torch.Tensor, tags: torch.Tensor
    ) -> ChainProbabilities:
        """In the mean of chains a tag depends on all tags before it; here, on the one before it alone."""
        chains = [
            decoder.chain_probabilities(each, mask, tags)
            for decoder, each in zip(self._decoders, scores.unbind(2))
        ]
        words = self._mean(chain.words for chain in chains)
        before = tags[:, :-1].unsqueeze(-1)
        # P(y_(i+1) | y_i) = sum_m w_m P_m(y_i) P_m(y_(i+1) | y_i) / P(y_i)
        pairs = self._mean(
            chain.words[:, :-1].gather(-1, before) * chain.next_words for chain in chains
        )
        own = words[:, :-1].gather(-1, before)
        return ChainProbabilities(words, pairs / own.clamp(min=torch.finfo(own.dtype).tiny))

    @overrides
    def decode_threshold(self) -> float | None:
        if not is_word_qe(self.labels):
            return None
        thresholds = [decoder.threshold for decoder in self._decoders]
        values = (0.5 if each is None else each for each in thresholds)
        return sum(weight * value for weight, value in zip(self._weights, values))

    def _mean(self, tables: Iterable[torch.Tensor]) -> torch.Tensor:
        """The weighted mean of probabilities, which rounding would make larger than 1."""
        weighted = [weight * table for weight, table in zip(self._weights, tables)]
        return torch.stack(weighted).sum(0).clamp(max=1)


@Model.register("nef_tagger_ensemble")
class NefTaggerEnsemble(NefTagger):
    """Several trained taggers as one: the mean of their probabilities.

    `allennlp-nef ensemble` makes the archive of one. See `EnsembleTagHead` for the tags and the loss. It is not
    trained, and it has no attention and no trace. Its members halt as they do alone: an answer has no `steps`,
    and a request cannot limit them. Registered as a `Model` with name "nef_tagger_ensemble".

    # Parameters

    vocab : `Vocabulary`
    members : `list[Model]`
        At least two of the type `nef_tagger`.
    weights : `list[float]`, optional (default = `None`, all equal)
        Above 0, one for each member. They are divided by their sum.
    constraints : `str`, optional (default = `None`)
        "BIO" or "BIOUL": the tags are well-formed in that scheme.
    metrics : `list[Metric]`, optional (default = `[tag_accuracy]`)
    calibration : `Calibration`, optional (default = `None`)
        Of the mean probabilities. The members keep their own.
    """

    def __init__(
        self,
        vocab: Vocabulary,
        members: list[Model],
        weights: list[float] | None = None,
        constraints: str | None = None,
        metrics: list[Lazy[Metric]] | None = None,
        calibration: Calibration | None = None,
    ) -> None:
        VersionedModel.__init__(self, vocab)  # it has no encoder of its own
        for member in members:
            if not isinstance(member, NefTagger) or isinstance(member, NefTaggerEnsemble):
                raise ConfigurationError(
                    f"members: expected models of the type nef_tagger, got {registered_name(Model, member)}"
                )
        if len(members) < 2:
            raise ConfigurationError(f"members: expected two or more, got {len(members)}")
        weights = [1.0] * len(members) if weights is None else weights
        if len(weights) != len(members) or not all(1e-30 < weight < 1e30 for weight in weights):
            raise ConfigurationError(
                f"weights: expected {len(members)} numbers above 0, one for each member, got {weights}"
            )
        self.members = torch.nn.ModuleList(members)
        self.ensemble_size = len(members)
        self.weights = [weight / sum(weights) for weight in weights]
        """With a sum of 1."""
        namespaces = {member.label_namespace for member in self.taggers}
        if len(namespaces) > 1:
            raise ConfigurationError(
                f"members: expected the same label_namespace in all, got {sorted(namespaces)}"
            )
        label_namespace = namespaces.pop()
        head = EnsembleTagHead(
            [member.tag_decoder for member in self.taggers],
            self.weights,
            vocab,
            constraints,
            label_namespace=label_namespace,
        )
        if len({member.sentence_score is None for member in self.taggers}) > 1:
            raise ConfigurationError(
                "members: expected sentence_score in all or in none, got it in some"
            )
        self.sentence_score = None  # the members have heads of their own
        self._use_head(head, label_namespace, calibration, metrics)

    @property
    def taggers(self) -> list[NefTagger]:
        """The members."""
        return [cast(NefTagger, member) for member in self.members]

    @overrides
    def encode(self, inputs: dict[str, Any], options: list[DecodeOptions] | None) -> Encoded:
        if self.training:
            raise ConfigurationError(
                "nef_tagger_ensemble: expected trained members, which `allennlp-nef ensemble` joins; an ensemble is "
                "not trained"
            )
        outputs = [member.encode(inputs, None) for member in self.taggers]
        # (batch, tokens, labels) of each member -> (batch, tokens, members, labels)
        scores = torch.stack([output.tagging.scores for output in outputs], 2)
        score_logits = None
        if outputs[0].score_logits is not None:
            logits = [output.score_logits for output in outputs if output.score_logits is not None]
            mean = sum(weight * each.sigmoid() for weight, each in zip(self.weights, logits))
            # Finite, also where all members are sure, or the weights add up to more than 1 in float32.
            score_logits = torch.logit(torch.as_tensor(mean), eps=1e-7)
        mask = outputs[0].tagging.mask
        return Encoded(self.tag_decoder(scores, mask, thresholds_of(options)), score_logits)

    @property
    def title(self) -> str:
        titles = ", ".join(dict.fromkeys(member.title for member in self.taggers))
        return f"ensemble of {self.ensemble_size}: {titles}"

    @property
    def step_name(self) -> None:
        return None
