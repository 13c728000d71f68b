from typing import Any

import torch
from allennlp.common import Lazy
from allennlp.common.util import is_distributed
from allennlp.data import Vocabulary
from allennlp.models import Model
from allennlp.modules.seq2seq_encoders import Seq2SeqEncoder
from allennlp.nn import InitializerApplicator
from allennlp.training.metrics import Metric
from overrides import overrides

from allennlp_nef.data.formats.chunks import are_chunk_tags
from allennlp_nef.data.metadata import (
    TaggingMetadata,
    tagging_metadata,
    thresholds_of,
    weights_of,
)
from allennlp_nef.metrics import TagAccuracy
from allennlp_nef.models.encoding import encode, states_dim_of
from allennlp_nef.models.out_of_memory import BatchShape, batch_shape, explaining_memory
from allennlp_nef.models.tagging.bad_words import BadWords
from allennlp_nef.models.tagging.explained_loss import explained_loss
from allennlp_nef.models.tagging.label_tables import check_label_namespace, shared_label_table
from allennlp_nef.models.tagging.readable import readable_output
from allennlp_nef.models.tagging.sentence_scores import SentenceScores
from allennlp_nef.models.tagging.steps import MeanSteps, batch_halting, check_step_options
from allennlp_nef.models.tagging.tagging_metrics import TaggingMetrics
from allennlp_nef.models.tagging.training_checks import AlignmentCheck, check_is_labeled
from allennlp_nef.models.tagging.unseen_labels import UnseenLabels
from allennlp_nef.models.versioned_model import VersionedModel
from allennlp_nef.modules.calibration import Calibration
from allennlp_nef.modules.checks import check_dropout
from allennlp_nef.modules.halting import Halting
from allennlp_nef.modules.input_representations import InputRepresentation
from allennlp_nef.modules.sentence_score_head import SentenceScoreHead
from allennlp_nef.modules.seq2seq_encoders.neural_easy_first import NeuralEasyFirstTrace
from allennlp_nef.modules.step_loss import StepLoss
from allennlp_nef.modules.tag_heads import SoftmaxTagHead, TagHead
from allennlp_nef.modules.traces import EncoderTrace
from allennlp_nef.nn.connected import connected
from allennlp_nef.nn.numerics import zero_padding


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
