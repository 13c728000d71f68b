"""Neural easy-first taggers, and the same taggers without a decoder."""

import logging
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any, cast

import torch
from allennlp.common import Lazy
from allennlp.common.checks import ConfigurationError
from allennlp.common.util import is_distributed
from allennlp.data import Vocabulary
from allennlp.models import Model
from allennlp.modules.seq2seq_encoders import Seq2SeqEncoder
from allennlp.nn import InitializerApplicator
from allennlp.nn.util import dist_reduce_sum, masked_mean
from allennlp.training.metrics import Metric
from overrides import overrides

from allennlp_nef.data.fields import UNSEEN
from allennlp_nef.data.formats.chunks import are_chunk_tags, chunks_of
from allennlp_nef.data.metadata import (
    TaggingMetadata,
    tagging_metadata,
    thresholds_of,
    weights_of,
)
from allennlp_nef.metrics import ProbabilityMetric, SentenceScoresMetric, TagAccuracy
from allennlp_nef.models.encoding import encode, parts_of, states_dim_of
from allennlp_nef.models.out_of_memory import BatchShape, batch_shape, explaining_memory
from allennlp_nef.models.versioned_model import VersionedModel
from allennlp_nef.modules.calibration import Calibration
from allennlp_nef.modules.halting import BatchHalting, Halting
from allennlp_nef.modules.input_representations import InputRepresentation
from allennlp_nef.modules.options import check_dropout, registered_name
from allennlp_nef.modules.sentence_score_head import SentenceScoreHead
from allennlp_nef.modules.seq2seq_encoders import LabelAttention, NeuralEasyFirst
from allennlp_nef.modules.seq2seq_encoders.label_attention import LabelTable
from allennlp_nef.modules.seq2seq_encoders.neural_easy_first import NeuralEasyFirstTrace
from allennlp_nef.modules.step_loss import StepLoss
from allennlp_nef.modules.tag_heads import ChainProbabilities, SoftmaxTagHead, TagHead
from allennlp_nef.modules.traces import Decision, EncoderTrace, ReadableTrace, TracedSentence
from allennlp_nef.nn.numerics import connected, zero_padding


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
        Gives the states h.
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
        states_dim = states_dim_of(input_representation, encoder, decoder)
        check_dropout(dropout)
        check_label_namespace(vocab, label_namespace)
        self.input_representation = input_representation
        self.encoder = encoder
        self.decoder = decoder
        self.label_namespace = label_namespace
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
        self._use_head(head, calibration, metrics, step_loss, halting)
        initializer(self)

    def _use_head(
        self,
        tag_head: TagHead,
        calibration: Calibration | None,
        metrics: list[Lazy[Metric]] | None,
        step_loss: StepLoss | None = None,
        halting: Halting | None = None,
    ) -> None:
        """The part of the constructor after the scores."""
        self.tag_head = tag_head
        self.step_loss = step_loss
        self.halting = halting
        self._mean_steps = MeanSteps()
        self.tag_head.calibrate(calibration)
        self.metrics = [
            metric.construct(vocab=self.vocab, label_namespace=self.label_namespace)
            for metric in metrics or [Lazy(TagAccuracy)]
        ]
        self._tagging_metrics = TaggingMetrics(self.metrics, tag_head)
        self._sentence_scores = SentenceScores(tag_head, self.sentence_score, self.metrics)
        self.has_chunks = are_chunk_tags(tag_head.labels)
        """Whether the labels are those of chunks, such as entities."""
        self.batch_shape: BatchShape | None = None
        """The shape of the last batch."""
        self.loss_weight: torch.Tensor | None = None
        """The weight of the loss of the last batch with gold tags, a scalar: see `TagHead.loss_weight`."""
        self._unseen_labels = UnseenLabels()
        self._bad_words = BadWords(self.tag_head)
        self._alignment_check = AlignmentCheck()

    @overrides(check_signature=False)
    def forward(
        self,
        tags: torch.Tensor | None = None,
        metadata: list[Any] | None = None,
        sentence_score: torch.Tensor | None = None,
        ignore_loss_on_o_tags: bool = False,
        **inputs: Any,
    ) -> dict[str, Any]:
        """
        # Parameters

        tags : `torch.LongTensor`, (batch, tokens), optional (default = `None`)
            The gold labels, where known; -1 for a label that the vocabulary lacks. No prediction is right for it, its
            sentence is left out of the loss, and a warning counts it.
        metadata : `list[TaggingMetadata]`, optional (default = `None`)
            Its `attention` and `trace` ask for the trace of an instance. Metadata of other readers are passed on.
        sentence_score : `torch.Tensor`, (batch,), optional (default = `None`)
            The gold scores of the sentences.
        ignore_loss_on_o_tags : `bool`, optional (default = `False`)
            Whether the tags are predictions to explain: then the loss is their `explained_loss`.
        inputs
            The fields that the input representation takes.

        # Returns

        `dict[str, Any]`
            - `tag_ids`: (batch, tokens), the predicted labels.
            - `mask`: (batch, tokens), bool.
            - `scores`: (batch, tokens, labels); not while training.
            - `loss`: scalar, if `tags` are given; 0 where every sentence is left out of it.
            - `sentence_score`: (batch,), if the model predicts it.
            - `metadata`, if given.
            - `steps`: the number of steps of each sentence that may halt, None for others; if any may.
            - `trace`: an `EncoderTrace`, if any instance wants it and the model has one.
        """
        if self.training:
            check_is_labeled(tags, sentence_score, self.sentence_score is not None)
        self.batch_shape = batch_shape(inputs)
        with explaining_memory(self.batch_shape, self.training):
            gold = None if ignore_loss_on_o_tags else tags
            items = tagging_metadata(metadata)
            self._alignment_check.add(self, items)
            output = self._forward(inputs, gold, sentence_score, items)
        if ignore_loss_on_o_tags and tags is not None:
            output["loss"] = explained_loss(self.tag_head, output["scores"], output["mask"], tags)
        if metadata is not None:
            output["metadata"] = metadata
        return output

    def _forward(
        self,
        inputs: dict[str, Any],
        tags: torch.Tensor | None,
        sentence_score: torch.Tensor | None,
        metadata: list[TaggingMetadata | None],
    ) -> dict[str, Any]:
        vectors, mask = self.input_representation(**inputs)
        vectors = self.dropout(zero_padding(vectors, mask))
        is_traced = any(item is not None and item.is_traced for item in metadata)
        states, trace = encode(self.encoder, vectors, mask, is_traced and self.decoder is None)
        states = self.dropout(zero_padding(states, mask))
        halting = None
        if self.decoder is not None:
            options: dict[str, Any] = {}
            if self.training:
                options["step_outputs"] = self.step_loss is not None
            else:
                options["halting"] = halting = batch_halting(self.halting, metadata, mask)
            head = self.tag_head
            states, trace = encode(self.decoder, states, mask, is_traced, head.scores, **options)
        scores = self.tag_head.scores(states)
        logits = self._sentence_scores.logits(states, mask, scores)
        output = self._tagged(scores, mask, tags, metadata, logits, sentence_score, trace)
        if is_traced and trace is not None:
            output["trace"] = trace
        if halting is not None and trace is not None:
            self._mean_steps.add(trace.num_steps)
            steps = zip(trace.num_steps.tolist(), halting.is_limited)
            output["steps"] = [count if is_limited else None for count, is_limited in steps]
        return output

    def _tagged(
        self,
        scores: torch.Tensor,
        mask: torch.BoolTensor,
        tags: torch.Tensor | None,
        metadata: list[TaggingMetadata | None],
        sentence_logits: torch.Tensor | None,
        sentence_score: torch.Tensor | None,
        trace: EncoderTrace | None = None,
    ) -> dict[str, Any]:
        """What the tag head makes of scores; updates the metrics. The step loss, in training, needs the trace."""
        output: dict[str, Any] = {"mask": mask}
        weights, in_loss = weights_of(metadata), None
        if tags is not None:
            # A sentence with a label that the vocabulary lacks has no likelihood.
            is_unseen = (tags < 0) & mask
            has_loss = mask & ~is_unseen.any(-1, keepdim=True)
            in_loss = has_loss.any(-1)
            known = tags.clamp(min=0)
            rest = has_loss, known, weights
            if self.training and self.step_loss and isinstance(trace, NeuralEasyFirstTrace):
                output["loss"] = self.step_loss.total(trace, self.tag_head, scores, *rest)
            else:
                output["loss"] = self.tag_head.loss(scores, *rest)
            self.loss_weight = self.tag_head.loss_weight(has_loss)
            self._unseen_labels.add(is_unseen, metadata)
        self._sentence_scores.add(output, sentence_logits, scores, sentence_score, weights, in_loss)
        if self.training and is_distributed():
            output["loss"] = connected(output["loss"], self.parameters())
        with torch.no_grad():
            output["tag_ids"] = self.tag_head.tags(scores, mask, thresholds_of(metadata))
        if not self.training:
            output["scores"] = scores
        if tags is not None:
            if not self.training:
                self._bad_words.add(output["tag_ids"], mask)
            self._tagging_metrics.add(output["tag_ids"], tags, mask, scores)
        return output

    @overrides(check_signature=False)
    def make_output_human_readable(self, output_dict: dict[str, Any]) -> dict[str, Any]:
        """One entry an instance, each as long as its sentence; and the loss of the batch.

        - `tags`: the labels; `metadata`; `tokens`, where the metadata have them.
        - `sentence_score`, if the model predicts it; `steps`, the number of steps, where a sentence may halt, or None.
        - `probabilities`: of the tag, for each word; `label_probabilities`: an array (words, labels).
        - `spans`, if the labels are those of chunks: objects with `start` and `end` (words, from 0, the end exclusive),
          `type`, `probability` and, where the tokens are known, `text`.
        - `attention` (rows x words; None where rows attend to no words) and `trace` (a `DecisionTrace` or
          `FusionTrace`), if there is a trace; None where it was not wanted.
        - `loss`, where it has a gradient: a scalar, for `allennlp.interpret`.
        """
        with torch.no_grad(), explaining_memory(self.batch_shape, self.training):
            return readable_output(self.tag_head, output_dict, self.has_chunks)

    @overrides
    def get_metrics(self, reset: bool = False) -> dict[str, float]:
        """The scores of all metrics; none where no gold tags or scores came since the last reset.

        Without `reset`, those that take long are left out: `best_threshold_word_qe` and `sentence_scores`.
        """
        scores = {**self._tagging_metrics.scores(reset), **self._mean_steps.scores(reset)}
        if reset:
            self._unseen_labels.warn()
            self._bad_words.warn()
        return scores


