"""Neural easy-first taggers, and the same taggers without a decoder."""

import re
from collections.abc import Sequence
from typing import Any, ClassVar

import torch
from allennlp.common import Lazy, Params
from allennlp.common.checks import ConfigurationError
from allennlp.common.from_params import pop_and_construct_arg
from allennlp.data import TextFieldTensors, Vocabulary
from allennlp.models import Model
from allennlp.modules import TextFieldEmbedder
from allennlp.modules.seq2seq_encoders import Seq2SeqEncoder
from allennlp.nn import InitializerApplicator
from allennlp.nn.util import get_text_field_mask
from allennlp.training.metrics import Metric
from torch import Tensor
from torch.nn import functional

from allennlp_nef.data.chunks import are_chunk_tags
from allennlp_nef.data.fields import NO_LABEL, UNSEEN
from allennlp_nef.metrics.conlleval import ConllEval
from allennlp_nef.metrics.tag_accuracy import TagAccuracy
from allennlp_nef.modules.seq2seq_encoders import LabelAttention
from allennlp_nef.modules.seq2seq_encoders.traced_encoder import (
    EncoderTrace,
    parts_of,
    run_encoder,
)
from allennlp_nef.modules.tag_heads import Predicted, SoftmaxTagHead, TagHead
from allennlp_nef.modules.traces import SentenceTrace, sentence_trace
from allennlp_nef.nn.util import zero_padding

Metadata = Sequence[Any] | None


