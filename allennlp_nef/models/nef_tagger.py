from typing import Any, Dict, List, Optional

import torch
from allennlp.common import Lazy
from allennlp.common.checks import ConfigurationError, check_dimensions_match
from allennlp.data import Vocabulary
from allennlp.models import Model
from allennlp.modules.seq2seq_encoders import Seq2SeqEncoder
from allennlp.nn import InitializerApplicator
from allennlp.training.metrics import Metric
from overrides import overrides

from allennlp_nef.data.metadata import TaggingMetadata
from allennlp_nef.metrics import TagAccuracy
from allennlp_nef.modules.input_representations import InputRepresentation
from allennlp_nef.modules.seq2seq_encoders import TracedEncoder
from allennlp_nef.modules.tag_heads import SoftmaxTagHead, TagHead


@Model.register("nef_tagger")
class NefTagger(Model):
    """A sequence tagger: input representation, encoder, neural easy-first decoder, tag head.

    Martins & Kreutzer, "Learning What's Easy: Fully Differentiable Neural Easy-First Taggers" (EMNLP 2017). Without a
    decoder it is the paper's baseline, a BiLSTM tagger. Registered as a `Model` with name "nef_tagger".

    # Parameters

    vocab : `Vocabulary`
    input_representation : `InputRepresentation`
        Which input fields there are, and what a word's vector is made of.
    encoder : `Seq2SeqEncoder`
        Gives the states h.
    decoder : `Seq2SeqEncoder`, optional (default = `None`)
        `neural_easy_first`, or any other. The trace that a caller may ask for is that of a `TracedEncoder`.
    tag_head : `TagHead`, optional (default = `softmax`)
    dropout : `float`, optional (default = `0.0`)
        In [0, 1): of the input vectors, and of h. The decoder's own is of [h; s^N].
    metrics : `List[Metric]`, optional (default = `[tag_accuracy]`)
        Called with predicted tags, gold tags and mask.
    label_namespace : `str`, optional (default = `"labels"`)
    initializer : `InitializerApplicator`, optional
    """

    default_predictor = "word_qe"

    def __init__(
        self,
        vocab: Vocabulary,
        input_representation: InputRepresentation,
        encoder: Seq2SeqEncoder,
        decoder: Optional[Seq2SeqEncoder] = None,
        tag_head: Lazy[TagHead] = Lazy(SoftmaxTagHead),
        dropout: float = 0.0,
        metrics: Optional[List[Lazy[Metric]]] = None,
        label_namespace: str = "labels",
        initializer: InitializerApplicator = InitializerApplicator(),
        **kwargs: Any,
    ) -> None:
        super().__init__(vocab, **kwargs)
        check_dimensions_match(
            input_representation.get_output_dim(),
            encoder.get_input_dim(),
            "dimension of input_representation",
            "input dimension of encoder",
        )
        states_dim = encoder.get_output_dim()
        if decoder is not None:
            check_dimensions_match(
                states_dim,
                decoder.get_input_dim(),
                "output dimension of encoder",
                "input dimension of decoder",
            )
            states_dim = decoder.get_output_dim()
        if not 0 <= dropout < 1:
            raise ConfigurationError(f"dropout: expected a number in [0, 1), got {dropout}")
        if not vocab.get_vocab_size(label_namespace):
            raise ConfigurationError(
                f"label_namespace: no label is known in {label_namespace!r}; the training data hold no tags, or the "
                "reader puts them in another namespace"
            )
        self.input_representation = input_representation
        self.encoder = encoder
        self.decoder = decoder
        self.label_namespace = label_namespace
        self.dropout = torch.nn.Dropout(dropout)
        self.tag_head = tag_head.construct(
            input_dim=states_dim, vocab=vocab, label_namespace=label_namespace
        )
        self.metrics = [
            metric.construct(vocab=vocab, label_namespace=label_namespace)
            for metric in metrics or [Lazy(TagAccuracy)]
        ]
        initializer(self)

    @overrides(check_signature=False)
    def forward(
        self,
        tags: Optional[torch.Tensor] = None,
        metadata: Optional[List[Any]] = None,
        **inputs: Any,
    ) -> Dict[str, Any]:
        """
        # Parameters

        tags : `torch.LongTensor`, (batch, tokens), optional (default = `None`)
            The gold labels, where known.
        metadata : `List[TaggingMetadata]`, optional (default = `None`)
            Whose `keep_trace` asks for the trace of an instance. What other readers put there is passed on.
        inputs
            The fields that the input representation takes.

        # Returns

        `Dict[str, Any]`
            - `tag_ids`: (batch, tokens), the predicted labels.
            - `mask`: (batch, tokens), bool.
            - `probabilities`: (batch, tokens, labels); not while training.
            - `loss`: scalar, if `tags` are given.
            - `metadata`, if given.
            - `trace`: the decoder's, if any instance wants it and the decoder keeps one.
        """
        if self.training and tags is None:
            raise ConfigurationError(
                "tags: expected gold tags in the training data, got sentences without any; do the files of "
                "train_data_path have them?"
            )
        vectors, mask = self.input_representation(**inputs)
        padding = ~mask.unsqueeze(-1)  # (batch, tokens, 1)
        states = self.encoder(self.dropout(vectors.masked_fill(padding, 0)), mask)
        states = self.dropout(states.masked_fill(padding, 0))
        output: Dict[str, Any] = {"mask": mask}
        if isinstance(self.decoder, TracedEncoder):
            wants_trace = any(map(_wants_trace, metadata or []))
            states, trace = self.decoder.encode(
                states, mask, keep_trace=wants_trace, tag_scorer=self.tag_head.scores
            )
            if trace is not None:
                output["trace"] = trace
        elif self.decoder is not None:
            states = self.decoder(states, mask)
        scores = self.tag_head.scores(states)
        if tags is not None:
            output["loss"] = self.tag_head.loss(scores, mask, tags)
        with torch.no_grad():
            output["tag_ids"] = self.tag_head.decode(scores, mask)
            if not self.training:
                output["probabilities"] = self.tag_head.probabilities(scores, mask)
        if tags is not None:
            for metric in self.metrics:
                metric(output["tag_ids"], tags, mask)
        if metadata is not None:
            output["metadata"] = metadata
        return output

    @overrides(check_signature=False)
    def make_output_human_readable(self, output_dict: Dict[str, Any]) -> Dict[str, Any]:
        """One entry an instance, each as long as its sentence.

        `tokens` (where the metadata have them), `tags` (the labels), `probabilities` (label -> probability, for each
        word), `metadata`; and `attention` (steps x tokens, or None where the trace was not wanted) if there is a trace.
        """
        names = self.vocab.get_index_to_token_vocabulary(self.label_namespace)
        lengths = output_dict["mask"].sum(-1).tolist()
        rows = zip(output_dict["tag_ids"].tolist(), lengths)
        readable: Dict[str, Any] = {
            "tags": [[names[tag] for tag in row[:length]] for row, length in rows]
        }
        if "probabilities" in output_dict:
            table = zip(output_dict["probabilities"].float().tolist(), lengths)
            readable["probabilities"] = [
                [{names[i]: p for i, p in enumerate(word)} for word in words[:length]]
                for words, length in table
            ]
        if "metadata" in output_dict:
            readable["metadata"] = output_dict["metadata"]
        if all(isinstance(item, TaggingMetadata) for item in output_dict.get("metadata", [None])):
            readable["tokens"] = [item.tokens for item in output_dict["metadata"]]
        if "trace" in output_dict:
            trace = output_dict["trace"]
            readable["attention"] = [
                trace.attention[i, : trace.num_steps[i], :length].tolist()
                if _wants_trace(item)
                else None
                for i, (item, length) in enumerate(zip(output_dict["metadata"], lengths))
            ]
        return readable

    @overrides
    def get_metrics(self, reset: bool = False) -> Dict[str, float]:
        scores: Dict[str, float] = {}
        for metric in self.metrics:
            scores.update(metric.get_metric(reset))
        return scores


def _wants_trace(metadata: Any) -> bool:
    return isinstance(metadata, TaggingMetadata) and metadata.keep_trace