logger = logging.getLogger(__name__)


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


class AlignmentCheck:
    """Warns once where sentences come without word alignments, and the input representation of a model takes them."""

    def __init__(self) -> None:
        self._is_done = False

    def add(self, model: torch.nn.Module, metadata: Iterable[TaggingMetadata | None]) -> None:
        """Looks at the sentences of a batch."""
        if self._is_done or not any(item and item.alignments_from == "none" for item in metadata):
            return
        self._is_done = True
        parts = (part for part in model.modules() if isinstance(part, InputRepresentation))
        effect = next((part.without_alignments for part in parts if part.without_alignments), None)
        if effect:
            logger.warning(
                "Some sentences have no word alignments, and there is no aligner to find them: for these, %s. "
                "`allennlp-nef align-words` aligns data; it needs the extra align: pip install "
                '"allennlp_nef[align]"',
                effect,
            )


MAX_LISTED = 20
"""Labels in a warning."""


class UnseenLabels:
    """Counts the gold tags that the vocabulary lacks, for a warning."""

    def __init__(self) -> None:
        self._counts: Counter = Counter()

    def add(self, is_unseen: torch.Tensor, metadata: list[TaggingMetadata | None]) -> None:
        """Counts a batch: `is_unseen` is bool, (batch, tokens); the names of the tags are in the metadata."""
        for row, word in is_unseen.nonzero().tolist():
            item = metadata[row] if metadata else None
            self._counts[item.tags[word] if item and item.tags else "?"] += 1

    def warn(self) -> None:
        """Logs what was counted, and starts again."""
        if not self._counts:
            return
        labels = [f"{label} ({count})" for label, count in self._counts.most_common()]
        others = len(labels) - MAX_LISTED
        logger.warning(
            "%d gold tags are labels that the vocabulary lacks: no prediction is right for them, and their "
            "sentences are left out of the loss. They are %s.",
            sum(self._counts.values()),
            ", ".join(labels[:MAX_LISTED]) + (f" and {others} others" if others > 0 else ""),
        )
        self._counts.clear()


