"""The predictor for tagged sentences, and the base class of all predictors that tag words."""

from collections.abc import Mapping
from functools import partial
from typing import Any, ClassVar

from allennlp.common import Params
from allennlp.common.checks import ConfigurationError
from allennlp.common.util import JsonDict
from allennlp.data import Instance
from allennlp.data.fields import FlagField
from allennlp.data.tokenizers import Tokenizer
from allennlp.models import Model
from allennlp.modules.seq2seq_encoders import PassThroughEncoder
from allennlp.predictors import Predictor

from allennlp_nef.data.dataset_readers.base import NefDatasetReader, SentenceReader
from allennlp_nef.data.fields import TagsField
from allennlp_nef.data.tokenizers import split_text
from allennlp_nef.errors import UserError
from allennlp_nef.figures.tag_colors import tag_colors
from allennlp_nef.models.nef_tagger import NefTagger
from allennlp_nef.modules.seq2seq_encoders.traced_encoder import TracedEncoder, parts_of
from allennlp_nef.modules.tag_heads import CrfTagHead
from allennlp_nef.modules.traces import SentenceTrace
from allennlp_nef.pages.document import frame_of
from allennlp_nef.predictors.answers import ANSWER, REQUEST, sentence_of, tagger_answer
from allennlp_nef.predictors.base import Item, NefPredictor
from allennlp_nef.predictors.requests import Check
from allennlp_nef.pretrained.word_pieces import PretrainedTransformer


