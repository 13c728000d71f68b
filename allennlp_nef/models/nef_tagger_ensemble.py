"""Ensembles of taggers, and what a tagger is, in words for a reader."""

from typing import Any, NamedTuple, cast

import torch
from allennlp.common import Lazy
from allennlp.common.checks import ConfigurationError
from allennlp.data import Vocabulary
from allennlp.models import Model
from allennlp.modules.seq2seq_encoders import Seq2SeqEncoder
from allennlp.training.metrics import Metric
from overrides import overrides

from allennlp_nef.data.metadata import TaggingMetadata
from allennlp_nef.models.base import DecodeOptions, VersionedModel, parts_of
from allennlp_nef.models.nef_tagger import NefTagger
from allennlp_nef.modules.calibration import Calibration
from allennlp_nef.modules.options import registered_name
from allennlp_nef.modules.seq2seq_encoders import DropoutEncoder, TracedEncoder
from allennlp_nef.modules.tag_heads import CrfTagHead, EnsembleTagHead, LabelAttentionTagHead


@Model.register("nef_tagger_ensemble")
class NefTaggerEnsemble(NefTagger):
    """Several trained taggers as one: the mean of their probabilities.

    `allennlp-nef ensemble` makes the archive of one. See `EnsembleTagHead` for the tags and the loss. It is not
    trained, and it has no attention and no trace. Registered as a `Model` with name "nef_tagger_ensemble".

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
        self.label_namespace = namespaces.pop()
        head = EnsembleTagHead(
            [member.tag_head for member in self.taggers],
            self.weights,
            vocab,
            constraints,
            label_namespace=self.label_namespace,
        )
        if len({member.sentence_score is None for member in self.taggers}) > 1:
            raise ConfigurationError(
                "members: expected sentence_score in all or in none, got it in some"
            )
        self.sentence_score = None  # the members have heads of their own
        self._use_head(head, calibration, metrics)

    @property
    def taggers(self) -> list[NefTagger]:
        """The members."""
        return [cast(NefTagger, member) for member in self.members]

    @overrides
    def _forward(
        self,
        inputs: dict[str, Any],
        tags: torch.Tensor | None,
        sentence_score: torch.Tensor | None,
        metadata: list[TaggingMetadata | None],
        options: list[DecodeOptions] | None,
    ) -> dict[str, Any]:
        if self.training:
            raise ConfigurationError(
                "nef_tagger_ensemble: expected trained members, which `allennlp-nef ensemble` joins; an ensemble is "
                "not trained"
            )
        outputs = [member(**inputs) for member in self.members]
        # (batch, tokens, labels) of each member -> (batch, tokens, members, labels)
        scores = torch.stack([output["scores"] for output in outputs], 2)
        logits = None
        if "sentence_score" in outputs[0]:
            members = zip(self.weights, outputs)
            mean = sum(weight * output["sentence_score"] for weight, output in members)
            logits = torch.logit(mean.clamp(0, 1))  # weights may add up to more than 1 in float32
        mask = outputs[0]["mask"]
        return self._tagged(scores, mask, tags, metadata, options, logits, sentence_score)


class Description(NamedTuple):
    """What plots, and a page for the model, show of a tagger."""

    title: str
    """Such as "NEF-F csoftmax, N = 5"."""
    labels: list[str]
    """All tags."""
    has_chunks: bool
    """Whether the tags are those of chunks, such as entities."""
    step_name: str | None
    """What a row of its trace is; None where it has no trace."""


def description_of(model: NefTagger) -> Description:
    """The description of a tagger. An ensemble has no trace."""
    if isinstance(model, NefTaggerEnsemble):
        members = [description_of(member) for member in model.taggers]
        titles = ", ".join(dict.fromkeys(member.title for member in members))
        title = f"ensemble of {model.ensemble_size}: {titles}"
        return members[0]._replace(title=title, step_name=None)
    encoders = [encoder for encoder in (model.encoder, model.decoder) if encoder is not None]
    parts = [part for encoder in encoders for part in parts_of(encoder)]
    last = parts[-1]
    if isinstance(last, TracedEncoder):
        title, step_name = last.title, last.step_name
    else:
        title = " + ".join(
            registered_name(Seq2SeqEncoder, part)
            for part in parts
            if not isinstance(part, DropoutEncoder)
        )
        step_name = None
        if isinstance(model.tag_head, LabelAttentionTagHead):
            title += " + label attention"
    if isinstance(model.tag_head, CrfTagHead):
        title += " + CRF"
    labels = model.vocab.get_index_to_token_vocabulary(model.label_namespace)
    return Description(
        title,
        [labels[i] for i in sorted(labels)],
        model.has_chunks,
        step_name,
    )