def check_label_namespace(vocab: Vocabulary, label_namespace: str) -> None:
    """Raises a `ConfigurationError` for a namespace without labels, or one with a padding symbol."""
    if not vocab.get_vocab_size(label_namespace):
        raise ConfigurationError(
            f"label_namespace: no label is known in {label_namespace!r}; the training data hold no tags, or the "
            "reader puts them in another namespace"
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


MAX_RATIO = 1.5
"""Of the share of words that are tagged BAD, and of that on the data on which the threshold was chosen."""


class BadWords:
    """Counts the words that a threshold tags BAD, for a warning where they are far more or fewer than expected.

    # Parameters

    tag_head : `TagHead`
        With the calibration that has the threshold.
    """

    def __init__(self, tag_head: TagHead) -> None:
        self._tag_head = tag_head
        self._bad = self._words = 0

    def add(self, tag_ids: torch.Tensor, mask: torch.Tensor) -> None:
        """Counts a batch of predicted tags; both are (batch, tokens)."""
        calibration = self._tag_head.calibration
        if calibration is not None and calibration.threshold is not None:
            self._bad += int((mask & (tag_ids != self._tag_head.labels.index("OK"))).sum())
            self._words += int(mask.sum())

    def warn(self) -> None:
        """Logs a warning where the shares differ by more than `MAX_RATIO`, and starts again."""
        calibration, bad, words = self._tag_head.calibration, self._bad, self._words
        self._bad = self._words = 0
        if calibration is None or calibration.tagged_share is None or not words:
            return
        expected, share = calibration.tagged_share, bad / words
        if max(expected, share) > MAX_RATIO * min(expected, share):
            names = {"mcc": "MCC", "f1_mult": "F1-MULT", "span_f1": "F1 of characters"}
            goal = names.get(str(calibration.objective))
            logger.warning(
                "%.1f%% of the words are tagged BAD, but %.1f%% of those on which the threshold %.4g was chosen%s. "
                "These data are unlike those, and another threshold may be better: calibrate the model on data like "
                "these, or with `allennlp-nef calibrate --adapt-to` these data, which need no tags.",
                100 * share,
                100 * expected,
                calibration.threshold,
                f" for the highest {goal}" if goal else "",
            )


class TaggingMetrics:
    """Calls the metrics of a tagger, and collects their scores. `SentenceScores` calls those of sentence scores.

    # Parameters

    metrics : `Sequence[Metric]`
    tag_head : `TagHead`
        Gives the probabilities that a `ProbabilityMetric` takes.
    """

    def __init__(self, metrics: Sequence[Metric], tag_head: TagHead) -> None:
        self._metrics = metrics
        self._tag_head = tag_head
        self._has_gold = False

    def add(
        self,
        tag_ids: torch.Tensor,
        tags: torch.Tensor,
        mask: torch.BoolTensor,
        scores: torch.Tensor,
    ) -> None:
        """Adds a batch with gold tags: predicted and gold tags (batch, tokens), scores (batch, tokens, labels)."""
        self._has_gold = True
        probabilities: torch.Tensor | None = None
        if any(isinstance(metric, ProbabilityMetric) for metric in self._metrics):
            with torch.no_grad():
                probabilities = self._tag_head.probabilities(scores, mask)
        for metric in self._metrics:
            if isinstance(metric, ProbabilityMetric):
                metric(tag_ids, tags, mask, probabilities)
            elif not isinstance(metric, SentenceScoresMetric):
                metric(tag_ids, tags, mask)

    def scores(self, reset: bool) -> dict[str, float]:
        """The scores of all metrics; of tags none where no gold tags came since the last reset.

        With `reset` of all processes together, which all have to call it: see `CountingMetric`. Without it, slow
        metrics are left out: AllenNLP asks for the scores after each batch, to show them.
        """
        if reset:
            self._has_gold = dist_reduce_sum(int(self._has_gold)) > 0
        scores: dict[str, float] = {}
        for metric in self._metrics:
            if not reset and getattr(metric, "is_slow", False):
                continue
            if self._has_gold or isinstance(metric, SentenceScoresMetric):
                scores.update(metric.get_metric(reset))
        self._has_gold = self._has_gold and not reset
        return scores


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


def check_has_steps(option: str, decoder: Seq2SeqEncoder | None) -> None:
    """Raises a `ConfigurationError` for an option of the model where its decoder has no steps, or one."""
    if decoder is None:
        raise ConfigurationError(f"{option}: expected the decoder neural_easy_first, got none")
    last = parts_of(decoder)[-1]
    if not isinstance(last, NeuralEasyFirst):
        got = registered_name(Seq2SeqEncoder, last)
        raise ConfigurationError(f"{option}: expected the decoder neural_easy_first, got {got}")
    if last.num_steps == 1:
        raise ConfigurationError(f"{option}: expected a decoder with num_steps of 2 or more, got 1")


def check_step_options(
    decoder: Seq2SeqEncoder | None, step_loss: StepLoss | None, halting: Halting | None
) -> None:
    """Raises a `ConfigurationError` where the options of a model and its decoder do not go together."""
    for name, option in (("step_loss", step_loss), ("halting", halting)):
        if option is not None:
            check_has_steps(name, decoder)
    rate = learned_rate(decoder)
    if rate is not None and step_loss is None:
        raise ConfigurationError(
            "halting_rate: expected the option step_loss of the model, got none"
        )
    if step_loss is not None:
        step_loss.check_halting_rate(rate)
    check_can_halt(halting, decoder)


def learned_rate(decoder: Seq2SeqEncoder | None) -> float | None:
    """The `halting_rate` of a decoder, if it has one."""
    last = None if decoder is None else parts_of(decoder)[-1]
    head = last.halting if isinstance(last, NeuralEasyFirst) else None
    return None if head is None else head.rate


def check_can_halt(halting: Halting | None, decoder: Seq2SeqEncoder | None) -> None:
    """Raises a `ConfigurationError` for the halting `learned` where the decoder has not learned it."""
    if halting is not None and halting.is_learned and learned_rate(decoder) is None:
        raise ConfigurationError(
            "halting: learned: expected a decoder trained with halting_rate, got one without it"
        )


def has_steps(decoder: Seq2SeqEncoder | None) -> bool:
    """Whether the sentences of a decoder can halt."""
    return decoder is not None and isinstance(parts_of(decoder)[-1], NeuralEasyFirst)


def batch_halting(
    own: Halting | None, metadata: Sequence[TaggingMetadata | None], mask: torch.Tensor
) -> BatchHalting | None:
    """The halting of each sentence: that of its metadata or the model's own. None where no sentence has one."""
    if own is None and all(
        item is None or (item.halting is None and item.max_steps is None) for item in metadata
    ):
        return None
    items = metadata or [None] * len(mask)
    haltings = [
        own if item is None or item.halting is None else cast(Halting, item.halting)
        for item in items
    ]
    return BatchHalting(
        haltings, [None if item is None else item.max_steps for item in items], mask
    )


class MeanSteps:
    """Counts the steps of sentences that may halt, for a score."""

    def __init__(self) -> None:
        self._steps = self._sentences = 0

    def add(self, num_steps: torch.Tensor) -> None:
        """Adds a batch: (batch,)."""
        self._steps += int(num_steps.sum())
        self._sentences += len(num_steps)

    def scores(self, reset: bool) -> dict[str, float]:
        """`mean_steps`, if there are sentences. With `reset` of all processes together, which all have to call it."""
        steps, sentences = self._steps, self._sentences
        if reset:
            steps, sentences = int(dist_reduce_sum(steps)), int(dist_reduce_sum(sentences))
            self._steps = self._sentences = 0
        return {"mean_steps": steps / sentences} if sentences else {}


OUTSIDE = "O"
"""The label of words whose tags are not explained."""


def explained_loss(
    tag_head: TagHead, scores: torch.Tensor, mask: torch.Tensor, tags: torch.Tensor
) -> torch.Tensor:
    """Minus the log-odds of the tags other than O, summed over their words.

    It is what `allennlp.interpret` differentiates. Log-odds have a gradient also where the model is certain.

    # Parameters

    tag_head : `TagHead`
    scores : `torch.Tensor`, (batch, tokens, labels)
    mask : `torch.BoolTensor`, (batch, tokens)
    tags : `torch.LongTensor`, (batch, tokens)
        `UNSEEN` where the vocabulary lacks the label, as it may lack O.

    # Returns

    `torch.Tensor`: a scalar.
    """
    is_explained = mask & (tags != UNSEEN)
    if OUTSIDE in tag_head.labels:
        is_explained &= tags != tag_head.labels.index(OUTSIDE)
    table = tag_head.probabilities(scores, mask)[is_explained]  # (words, labels)
    is_own = torch.nn.functional.one_hot(tags[is_explained], table.size(-1)).bool()
    tiny = torch.finfo(table.dtype).tiny
    own = table[is_own].clamp(min=tiny)
    others = table.masked_fill(is_own, 0).sum(-1).clamp(min=tiny)
    return (others.log() - own.log()).sum()


Entries = dict[str, list[Any]]
"""Values by name, one a sentence."""


def readable_output(tag_head: TagHead, output: dict[str, Any], has_chunks: bool) -> dict[str, Any]:
    """What `NefTagger.make_output_human_readable` makes of an output."""
    mask, labels = output["mask"], tag_head.labels
    rows = zip(output["tag_ids"].tolist(), mask.sum(-1).tolist())
    tags = [[labels[tag] for tag in row[:length]] for row, length in rows]
    readable: dict[str, Any] = {"tags": tags}
    if "sentence_score" in output:
        readable["sentence_score"] = output["sentence_score"].tolist()
    if "steps" in output:
        readable["steps"] = output["steps"]
    if "loss" in output and output["loss"].requires_grad:
        readable["loss"] = output["loss"]
    metadata = output.get("metadata")
    if metadata is not None:
        readable["metadata"] = metadata
    items = tagging_metadata(metadata)
    if items and all(items):
        readable["tokens"] = [item.tokens for item in items if item]
    if "scores" in output:
        tokens = readable.get("tokens")
        readable.update(readable_probabilities(tag_head, output, tags, tokens, has_chunks))
    if "trace" in output:
        readable.update(readable_trace(output["trace"], tag_head, mask, tags, items))
    return readable


def readable_probabilities(
    tag_head: TagHead,
    output: dict[str, Any],
    tags: Sequence[list[str]],
    tokens: Sequence[list[str]] | None,
    has_chunks: bool,
) -> Entries:
    """`probabilities`, `label_probabilities` and, if the tags are those of chunks, `spans`.

    # Parameters

    tag_head : `TagHead`
    output : `dict[str, Any]`
        With `scores`, `mask` and `tag_ids`.
    tags : `Sequence[list[str]]`
        The predicted labels of each sentence.
    tokens : `Sequence[list[str]]`
        The words of each sentence, where known.
    has_chunks : `bool`
    """
    scores, mask, tag_ids = output["scores"], output["mask"], output["tag_ids"]
    if has_chunks:
        chain = tag_head.chain_probabilities(scores, mask, tag_ids)
        table = chain.words.float()
    else:
        table = tag_head.probabilities(scores, mask).float()
    chosen = table.gather(-1, tag_ids.unsqueeze(-1)).squeeze(-1).tolist()
    entries: Entries = {
        "probabilities": [row[: len(each)] for row, each in zip(chosen, tags)],
        "label_probabilities": [rows[: len(each)] for rows, each in zip(table.cpu().numpy(), tags)],
    }
    if has_chunks:
        entries["spans"] = _spans(tag_head, chain, mask, tag_ids, tags, tokens)
    return entries


def _spans(
    tag_head: TagHead,
    chain: ChainProbabilities,
    mask: torch.Tensor,
    tag_ids: torch.Tensor,
    tags: Sequence[list[str]],
    tokens: Sequence[list[str]] | None,
) -> list[list[dict[str, Any]]]:
    """The predicted chunks of each sentence, as JSON objects."""
    chunks = [chunks_of(each) for each in tags]
    probabilities = tag_head.chunk_probabilities(chain, mask, tag_ids, chunks)
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


def readable_trace(
    trace: EncoderTrace,
    tag_head: TagHead,
    mask: torch.Tensor,
    tags: Sequence[list[str]],
    metadata: Sequence[TaggingMetadata | None],
) -> Entries:
    """`attention` and `trace`, with None for the sentences that do not want it."""

    def decide(output: torch.Tensor) -> Decision:
        scores = tag_head.scores(output)
        tag_ids = tag_head.tags(scores, mask, thresholds_of(metadata))
        return Decision(tag_ids, tag_head.probabilities(scores, mask))

    attention: list[list[list[float]] | None] = [None] * len(tags)
    wanted = []
    for position, (item, each) in enumerate(zip(metadata, tags)):
        if item is not None and item.attention:
            weights = trace.attention_of(position, len(each))
            attention[position] = None if weights is None else weights.tolist()
        if item is not None and item.trace:
            wanted.append(TracedSentence(position, item.tokens, each))
    traces: list[ReadableTrace | None] = [None] * len(tags)
    if wanted:
        for sentence, readable in zip(wanted, trace.readable(wanted, decide, tag_head.labels)):
            traces[sentence.position] = readable
    return {"attention": attention, "trace": traces}