class ShownTrace(SentenceTrace):
    """The trace of a sentence. Notebooks show it as a page that replays the steps."""

    def __init__(self, trace: SentenceTrace, answer: JsonDict, description: JsonDict) -> None:
        super().__init__(**vars(trace))
        self._answer, self._description = answer, description

    def plot(self) -> Any:
        """Returns the heat map of the attention, a matplotlib figure. Needs the `plot` extra."""
        from allennlp_nef.figures._heat_maps import heat_map

        return heat_map(self._answer, self._description)

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
    answer_fields: Mapping[str, Any]
    """The fields of answers with their types, as in `answers.ANSWER`."""
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
        the model has no trace; `answer_fields`, the names of the fields of answers; and `max_tokens`."""
        labels = self._model.tag_head.labels
        return {
            **super().description(),
            "title": title_of(self._model),
            "pretrained_encoder": pretrained_encoder_of(self._model),
            "labels": labels,
            "colors": tag_colors(labels),
            "step_name": step_name_of(self._model),
            "answer_fields": [*self.answer_fields],
        }

    def with_trace(self, answer: JsonDict, item: Item) -> JsonDict:
        """Adds the requested `attention` and `trace` to an answer; they are null if the model has none."""
        trace = item.output.get("trace")
        if item.options["attention"]:
            answer["attention"] = None if trace is None else trace.attention.tolist()
        if item.options["trace"]:
            answer["trace"] = None if trace is None else trace.to_json()
        return answer

    def prepare(self, item: Item) -> Instance:
        instance = super().prepare(item)
        if item.is_traced:
            instance.add_field("trace", FlagField(True))
        return instance

    def _trace_of(self, request: JsonDict) -> ShownTrace:
        """Returns the trace for a request. Raises a `UserError` if the model has none."""
        item = self.item_of({**request, "trace": True})
        (answer,) = self.answers([item])
        if item.output.get("trace") is None:
            raise UserError(f"trace: the model {title_of(self._model)} does not have one")
        return ShownTrace(item.output["trace"], answer, self.description())

    def predictions_to_labeled_instances(
        self, instance: Instance, outputs: dict[str, Any]
    ) -> list[Instance]:
        labeled = instance.duplicate()
        words: Any = labeled[self.tagged_field]
        tags = TagsField(list(outputs["tags"]), words, self._dataset_reader.label_namespace)
        labeled.add_field("tags", tags, self._model.vocab)
        return [labeled]


@Predictor.register("nef_tagger")
class NefTaggerPredictor(TaggingPredictor):
    """Tags sentences with parts of speech, named entities, or whatever the model was trained on.

    A request is a JSON object:

        {"sentence": "Anna met Paul in Rome .", "attention": true}

    It has either `sentence`, raw text that the tokenizer splits, or `tokens`, a list of words.
    `attention`, `trace`, `label_probabilities` and `min_probability` are optional and take precedence over the options
    of the predictor.

    The answer has `tokens`, `tags` and the `probabilities` of the tags, and, if the labels are chunk tags, `spans`,
    each with `start` and `end` (characters of the sentence, or of the words joined by spaces if they are a list),
    `type`, `text` and `probability`. The answer to a `sentence` has `offsets`, the start and end of each word. If
    requested, the answer has `label_probabilities` (for each label, its probability for each word), `attention` (steps
    or words x words) and `trace` (a `SentenceTrace` as an object); the last two are `null` if the model has none.

    With `min_probability`, spans with a lower probability are left out, and their words are tagged O with the
    probability of O; the trace still has them. If the labels are not chunk tags, the answer has `uncertain`, the
    indices of the words whose tags have a lower probability.

    # Parameters

    model : `NefTagger`
    dataset_reader : `SentenceReader`
    min_probability : `float`, optional (default = `None`)
        From 0 to 1.
    tokenizer : `str` or `dict[str, Any]`, optional (default = `None`, the tokenizer of the dataset reader)
        The registered name of a `Tokenizer`, such as "just_spaces", or its options, such as `{"type": "sacremoses",
        "language": "de"}`.
    attention, trace, label_probabilities, output_format, input_format, on_error, keep_fields, max_tokens, batch_size
        See `TaggingPredictor` and `NefPredictor`. The output format "conll" has columns as `conlleval` reads them
        (with `-d '\\t'` if tabs separate them); "conllu" is the input file with the predicted tags.
    """

    _dataset_reader: SentenceReader
    text_field = "sentence"
    fields: Mapping[str, Check] = REQUEST

    def __init__(
        self,
        model: Model,
        dataset_reader: SentenceReader,
        min_probability: float | None = None,
        tokenizer: str | dict[str, Any] | None = None,
        **options: Any,
    ) -> None:
        super().__init__(model, dataset_reader, **options)
        self.task = "chunks" if self._model.has_chunks else "tags"
        other = "uncertain" if self._model.has_chunks else "spans"
        self.answer_fields = {name: kind for name, kind in ANSWER.items() if name != other}
        self.set_options(min_probability=min_probability)
        self.tokenizer = dataset_reader.tokenizer
        if tokenizer is not None:
            params = {"type": tokenizer} if isinstance(tokenizer, str) else dict(tokenizer)
            self.tokenizer = Tokenizer.from_params(Params(params))

    def predict(self, sentence: str | list[str], **options: Any) -> JsonDict:
        """Returns the answer to a sentence (raw text, or a list of words) and the options of a request."""
        return self.predict_json({**self.request_of(sentence), **options})

    def trace(self, sentence: str | list[str]) -> ShownTrace:
        """Returns how the model tagged a sentence, step by step. Raises a `UserError` if it has no trace."""
        return self._trace_of(self.request_of(sentence))

    def request_of(self, value: Any) -> JsonDict:
        return (
            {"tokens": [*value]} if isinstance(value, list | tuple) else super().request_of(value)
        )

    def to_item(self, request: dict[str, Any]) -> Item:
        split = partial(split_text, tokenizer=self.tokenizer)
        sentence = sentence_of(request, split, self.max_tokens)
        return Item(self._dataset_reader.to_instance(sentence))

    def to_answer(self, output: dict[str, Any], item: Item) -> JsonDict:
        answer = tagger_answer(
            item.record,
            output["tag_ids"],
            output["class_probabilities"],
            output["next_probabilities"],
            self._model.tag_head.labels,
            item.options["min_probability"],
            item.options["label_probabilities"],
        )
        return self.with_trace(answer, item)


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