@Model.register("nef_tagger")
class NefTagger(Model):
    """A sequence tagger: embedder, encoder, neural easy-first decoder and tag head.

    Martins & Kreutzer, "Learning What's Easy: Fully Differentiable Neural Easy-First Taggers" (EMNLP 2017). Without a
    decoder it is the paper's baseline, a BiLSTM tagger.

    # Parameters

    vocab : `Vocabulary`
    text_field_embedder : `TextFieldEmbedder`
    encoder : `Seq2SeqEncoder`
        Computes the states h. In a config, a null `input_dim` or `input_size` is the dimension of the embedded words.
    decoder : `Seq2SeqEncoder`, optional (default = `None`)
        `neural_easy_first`, or any other encoder of the states. Its input dimension may also be null.
    tag_head : `TagHead`, optional (default = `softmax`)
    dropout : `float`, optional (default = `0.0`)
        Applied to the embedded words and to h. The decoder applies its own dropout to its output.
    input_dropout : `float`, optional (default = `0.0`)
        Applied to the embedded words in addition to `dropout`.
    metrics : `list[Metric]`, optional (default = `[tag_accuracy]`)
        Can include AllenNLP's own. As in AllenNLP, a metric is called with predictions (batch, tokens, labels), 1 for
        the predicted tag and 0 otherwise; gold tags (batch, tokens); and a mask, False in padding and for words without
        a gold tag. A gold tag that the model does not know is replaced with one that was not predicted. Only
        `conlleval` is called with the labels themselves. A score without a name gets the metric's, and scores for each
        label get the label's, such as `precision-NOUN`.
    label_namespace : `str`, optional (default = `"labels"`)
    initializer : `InitializerApplicator`, optional
    """

    default_predictor = "nef_tagger"
    # The parts whose dimensions depend on each other, in order.
    parts: ClassVar[dict[str, type]] = {
        "text_field_embedder": TextFieldEmbedder,
        "encoder": Seq2SeqEncoder,
        "decoder": Seq2SeqEncoder,
    }

    def __init__(
        self,
        vocab: Vocabulary,
        text_field_embedder: TextFieldEmbedder,
        encoder: Seq2SeqEncoder,
        decoder: Seq2SeqEncoder | None = None,
        tag_head: Lazy[TagHead] = Lazy(SoftmaxTagHead),
        dropout: float = 0.0,
        input_dropout: float = 0.0,
        metrics: list[Lazy[Metric]] | None = None,
        label_namespace: str = "labels",
        initializer: InitializerApplicator = InitializerApplicator(),
        **kwargs: Any,
    ) -> None:
        super().__init__(vocab, **kwargs)
        self.text_field_embedder = text_field_embedder
        self.encoder = encoder
        self.decoder = decoder
        self.input_dropout = torch.nn.Dropout(input_dropout)
        self.dropout = torch.nn.Dropout(dropout)

        extras: dict[str, Any] = {"vocab": vocab, "label_namespace": label_namespace}
        self.metrics: list[Any] = [
            metric.construct(**extras, vocabulary=vocab, tag_namespace=label_namespace)
            for metric in ([Lazy(TagAccuracy)] if metrics is None else metrics)
        ]
        # All layers of label attention and the tag head share one table of labels.
        layers = [layer for layer in self.modules() if isinstance(layer, LabelAttention)]
        for layer in layers:
            extras["label_table"] = layer.label_table = layers[0].label_table
        dim = (decoder or encoder).get_output_dim()
        self.tag_head = tag_head.construct(input_dim=dim, **extras)
        self.has_chunks = are_chunk_tags(self.tag_head.labels)
        initializer(self)

    def forward(
        self,
        tokens: TextFieldTensors,
        tags: Tensor | None = None,
        metadata: Metadata = None,
        trace: bool = False,
    ) -> dict[str, Any]:
        """
        # Parameters

        tokens : `TextFieldTensors`
        tags : `torch.LongTensor`, (batch, tokens), optional (default = `None`)
            The gold labels. `NO_LABEL` is ignored in the loss and the metrics. A label that the model does not know
            counts as an error in the metrics.
        metadata : `Sequence[Sentence]`, optional (default = `None`)
            The sentences, or for readers of AllenNLP dicts with their `words`.
        trace : `bool`, optional (default = `False`)
            Whether to return the trace of the decoder, or of the encoder if there is no decoder.

        # Returns

        `dict[str, Any]`
            `mask` and `tag_ids`, (batch, tokens); `scores`, (batch, tokens, labels); in evaluation mode
            `class_probabilities`, (batch, tokens, labels), and `next_probabilities` (see `Predicted`); `loss`, if there
            are gold tags; `metadata`, if given; `trace`, an `EncoderTrace`, if requested and available.
        """
        vectors, mask = self.text_field_embedder(tokens), get_text_field_mask(tokens)
        states, encoder_trace = self.encode(vectors, mask, trace)
        return self.tag(states, mask, tags, metadata, encoder_trace)

    def encode(
        self, vectors: Tensor, mask: Tensor, trace: bool = False
    ) -> tuple[Tensor, EncoderTrace | None]:
        """Turns word vectors into the states that the tag head scores, (batch, tokens, dim), and returns the trace."""
        vectors = self.dropout(self.input_dropout(zero_padding(vectors, mask)))
        states, encoder_trace = run_encoder(self.encoder, vectors, mask, trace)
        states = self.dropout(zero_padding(states, mask))
        if self.decoder is None:
            return states, encoder_trace
        return run_encoder(self.decoder, states, mask, trace, self.tag_head.scores)

    def tag(
        self, states: Tensor, mask: Tensor, tags: Tensor | None, metadata: Metadata, trace: Any
    ) -> dict[str, Any]:
        """Computes the output of `forward` from the states. Updates the metrics."""
        scores = self.tag_head.scores(states)
        output = {"mask": mask, "scores": scores, "metadata": metadata, "trace": trace}
        output = {name: value for name, value in output.items() if value is not None}
        if tags is not None:
            # `--extend-vocab` may have added labels that the model does not know.
            tags = tags.masked_fill(tags >= len(self.tag_head.labels), UNSEEN)
            known = tags.masked_fill(tags == UNSEEN, NO_LABEL)
            output["loss"] = self.tag_head.loss(scores, mask, known)
        with torch.no_grad():
            if self.training:
                output["tag_ids"] = self.tag_head.decode(scores, mask)
            else:
                names = ("tag_ids", "class_probabilities", "next_probabilities")
                output.update(zip(names, self.predict(scores, mask)))
            if tags is not None:
                self._update_metrics(output, tags)
        return output

    def predict(self, scores: Tensor, mask: Tensor) -> Predicted:
        """Returns the predicted tags and the probabilities of all labels."""
        return self.tag_head.predict(scores, mask)

    def _update_metrics(self, output: dict[str, Any], tags: Tensor) -> None:
        tag_ids, mask = output["tag_ids"], output["mask"] & (tags != NO_LABEL)
        predictions = functional.one_hot(tag_ids, len(self.tag_head.labels)).float()
        not_predicted = (tag_ids == 0).long()
        gold = torch.where(tags >= 0, tags, not_predicted).masked_fill(~mask, 0)
        for metric in self.metrics:
            if isinstance(metric, ConllEval):
                metric(self._labels_of(tag_ids, mask), self._gold_labels(output, tags, mask))
            else:
                metric(predictions, gold, mask)

    def _gold_labels(self, output: dict[str, Any], tags: Tensor, mask: Tensor) -> list[list[str]]:
        """Returns the gold labels of each sentence; with metadata, including those that the model does not know."""
        known = (getattr(item, "tags", None) for item in output.get("metadata", ()))
        gold = [
            [tag for tag in labels if tag is not None] for labels in known if labels is not None
        ]
        return gold or self._labels_of(tags, mask)

    def _labels_of(self, tag_ids: Tensor, mask: Tensor) -> list[list[str]]:
        """Returns the labels of each sentence. Index -1 becomes a chunk of an unknown type."""
        labels = [*self.tag_head.labels, "B-?"]
        rows = zip(*torch.stack([tag_ids, mask.long()]).tolist())  # waits only once for the device
        return [[labels[tag] for tag, is_word in zip(*row) if is_word] for row in rows]

    def get_metrics(self, reset: bool = False) -> dict[str, float]:
        scores: dict[str, float] = {}
        for metric in self.metrics:
            scores |= named_scores(metric, metric.get_metric(reset), self.tag_head.labels)
        return scores

    @torch.no_grad()
    def make_output_human_readable(self, output_dict: dict[str, Any]) -> dict[str, Any]:
        """Returns the output of a batch in evaluation mode, as lists with an element for each sentence.

        - `words`, if there are metadata, and `tags`, each as long as the sentence.
        - `tag_ids`, arrays (words,); `class_probabilities`, arrays (words, labels); and `next_probabilities`, arrays
          (words - 1, labels).
        - `trace`, a `SentenceTrace`, if there is one.
        - `loss`, a scalar, if it has a gradient, for `allennlp.interpret`.
        """
        mask = output_dict["mask"]
        lengths = mask.sum(-1).tolist()
        readable: dict[str, Any] = {"tags": self._labels_of(output_dict["tag_ids"], mask)}
        for name, rows in (("tag_ids", 0), ("class_probabilities", 0), ("next_probabilities", -1)):
            array = output_dict[name].cpu().numpy()
            readable[name] = [row[: length + rows] for row, length in zip(array, lengths)]
        if "metadata" in output_dict:
            readable["words"] = [item["words"] for item in output_dict["metadata"]]
        if "trace" in output_dict:
            words = readable.get("words", [[]] * len(lengths))
            readable["trace"] = self._traces(output_dict, words, readable["tags"])
        if "loss" in output_dict and output_dict["loss"].requires_grad:
            readable["loss"] = output_dict["loss"]
        return readable

    def _traces(
        self, output: dict[str, Any], words: list[list[str]], tags: list[list[str]]
    ) -> list[SentenceTrace]:
        """Returns the trace of each sentence. If the rows are steps, it has the tags after each of them."""
        trace, names = output["trace"], self.tag_head.labels
        steps = []
        for step in range(trace.attention.size(1)) if trace.output_after else ():
            states = trace.output_after(step)
            tag_ids, table, _ = self.predict(self.tag_head.scores(states), output["mask"])
            steps.append((tag_ids, table.gather(-1, tag_ids.unsqueeze(-1)).squeeze(-1)))
        arrays = [torch.stack(each, 1).cpu().numpy() for each in zip(*steps)]
        attention = trace.attention.float().cpu().numpy()  # (batch, rows, tokens), like the arrays
        traces = []
        for i, (rows, labels) in enumerate(zip(trace.num_rows.tolist(), tags)):
            cut = (i, slice(rows), slice(len(labels)))
            decisions = [array[cut] for array in arrays]
            traces.append(sentence_trace(words[i], labels, attention[cut], names, *decisions))
        return traces

    @property
    def needs_square_memory(self) -> bool:
        """Whether memory grows with the square of the length of a sentence, even without a trace."""
        parts = [part for each in (self.encoder, self.decoder) if each for part in parts_of(each)]
        return any(getattr(part, "needs_square_memory", False) for part in parts)

    @classmethod
    def from_params(
        cls,
        params: Params,
        constructor_to_call: Any = None,
        constructor_to_inspect: Any = None,
        **extras: Any,
    ) -> "NefTagger":
        """Builds a tagger. A null input dimension of a part becomes the output dimension of the part before it."""
        dim = 0
        for name, kind in cls.parts.items():
            options = params.get(name)
            if options is not None:
                _fill_in(options, dim)
                extras[name] = pop_and_construct_arg(name, name, kind, None, params, **extras)
                dim = extras[name].get_output_dim()
        return super().from_params(params, constructor_to_call, constructor_to_inspect, **extras)


