"""Neural easy-first taggers, and the same taggers without a decoder."""

import logging
from collections import Counter
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy
import torch
from allennlp.common import Lazy, Params
from allennlp.common.checks import ConfigurationError
from allennlp.common.from_params import pop_and_construct_arg
from allennlp.common.util import is_distributed
from allennlp.data import Vocabulary
from allennlp.models import Model
from allennlp.modules.seq2seq_encoders import Seq2SeqEncoder
from allennlp.nn import InitializerApplicator
from allennlp.nn.util import masked_mean
from allennlp.training.metrics import Metric
from overrides import overrides

from allennlp_nef.data.fields import UNSEEN
from allennlp_nef.data.formats.chunks import OUTSIDE, chunks_of
from allennlp_nef.data.formats.wmt_layouts import without_eos
from allennlp_nef.data.metadata import TaggingMetadata, tagging_metadata, weights_of
from allennlp_nef.metrics import (
    CountingMetric,
    ProbabilityMetric,
    SentenceScoresMetric,
    TagAccuracy,
)
from allennlp_nef.metrics.ratios import ratio
from allennlp_nef.models.base import (
    DecodeOptions,
    VersionedModel,
    check_input_dim,
    check_namespaces,
    parts_of,
    run_encoder,
    thresholds_of,
)
from allennlp_nef.models.out_of_memory import explaining_memory
from allennlp_nef.modules.calibration import OBJECTIVES, Calibration
from allennlp_nef.modules.halting import BatchHalting, Halting
from allennlp_nef.modules.input_representations import InputRepresentation
from allennlp_nef.modules.options import check_dropout, check_fields, registered_name
from allennlp_nef.modules.sentence_score_head import SentenceScoreHead
from allennlp_nef.modules.seq2seq_encoders import (
    DropoutEncoder,
    LabelAttention,
    NeuralEasyFirst,
    TracedEncoder,
)
from allennlp_nef.modules.seq2seq_encoders.label_attention import LabelTable
from allennlp_nef.modules.seq2seq_encoders.neural_easy_first import NeuralEasyFirstTrace
from allennlp_nef.modules.step_loss import StepLoss
from allennlp_nef.modules.tag_decoder import TagDecoder, Tagging
from allennlp_nef.modules.tag_heads import (
    CrfTagHead,
    LabelAttentionTagHead,
    SoftmaxTagHead,
    TagHead,
)
from allennlp_nef.modules.traces import EncoderTrace
from allennlp_nef.nn.numerics import connected, zero_padding

logger = logging.getLogger(__name__)

MAX_LISTED = 20
"""Labels in a warning."""
MAX_RATIO = 1.5
"""Of the share of words that are tagged BAD, and of that on the data on which the threshold was chosen."""


class Encoded(NamedTuple):
    """What a tagger makes of a batch before the loss and the answers."""

    tagging: Tagging
    """The scores of the tags, and what they stand for."""
    score_logits: torch.Tensor | None = None
    """Of the scores of the sentences, before the sigmoid: (batch,); None where the model does not predict them."""
    trace: EncoderTrace | None = None
    steps: list[int | None] | None = None
    """The number of steps of each sentence that may halt, None for others; None where none may."""


