"""The base class of tagger predictors: attention, traces and the probabilities of all labels."""

from typing import Any, ClassVar

from allennlp.common.checks import ConfigurationError
from allennlp.common.util import JsonDict
from allennlp.data import Instance
from allennlp.data.fields import FlagField
from allennlp.models import Model
from allennlp.modules.seq2seq_encoders import PassThroughEncoder

from allennlp_nef.data.dataset_readers.base import NefDatasetReader
from allennlp_nef.data.fields import TagsField
from allennlp_nef.errors import UserError
from allennlp_nef.figures.tag_colors import tag_colors
from allennlp_nef.models.nef_tagger import NefTagger
from allennlp_nef.modules.seq2seq_encoders.traced_encoder import TracedEncoder, parts_of
from allennlp_nef.modules.tag_heads import CrfTagHead
from allennlp_nef.modules.traces import SentenceTrace
from allennlp_nef.pages.document import frame_of
from allennlp_nef.predictors.base import Item, NefPredictor
from allennlp_nef.pretrained.word_pieces import PretrainedTransformer


class ShownTrace(SentenceTrace):
    """The trace of a sentence. Notebooks show it as a page that replays the steps."""

    def __init__(self, trace: SentenceTrace, answer: JsonDict, description: JsonDict) -> None:
        super().__init__(**vars(trace))
        self._answer, self._description = answer, description

    def plot(self) -> Any:
        """Returns the heat map of the attention, a matplotlib figure. Needs the `plot` extra."""
        from allennlp_nef.figures._heat_maps import heat_map

        return heat_map([self._answer], [self._description])

    def _repr_html_(self) -> str:
        return frame_of(self._answer, self._description)


class TaggingPredictor(NefPredictor):
    """Base class of tagger predictors, with attention, traces and the probabilities of all labels.

    Works with the saliency interpreters of `allennlp.interpret`: they explain the predicted tags of a sentence.

    # Parameters

    model : `NefTagger`
    dataset_reader : `NefDatasetReader`
    attention, trace, label_probabilities : `bool`, optional (default = `False`)
        Whether answers include them by default. The fields of a request take precedence.
    output_format, input_format, on_error, keep_fields, max_tokens, batch_size
        See `NefPredictor`.
    """

    _model: NefTagger
    tagged_field: ClassVar[str] = "tokens"
    """The text field whose words are tagged."""

    def __init__(
        self,
        model: Model,
        dataset_reader: NefDatasetReader,
        attention: bool = False,
        trace: bool = False,
        label_probabilities: bool = False,
        **options: Any,
    ) -> None:
        super().__init__(model, dataset_reader, **options)
        self.set_options(attention=attention, trace=trace, label_probabilities=label_probabilities)

    def set_options(self, **options: Any) -> None:
        """Sets the defaults for request options. Raises a `ConfigurationError` for wrong values."""
        for name, value in options.items():
            is_valid, expected = self.fields[name]
            if value is not None and not is_valid(value):
                raise ConfigurationError(f"{name}: expected {expected}, got {value!r}")
        self.options |= options

    def description(self) -> JsonDict:
        """Returns the description of the model: `task`; `title`, such as "NEF-F csoftmax, N = 5"; the name of the
        `pretrained_encoder`, or null; `labels` and their `colors`; `step_name`, what a row of a trace is, or null if
        the model has no trace; and `max_tokens`."""
        labels = self._model.tag_head.labels
        return {
            **super().description(),
            "title": title_of(self._model),
            "pretrained_encoder": pretrained_encoder_of(self._model),
            "labels": labels,
            "colors": tag_colors(labels),
            "step_name": step_name_of(self._model),
        }

    def to_answer(self, output: dict[str, Any], item: Item) -> JsonDict:
        """Returns the requested `label_probabilities`, `attention` and `trace`; the last two can be null."""
        answer: JsonDict = {}
        if item.options["label_probabilities"]:
            columns = output["class_probabilities"].T.tolist()
            answer["label_probabilities"] = dict(zip(self._model.tag_head.labels, columns))
        if item.options["attention"]:
            answer["attention"] = output.get("attention")
        if item.options["trace"]:
            trace = output.get("trace")
            answer["trace"] = None if trace is None else trace.to_json()
        return answer

    def prepare(self, item: Item) -> Instance:
        instance = super().prepare(item)
        if item.is_traced:
            instance.add_field("trace", FlagField(True))
        return instance

    def _trace_of(self, request: JsonDict) -> ShownTrace:
        """Returns the trace for a request. Raises a `UserError` if the model has none."""
        answer: Any = self.predict_json({**request, "trace": True})
        if answer.trace is None:
            raise UserError(f"trace: the model {title_of(self._model)} does not have one")
        return ShownTrace(answer.trace, answer, self.description())

    def predictions_to_labeled_instances(
        self, instance: Instance, outputs: dict[str, Any]
    ) -> list[Instance]:
        labeled = instance.duplicate()
        words: Any = labeled[self.tagged_field]
        tags = TagsField(list(outputs["tags"]), words, self._dataset_reader.label_namespace)
        labeled.add_field("tags", tags, self._model.vocab)
        return [labeled]


def step_name_of(model: NefTagger) -> str | None:
    """Returns what a row of the trace is called; None if the tagger has no trace."""
    last = parts_of(model.decoder or model.encoder)[-1]
    return last.step_name if isinstance(last, TracedEncoder) else None


def pretrained_encoder_of(model: NefTagger) -> str | None:
    """Returns the name of the pretrained encoder of a tagger; None if it has none."""
    parts = (part for part in model.modules() if isinstance(part, PretrainedTransformer))
    return next((part.name for part in parts), None)


def title_of(model: NefTagger) -> str:
    """Returns the name of a tagger, such as "NEF-F csoftmax, N = 5 + CRF" or "multilingual-e5-small + linear"."""
    last = parts_of(model.decoder or model.encoder)[-1]
    has_crf = isinstance(model.tag_head, CrfTagHead)
    encoder = pretrained_encoder_of(model)
    if isinstance(last, PassThroughEncoder) and encoder is not None:
        return f"{encoder} + {'CRF' if has_crf else 'linear'}"
    name = type(last).__name__.split("Seq2Seq")[0]
    if isinstance(last, TracedEncoder):
        name = last.title
    return f"{name} + CRF" if has_crf else name