def named_scores(metric: Metric, value: Any, labels: Sequence[str]) -> dict[str, float]:
    """Names the scores of a metric: AllenNLP's metrics return a number, or a dict of numbers and lists."""
    if not isinstance(value, dict):
        value = {re.sub("(?<!^)(?=[A-Z])", "_", type(metric).__name__).lower(): value}
    scores: dict[str, float] = {}
    for name, score in value.items():
        if isinstance(score, list):  # one for each label, or for each in the `labels` option
            chosen = getattr(metric, "_labels", None) or range(len(score))
            scores |= {f"{name}-{labels[index]}": each for index, each in zip(chosen, score)}
        else:
            scores[name] = score
    return scores


def _fill_in(options: Any, dim: int) -> None:
    """Replaces a null `input_dim` or `input_size` of an encoder, or of the first encoder that `compose` joins.

    # Raises

    `ConfigurationError`: it is another number.
    """
    if isinstance(options, Params):
        options = options.get("encoders", [options])[0]
        for name in ("input_dim", "input_size"):
            if name in options and options.get(name) is None:
                options[name] = dim
            elif dim and options.get(name, dim) != dim:
                raise ConfigurationError(
                    f"{name}: expected {dim}, the dimension of the layer below, or null, got {options[name]!r}"
                )