@Model.register("nef_tagger")
class NefTagger(VersionedModel):
    """A sequence tagger: input representation, encoder, neural easy-first decoder, tag head.

    Martins & Kreutzer, "Learning What's Easy: Fully Differentiable Neural Easy-First Taggers" (EMNLP 2017). Without a
    decoder it is the paper's baseline, a BiLSTM tagger. Registered as a `Model` with name "nef_tagger".

    # Parameters

    vocab : `Vocabulary`
    input_representation : `InputRepresentation`
        Takes the input fields, and gives the vectors of the words.
    encoder : `Seq2SeqEncoder`
        Gives the states h. In a config, null as its `input_dim` or `input_size` stands for the dimension of the input
        vectors, and so in the decoder for that of h.
    decoder : `Seq2SeqEncoder`, optional (default = `None`)
        `neural_easy_first`, or any other. The trace that a caller may ask for is that of the decoder, or of the encoder
        where there is no decoder; it has to be a `TracedEncoder`.
    tag_head : `TagHead`, optional (default = `softmax`)
    dropout : `float`, optional (default = `0.0`)
        In [0, 1), applied to the input vectors and to h. The decoder's own is applied to [h; s^N].
    metrics : `list[Metric]`, optional (default = `[tag_accuracy]`)
        Called with predicted tags, gold tags and mask; those that are a `ProbabilityMetric` with probabilities too.
        `sentence_scores` is called with the scores of sentences.
    label_namespace : `str`, optional (default = `"labels"`)
    sentence_score : `SentenceScoreHead`, optional (default = `None`)
        For word-level quality estimation: predicts the score of a sentence, such as HTER, and learns it together with
        the tags. The training data need the scores: see `sentence_scores` of `wmt_word_qe`.
    calibration : `Calibration`, optional (default = `None`)
        What `allennlp-nef calibrate` puts into the config of an archive: the temperature and the biases of the
        probabilities, and for word-level quality estimation the threshold of the tags.
    step_loss : `StepLoss`, optional (default = `None`)
        For the decoder `neural_easy_first`: the training has a loss at earlier steps than the last one, too.
    halting : `Halting`, optional (default = `None`, no sentence halts)
        For the decoder `neural_easy_first`: when a sentence does no further step. It has no effect on the training, but
        on its validation. `allennlp-nef calibrate` can choose it.
    initializer : `InitializerApplicator`, optional
    """

    default_predictor = "nef_tagger"
    ensemble_size = 1
    """How many trained taggers it is made of."""

    def __init__(
        self,
        vocab: Vocabulary,
        input_representation: InputRepresentation,
        encoder: Seq2SeqEncoder,
        decoder: Seq2SeqEncoder | None = None,
        tag_head: Lazy[TagHead] = Lazy(SoftmaxTagHead),
        dropout: float = 0.0,
        metrics: list[Lazy[Metric]] | None = None,
        label_namespace: str = "labels",
        sentence_score: Lazy[SentenceScoreHead] | None = None,
        calibration: Calibration | None = None,
        step_loss: StepLoss | None = None,
        halting: Halting | None = None,
        initializer: InitializerApplicator = InitializerApplicator(),
        **kwargs: Any,
    ) -> None:
        super().__init__(vocab, **kwargs)
        dim = input_representation.get_output_dim()
        check_input_dim("encoder", encoder, dim, "input_representation")
        states_dim = encoder.get_output_dim()
        if decoder is not None:
            check_input_dim("decoder", decoder, states_dim, "encoder")
            states_dim = decoder.get_output_dim()
        check_dropout(dropout)
        check_label_namespace(vocab, label_namespace)
        self.input_representation = input_representation
        self.encoder = encoder
        self.decoder = decoder
        self.dropout = torch.nn.Dropout(dropout)
        label_table = shared_label_table(label_namespace, encoder, decoder)
        head = tag_head.construct(
            input_dim=states_dim,
            vocab=vocab,
            label_namespace=label_namespace,
            **({} if label_table is None else {"label_table": label_table}),
        )
        self.sentence_score = (
            None if sentence_score is None else sentence_score.construct(input_dim=states_dim)
        )
        check_step_options(decoder, step_loss, halting)
        self.step_loss = step_loss
        self.halting = halting
        self._use_head(head, label_namespace, calibration, metrics)
        check_namespaces(self)
        initializer(self)

    @classmethod
    @overrides(check_signature=False)
    def from_params(
        cls,
        params: Params,
        constructor_to_call: Any = None,
        constructor_to_inspect: Any = None,
        **extras: Any,
    ) -> "NefTagger":
        """Builds a tagger, whose encoder and decoder get the dimension of their input where the config has null."""
        kinds: dict[str, type] = {
            "input_representation": InputRepresentation,
            "encoder": Seq2SeqEncoder,
            "decoder": Seq2SeqEncoder,
        }
        parts, dim = dict(extras), 0
        for name, kind in kinds.items():
            if params.get(name) is not None:
                fill_in(params.get(name), dim)
                part = pop_and_construct_arg(cls.__name__, name, kind, None, params, **extras)
                parts[name], dim = part, part.get_output_dim()
        constructors = constructor_to_call, constructor_to_inspect
        tagger: NefTagger = super().from_params(params, *constructors, **parts)
        return tagger

    def _use_head(
        self,
        tag_head: TagHead,
        label_namespace: str,
        calibration: Calibration | None,
        metrics: list[Lazy[Metric]] | None,
    ) -> None:
        """Sets up what an ensemble needs, too: tag decoder, metrics."""
        self.label_namespace = label_namespace
        self.tag_head = tag_head
        self.tag_decoder = TagDecoder(tag_head, calibration)
        self.metrics = [
            metric.construct(vocab=self.vocab, label_namespace=label_namespace)
            for metric in metrics or [Lazy(TagAccuracy)]
        ]
        has_scores = any(isinstance(metric, SentenceScoresMetric) for metric in self.metrics)
        if (self.sentence_score or has_scores) and not self.tag_decoder.is_word_qe:
            name = "sentence_score" if self.sentence_score else "metrics: sentence_scores"
            raise ConfigurationError(
                f"{name}: expected the labels OK and BAD, got {', '.join(tag_head.labels)}"
            )
        self._seen = SeenMetric()
        self._accepted = AcceptanceMetric()
        self._unseen_labels: Counter[str] = Counter()
        self._warned_of_alignments = False

    @overrides(check_signature=False)
    def forward(
        self,
        tags: torch.Tensor | None = None,
        metadata: list[Any] | None = None,
        sentence_score: torch.Tensor | None = None,
        ignore_loss_on_o_tags: bool = False,
        options: list[DecodeOptions] | None = None,
        **inputs: Any,
    ) -> dict[str, Any]:
        """
        # Parameters

        tags : `torch.LongTensor`, (batch, tokens), optional (default = `None`)
            The gold labels, where known; -1 for a label that the vocabulary lacks. No prediction is right for it, its
            sentence is left out of the loss, and a warning counts it.
        metadata : `list[TaggingMetadata]`, optional (default = `None`)
            Metadata of other readers are passed on.
        sentence_score : `torch.Tensor`, (batch,), optional (default = `None`)
            The gold scores of the sentences.
        ignore_loss_on_o_tags : `bool`, optional (default = `False`)
            Whether the tags are predictions to explain: then the loss is their `explained_loss`.
        options : `list[DecodeOptions]`, optional (default = `None`)
            What the requests want.
        inputs
            The fields that the input representation takes.

        # Returns

        `dict[str, Any]`
            - `mask`: (batch, tokens), bool.
            - `loss`: scalar, if `tags` are given; 0 where every sentence is left out of it.
            - `sentence_score`: (batch,), if the model predicts it.
            - `metadata`, `options`, if given.
            - `steps`: the number of steps of each sentence that may halt, None for others; if any may.
            - `trace`: an `EncoderTrace`, if any instance wants it and the model has one.

            Not while training:

            - `tag_ids`: (batch, tokens), the predicted labels.
            - `scores`: (batch, tokens, labels).
            - `tagging`: a `Tagging`, which has the probabilities.
        """
        if self.training:
            check_is_labeled(tags, sentence_score, self.sentence_score is not None)
        items = tagging_metadata(metadata)
        self._warn_of_alignments(items)
        encoded = self.encode(inputs, options)
        tagging = encoded.tagging
        output: dict[str, Any] = {"mask": tagging.mask}
        if encoded.score_logits is not None:
            output["sentence_score"] = encoded.score_logits.sigmoid()
        if tags is not None and ignore_loss_on_o_tags:
            output["loss"] = explained_loss(tagging, tags)
        elif tags is not None:
            output["loss"] = self._loss(encoded, tags, sentence_score, items)
        gold = None if ignore_loss_on_o_tags else tags
        with torch.no_grad():
            self._count(tagging, gold, output.get("sentence_score"), sentence_score, items)
            if not self.training:
                output.update(tag_ids=tagging.tag_ids, scores=tagging.scores, tagging=tagging)
        trace = encoded.trace if is_traced(options) else None
        others = {"metadata": metadata, "options": options, "steps": encoded.steps, "trace": trace}
        return {**output, **{name: value for name, value in others.items() if value is not None}}

    def encode(self, inputs: dict[str, Any], options: list[DecodeOptions] | None) -> Encoded:
        """The scores of a batch, from its fields and the options of its sentences."""
        check_fields(InputRepresentation, self.input_representation, inputs)
        vectors, mask = self.input_representation(**inputs)
        vectors = self.dropout(zero_padding(vectors, mask))
        traced = is_traced(options)
        states, trace = run_encoder(self.encoder, vectors, mask, traced and self.decoder is None)
        states = self.dropout(zero_padding(states, mask))
        halting = None
        if self.decoder is not None:
            if self.training:
                traced = traced or self.step_loss is not None
            else:
                halting = batch_halting(self.halting, options, mask)
            scorer = self.tag_head.scores
            states, trace = run_encoder(self.decoder, states, mask, traced, scorer, halting)
        tagging = self.tag_decoder(self.tag_head.scores(states), mask, thresholds_of(options))
        score_logits = steps = None
        if self.sentence_score is not None:
            # Not calibrated: what the head has learned goes with these.
            bad = self.tag_decoder.bad_probabilities(tagging.uncalibrated)
            score_logits = self.sentence_score(states, mask, bad)
        if halting is not None and trace is not None:
            self._seen.add_steps(trace.num_steps)
            counts = zip(trace.num_steps.tolist(), halting.is_limited)
            steps = [count if is_limited else None for count, is_limited in counts]
        return Encoded(tagging, score_logits, trace, steps)

    def _loss(
        self,
        encoded: Encoded,
        tags: torch.Tensor,
        gold_scores: torch.Tensor | None,
        metadata: Sequence[TaggingMetadata | None],
    ) -> torch.Tensor:
        """The loss of the tags, and that of the scores of the sentences, where the model predicts them: a scalar."""
        scores, mask, trace = encoded.tagging.scores, encoded.tagging.mask, encoded.trace
        # A sentence with a label that the vocabulary lacks has no likelihood.
        is_unseen = (tags < 0) & mask
        self._count_unseen(is_unseen, metadata)
        loss_mask = mask & ~is_unseen.any(-1, keepdim=True)
        weights = weights_of(metadata)
        targets = loss_mask, tags.clamp(min=0), weights
        if self.training and self.step_loss and isinstance(trace, NeuralEasyFirstTrace):
            loss = self.step_loss.total(trace, self.tag_head, scores, *targets)
        else:
            loss = self.tag_head.loss(scores, *targets)
        self.loss_weight = self.tag_head.loss_weight(loss_mask)
        if encoded.score_logits is not None and gold_scores is not None and self.sentence_score:
            loss = loss + self.sentence_score.loss(
                encoded.score_logits, gold_scores, loss_mask.any(-1), weights
            )
        if self.training and is_distributed():
            loss = connected(loss, self.parameters())
        return loss

    def _count(
        self,
        tagging: Tagging,
        tags: torch.Tensor | None,
        scores: torch.Tensor | None,
        gold_scores: torch.Tensor | None,
        items: Sequence[TaggingMetadata | None],
    ) -> None:
        """Gives a batch to the metrics. Tags and probabilities are computed only where one of them takes these.

        The score of a sentence that the model does not predict is the expected share of BAD words.
        """
        mask: Any = tagging.mask
        for metric in self.metrics:
            if isinstance(metric, SentenceScoresMetric):
                if gold_scores is None:
                    continue
                if scores is None:
                    bad = self.tag_decoder.bad_probabilities(tagging.probabilities)
                    scores = masked_mean(bad, mask, -1)
                metric(scores, gold_scores)
            elif tags is None:
                continue
            elif isinstance(metric, ProbabilityMetric):
                metric(tagging.tag_ids, tags, mask, tagging.probabilities)
            else:
                metric(tagging.tag_ids, tags, mask)
        if tags is not None:
            calibration = self.tag_decoder.calibration
            has_threshold = calibration is not None and calibration.threshold is not None
            ok = tagging.tag_decoder.labels.index("OK") if has_threshold else None
            self._seen.add_batch(
                None if self.training or ok is None else tagging.tag_ids != ok, mask
            )
            acceptance = None if self.training else self.tag_decoder.acceptance
            if acceptance is not None:
                probabilities: Any = error_free_probabilities(tagging, items)
                is_accepted = probabilities >= acceptance.threshold
                is_bad = (tags != self.tag_head.labels.index("OK")) & mask
                self._accepted(is_accepted, ~is_bad.any(-1))

    @overrides(check_signature=False)
    def make_output_human_readable(self, output_dict: dict[str, Any]) -> dict[str, Any]:
        """One entry an instance, each as long as its sentence; and the loss of the batch. While training, no tags.

        - `tags`: the labels; `metadata`; `tokens`, where the metadata have them.
        - `error_free_probability`, if the calibration has an `Acceptance`.
        - `sentence_score`, if the model predicts it; `steps`, the number of steps, where a sentence may halt, or None.
        - `probabilities`: of the tag, for each word; `label_probabilities`: an array (words, labels).
        - `spans`, if the labels are those of chunks: objects with `start` and `end` (words, from 0, the end exclusive),
          `type`, `probability` and, where the tokens are known, `text`.
        - `attention` (rows x words; None where rows attend to no words) and `trace` (a `DecisionTrace` or
          `FusionTrace`), if there is a trace; None where it was not wanted.
        - `loss`, where it has a gradient: a scalar, for `allennlp.interpret`.
        """
        names = ("sentence_score", "steps", "metadata")
        readable = {name: output_dict[name] for name in names if name in output_dict}
        if "sentence_score" in readable:
            readable["sentence_score"] = readable["sentence_score"].tolist()
        if "loss" in output_dict and output_dict["loss"].requires_grad:
            readable["loss"] = output_dict["loss"]
        items = tagging_metadata(output_dict.get("metadata"))
        if items and all(items):
            readable["tokens"] = [item.tokens for item in items if item]
        if "tagging" not in output_dict:  # while training
            return readable
        tagging: Tagging = output_dict["tagging"]
        with torch.no_grad(), explaining_memory(self.batch_shape, self.training):
            lengths = tagging.mask.sum(-1).tolist()
            rows = zip(tagging.tag_ids.tolist(), lengths)
            readable["tags"] = [[self.tag_head.labels[tag] for tag in row[:n]] for row, n in rows]
            probabilities = error_free_probabilities(tagging, items)
            if probabilities is not None:
                readable["error_free_probability"] = probabilities.tolist()
            if self.has_chunks:
                readable["spans"] = self._spans(tagging, readable["tags"], readable.get("tokens"))
            # Of a chain, the same ones as those of the chunks.
            table = (tagging.chain.words if self.has_chunks else tagging.probabilities).float()
            chosen = table.gather(-1, tagging.tag_ids.unsqueeze(-1)).squeeze(-1).tolist()
            readable["probabilities"] = [row[:n] for row, n in zip(chosen, lengths)]
            tables = zip(table.cpu().numpy(), lengths)
            readable["label_probabilities"] = [words[:n] for words, n in tables]
            if "trace" in output_dict:
                readable.update(self._readable_trace(output_dict, readable["tags"], items))
        return readable

    def _spans(
        self,
        tagging: Tagging,
        tags: Sequence[list[str]],
        tokens: Sequence[list[str]] | None,
    ) -> list[list[dict[str, Any]]]:
        """The predicted chunks of each sentence, as JSON objects; `tokens` are the words, where known."""
        chunks = [chunks_of(sentence) for sentence in tags]
        probabilities = self.tag_decoder.chunk_probabilities(
            tagging.chain, tagging.mask, tagging.tag_ids, chunks
        )
        return [
            [
                {
                    **chunk._asdict(),
                    **({"text": " ".join(words[chunk.start : chunk.end])} if words else {}),
                    "probability": probability,
                }
                for chunk, probability in zip(*sentence)
            ]
            for words, *sentence in zip(tokens or [[]] * len(chunks), chunks, probabilities)
        ]

    def _readable_trace(
        self,
        output: dict[str, Any],
        tags: Sequence[list[str]],
        metadata: Sequence[TaggingMetadata | None],
    ) -> dict[str, list[Any]]:
        """`attention` and `trace`, with None for the sentences that do not want it."""
        trace: EncoderTrace = output["trace"]
        options: list[DecodeOptions] = output["options"]

        def decide(states: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
            scores = self.tag_head.scores(states)
            tagging = self.tag_decoder(scores, output["mask"], thresholds_of(options))
            return tagging.tag_ids, tagging.probabilities

        tokens = [item.tokens if item else [] for item in metadata or [None] * len(tags)]
        wanted = [option.trace for option in options]
        attention = [
            trace.attention_of(position, len(tags[position])) if option.attention else None
            for position, option in enumerate(options)
        ]
        return {
            "attention": [rows if rows is None else rows.tolist() for rows in attention],
            "trace": trace.readable(tokens, tags, wanted, decide, self.tag_head.labels),
        }

    @overrides
    def get_metrics(self, reset: bool = False) -> dict[str, float]:
        """The scores of all metrics; none where no gold tags or scores came since the last reset.

        Without `reset`, those that take long are left out: `best_threshold_word_qe` and `sentence_scores`. With it they
        are those of all processes together, which all have to call this: see `CountingMetric`.
        """
        seen = self._seen.get_metric(reset)
        scores: dict[str, float] = {}
        for metric in self.metrics:
            if not reset and getattr(metric, "is_slow", False):
                continue
            if seen["batches"] or isinstance(metric, SentenceScoresMetric):
                scores.update(metric.get_metric(reset))
        scores.update(self._accepted.get_metric(reset))
        if scores and "mean_steps" in seen:
            scores["mean_steps"] = seen["mean_steps"]
        if reset:
            self._warn_of_unseen_labels()
            self._warn_of_bad_words(seen.get("bad_share"))
        return scores

    @property
    def has_chunks(self) -> bool:
        """Whether the labels are those of chunks, such as entities."""
        return self.tag_decoder.has_chunks

    @property
    def title(self) -> str:
        """What the tagger is, for a reader, such as "NEF-F csoftmax, N = 5"."""
        parts = self._parts()
        if isinstance(parts[-1], TracedEncoder):
            title = parts[-1].title
        else:
            kept = (part for part in parts if not isinstance(part, DropoutEncoder))
            title = " + ".join(registered_name(Seq2SeqEncoder, part) for part in kept)
            if isinstance(self.tag_head, LabelAttentionTagHead):
                title += " + label attention"
        return f"{title} + CRF" if isinstance(self.tag_head, CrfTagHead) else title

    @property
    def step_name(self) -> str | None:
        """What a row of its trace is; None where it has no trace."""
        last = self._parts()[-1]
        return last.step_name if isinstance(last, TracedEncoder) else None

    def _parts(self) -> list[Seq2SeqEncoder]:
        decoders = [] if self.decoder is None else parts_of(self.decoder)
        return [*parts_of(self.encoder), *decoders]

    def _warn_of_alignments(self, metadata: Sequence[TaggingMetadata | None]) -> None:
        """Warns once where sentences come without word alignments, and the input representation takes them."""
        if self._warned_of_alignments or not any(
            item and item.alignments_from == "none" for item in metadata
        ):
            return
        self._warned_of_alignments = True
        parts = (part for part in self.modules() if isinstance(part, InputRepresentation))
        effect = next((part.without_alignments for part in parts if part.without_alignments), None)
        if effect:
            logger.warning(
                "Some sentences have no word alignments, and there is no aligner to find them: for these, %s. "
                "`allennlp-nef align-words` aligns data; it needs the extra align: pip install "
                '"allennlp_nef[align]"',
                effect,
            )

    def _count_unseen(
        self, is_unseen: torch.Tensor, metadata: Sequence[TaggingMetadata | None]
    ) -> None:
        """Counts the gold tags that the vocabulary lacks, (batch, tokens); their names are in the metadata."""
        known = set(self.tag_head.labels)
        names = [item.tags if item else None for item in metadata]
        if names and all(tags is not None and known.issuperset(tags) for tags in names):
            return  # without waiting for the device
        for row, word in is_unseen.nonzero().tolist():
            item = metadata[row] if metadata else None
            self._unseen_labels[item.tags[word] if item and item.tags else "?"] += 1

    def _warn_of_unseen_labels(self) -> None:
        if not self._unseen_labels:
            return
        labels = [f"{label} ({count})" for label, count in self._unseen_labels.most_common()]
        others = len(labels) - MAX_LISTED
        logger.warning(
            "%d gold tags are labels that the vocabulary lacks: no prediction is right for them, and their "
            "sentences are left out of the loss. They are %s.",
            sum(self._unseen_labels.values()),
            ", ".join(labels[:MAX_LISTED]) + (f" and {others} others" if others > 0 else ""),
        )
        self._unseen_labels.clear()

    def _warn_of_bad_words(self, share: float | None) -> None:
        """Warns where a threshold tags far more or fewer words BAD than on the data that it was chosen on."""
        calibration = self.tag_decoder.calibration
        if share is None or calibration is None or calibration.tagged_share is None:
            return
        expected = calibration.tagged_share
        if max(expected, share) > MAX_RATIO * min(expected, share):
            goal = OBJECTIVES.get(str(calibration.objective))
            logger.warning(
                "%.1f%% of the words are tagged BAD, but %.1f%% of those on which the threshold %.4g was chosen%s. "
                "These data are unlike those, and another threshold may be better: calibrate the model on data like "
                "these, or with `allennlp-nef calibrate --adapt-to` these data, which need no tags.",
                100 * share,
                100 * expected,
                calibration.threshold,
                f" for the highest {goal}" if goal else "",
            )


def check_label_namespace(vocab: Vocabulary, label_namespace: str) -> None:
    """Raises a `ConfigurationError` for a namespace without labels, or one with a padding symbol."""
    if label_namespace not in vocab.get_namespaces() or not vocab.get_vocab_size(label_namespace):
        names = ", ".join(sorted(vocab.get_namespaces())) or "none"
        raise ConfigurationError(
            f"label_namespace: no label is known in {label_namespace!r}; the training data hold no tags, or the "
            f"reader puts them in another namespace (those of the vocabulary: {names})"
        )
    if vocab.is_padded(label_namespace):
        raise ConfigurationError(
            "label_namespace: expected one whose name ends with labels or tags, or is listed in "
            f"vocabulary.non_padded_namespaces, got {label_namespace!r}"
        )


def shared_label_table(
    label_namespace: str, *encoders: torch.nn.Module | None
) -> LabelTable | None:
    """Makes all layers of label attention use one table, that of the first; None where there are no such layers.

    Raises `ConfigurationError`: tables of different shapes, or of other labels than the model's.
    """
    modules = [module for encoder in encoders if encoder for module in encoder.modules()]
    layers = [module for module in modules if isinstance(module, LabelAttention)]
    tables = [layer.label_table for layer in layers]
    for layer, table in zip(layers, tables):
        if layer.label_namespace != label_namespace:
            raise ConfigurationError(
                f"label_attention: label_namespace: expected the model's, {label_namespace!r}, got "
                f"{layer.label_namespace!r}"
            )
        expected, got = tables[0].weight.shape, table.weight.shape
        if got != expected:
            raise ConfigurationError(
                "label_attention: expected layers with the same hidden_dim, which share their table of labels, got "
                f"tables of {tuple(expected)} and {tuple(got)}"
            )
        layer.label_table = tables[0]
    return tables[0] if tables else None


def check_step_options(
    decoder: Seq2SeqEncoder | None, step_loss: StepLoss | None, halting: Halting | None
) -> None:
    """Raises a `ConfigurationError` where the options of a model and its decoder do not go together."""
    last = easy_first_of(decoder)
    for name, option in (("step_loss", step_loss), ("halting", halting)):
        if option is None:
            continue
        if last is None:
            got = registered_name(Seq2SeqEncoder, parts_of(decoder)[-1]) if decoder else "none"
            raise ConfigurationError(f"{name}: expected the decoder neural_easy_first, got {got}")
        if last.num_steps == 1:
            raise ConfigurationError(
                f"{name}: expected a decoder with num_steps of 2 or more, got 1"
            )
    rate = learned_rate(decoder)
    if step_loss is not None:
        step_loss.check_halting_rate(rate)
    elif rate is not None:
        raise ConfigurationError(
            "halting_rate: expected the option step_loss of the model, got none"
        )
    check_can_halt(halting, decoder)


def easy_first_of(decoder: Seq2SeqEncoder | None) -> NeuralEasyFirst | None:
    """The `neural_easy_first` that a decoder is, or ends with; None where there is none."""
    last = None if decoder is None else parts_of(decoder)[-1]
    return last if isinstance(last, NeuralEasyFirst) else None


def has_steps(decoder: Seq2SeqEncoder | None) -> bool:
    """Whether the sentences of a decoder can halt."""
    return easy_first_of(decoder) is not None


def learned_rate(decoder: Seq2SeqEncoder | None) -> float | None:
    """The `halting_rate` of a decoder, if it has one."""
    last = easy_first_of(decoder)
    return None if last is None or last.halting is None else last.halting.rate


def check_can_halt(halting: Halting | None, decoder: Seq2SeqEncoder | None) -> None:
    """Raises a `ConfigurationError` for the halting `learned` where the decoder has not learned it."""
    if halting is not None and halting.is_learned and learned_rate(decoder) is None:
        raise ConfigurationError(
            "halting: learned: expected a decoder trained with halting_rate, got one without it"
        )


def fill_in(options: Any, dim: int) -> None:
    """Puts the dimension of the input in place of a null `input_dim` or `input_size` of an encoder."""
    if not isinstance(options, Params):  # the name of a type
        return
    if options.get("encoders"):  # of `compose`, whose first encoder gets the input
        options = options.get("encoders")[0]
    for name in ("input_dim", "input_size"):
        if name in options and options.get(name) is None:
            options[name] = dim


class SeenMetric(CountingMetric):
    """Counts the batches with gold tags, the steps of sentences that may halt, and the words that a threshold tags BAD.

    `batches`; `mean_steps` and `bad_share`, where there are such sentences and words.
    """

    def __init__(self) -> None:
        self.reset()

    def add_batch(self, is_bad: torch.Tensor | None, mask: torch.Tensor) -> None:
        """A batch with gold tags; which of its words, (batch, tokens), a threshold tags BAD, if there is one."""
        none = mask.new_zeros((), dtype=torch.long)
        bad, words = (none, none) if is_bad is None else ((is_bad & mask).sum(), mask.sum())
        self.add(torch.stack([none + 1, none, none, bad, words]))

    def add_steps(self, num_steps: torch.Tensor) -> None:
        """The numbers of steps of the sentences of a batch: (batch,)."""
        none = torch.zeros_like(num_steps.sum())
        self.add(torch.stack([none, num_steps.sum(), none + len(num_steps), none, none]))

    @overrides
    def no_counts(self) -> numpy.ndarray:
        return numpy.zeros(5, dtype=numpy.int64)  # batches; steps, sentences; BAD words, words

    @overrides
    def scores(self, counts: Any) -> dict[str, float]:
        batches, steps, sentences, bad, words = counts.tolist()
        scores = {"batches": batches}
        if sentences:
            scores["mean_steps"] = steps / sentences
        if words:
            scores["bad_share"] = bad / words
        return scores


def check_is_labeled(
    tags: torch.Tensor | None, sentence_score: torch.Tensor | None, learns_scores: bool
) -> None:
    """Raises a `ConfigurationError` where a training batch lacks tags, or scores that the model learns."""
    if tags is None:
        raise ConfigurationError(
            "tags: expected gold tags in the training data, got sentences without any; do the files of "
            "train_data_path have them?"
        )
    if learns_scores and sentence_score is None:
        raise ConfigurationError(
            "sentence_score: expected scores of the training sentences, got none; has train_data_path a file "
            ".hter, and dataset_reader the option sentence_scores: true?"
        )


def explained_loss(tagging: Tagging, tags: torch.Tensor) -> torch.Tensor:
    """Minus the log-odds of the tags other than O, summed over their words.

    It is what `allennlp.interpret` differentiates. Log-odds have a gradient also where the model is certain.

    # Parameters

    tagging : `Tagging`
    tags : `torch.LongTensor`, (batch, tokens)
        `UNSEEN` where the vocabulary lacks the label, as it may lack O.

    # Returns

    `torch.Tensor`: a scalar.
    """
    is_explained = tagging.mask & (tags != UNSEEN)
    labels = tagging.tag_decoder.labels
    if OUTSIDE in labels:
        is_explained &= tags != labels.index(OUTSIDE)
    table = tagging.probabilities[is_explained]  # (words, labels)
    is_own = torch.nn.functional.one_hot(tags[is_explained], table.size(-1)).bool()
    tiny = torch.finfo(table.dtype).tiny
    own = table[is_own].clamp(min=tiny)
    others = table.masked_fill(is_own, 0).sum(-1).clamp(min=tiny)
    return (others.log() - own.log()).sum()


def error_free_probabilities(
    tagging: Tagging, metadata: Sequence[TaggingMetadata | None]
) -> torch.Tensor | None:
    """The probability of each sentence to be free of errors, (batch,): 0 where a translation has no words."""
    probabilities = tagging.error_free_probabilities
    if probabilities is None or not metadata:
        return probabilities
    is_empty = [item is not None and not without_eos(item.tokens) for item in metadata]
    return probabilities.masked_fill(torch.tensor(is_empty, device=probabilities.device), 0)


def is_traced(options: Sequence[DecodeOptions] | None) -> bool:
    """Whether a sentence of a batch wants the trace, or the attention."""
    return any(option.is_traced for option in options or ())


def batch_halting(
    own: Halting | None, options: Sequence[DecodeOptions] | None, mask: torch.Tensor
) -> BatchHalting | None:
    """The halting of each sentence: that of its options or the model's own. None where no sentence has one."""
    items = options or [DecodeOptions()] * len(mask)
    haltings = [item.halting or own for item in items]
    limits = [item.max_steps for item in items]
    if not any(haltings) and not any(limits):
        return None
    return BatchHalting(haltings, limits, mask)


class AcceptanceMetric(CountingMetric):
    """How many sentences need no reviewer, and how many of these are free of errors, over the whole data set.

    `accept_share` and `accept_precision`, both in [0, 1], the latter 0 where none is accepted. No scores without
    sentences. A tagger has it where its calibration has an `Acceptance`.
    """

    def __init__(self) -> None:
        self.reset()

    @overrides(check_signature=False)
    def __call__(self, is_accepted: torch.Tensor, is_error_free: torch.Tensor) -> None:
        """Whether each sentence is accepted, and whether it has no error: each (batch,), bool."""
        self.add(
            torch.stack(
                [
                    is_accepted.sum(),
                    (is_accepted & is_error_free).sum(),
                    torch.ones_like(is_accepted, dtype=torch.long).sum(),
                ]
            )
        )

    @overrides
    def no_counts(self) -> numpy.ndarray:
        return numpy.zeros(3, dtype=numpy.int64)  # accepted, of these without errors, all

    @overrides
    def scores(self, counts: Any) -> dict[str, float]:
        accepted, error_free, sentences = counts.tolist()
        if not sentences:
            return {}
        return {
            "accept_share": accepted / sentences,
            "accept_precision": float(ratio(error_free, accepted)),
        }
