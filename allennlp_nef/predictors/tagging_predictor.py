from typing import Any, cast

from allennlp.common.checks import ConfigurationError
from allennlp.common.util import JsonDict
from allennlp.data import Instance
from allennlp.models import Model
from overrides import overrides

from allennlp_nef.data.dataset_readers import Prediction, TaggingReader
from allennlp_nef.data.metadata import TaggingMetadata
from allennlp_nef.figures.display import Display
from allennlp_nef.models import NefTagger
from allennlp_nef.models.base import options_of, with_options
from allennlp_nef.modules.traces import ReadableTrace
from allennlp_nef.predictors.base import Answer, CheckedPredictor
from allennlp_nef.predictors.interpretation import InterpretablePredictor
from allennlp_nef.predictors.requests import decode_options, read_json, request_error
from allennlp_nef.predictors.tag_colors import tag_colors


class TaggingPredictor(InterpretablePredictor, CheckedPredictor):
    """Base class of the predictors of taggers: attention, traces, limits of the steps.

    What `parse` returns has `options`, and `sides`: the words that are tagged, and those of a source sentence.

    # Parameters

    model : `Model`
    dataset_reader : `DatasetReader`
    attention : `bool`, optional (default = `False`)
        Whether every answer has the attention, asked for or not.
    trace : `bool`, optional (default = `False`)
        Whether every answer has the trace, asked for or not.
    max_steps : `int`, optional (default = `None`)
        At least 1: the largest number of steps of `neural_easy_first`, for requests that have none.
    halting : `dict[str, Any]`, optional (default = `None`, the model's)
        A `Halting`, such as `{"type": "settled", "threshold": 0.9}`, for requests that have none.
    output_format, max_tokens, batch_size, on_error
        See `CheckedPredictor`.
    max_batch : `int`, optional (default = `1000`)
        At least 1. The limit for the requests of a list. The limit for the words of a list is 50 times this. Where
        attention or traces are asked for, the squares of the sentences' lengths may add up to the square of
        `max_tokens`.
    """

    _model: NefTagger
    _dataset_reader: TaggingReader
    gold_fields = ("tags", "sentence_score")
    method = "allennlp_nef"
    """The name of the method, in output formats that have one."""
    language_pair: str | None = None
    header: tuple[int, ...] = ()
    """See `Prediction`."""

    def __init__(
        self,
        model: Model,
        dataset_reader: TaggingReader,
        attention: bool = False,
        trace: bool = False,
        max_steps: int | None = None,
        halting: dict[str, Any] | None = None,
        **options: Any,
    ) -> None:
        if not isinstance(model, NefTagger):
            raise ConfigurationError(
                f"model: this predictor expects nef_tagger, got {type(model).__name__}"
            )
        super().__init__(model, dataset_reader, **options)
        values = {"attention": attention, "trace": trace, "max_steps": max_steps}
        self.options = decode_options({**values, "halting": halting}, self._model)
        """Those of requests that have none."""
        if self.output_format != "json" and (attention or trace):
            raise ConfigurationError(
                f"attention, trace: expected output_format json, which has them, got {self.output_format}"
            )

    def instance_of_line(self, line: str, where: str) -> Instance:
        """The instance of a line that holds a request. Raises `request_error`, its message after `where`."""
        request = read_json(line, where)
        return self._instance_of(request, self.parse(request, where))

    @overrides
    def prediction_of(self, outputs: JsonDict, number: int) -> Prediction:
        metadata = outputs.metadata if isinstance(outputs, Answer) else TaggingMetadata([])
        return Prediction(
            *(number, outputs["tokens"], outputs["tags"], metadata.tags, metadata.sentence),
            *(self.method, self.language_pair, self.header, metadata.text, outputs),
        )

    @overrides
    def description(self) -> JsonDict:
        """What the model is, as a JSON object.

        `task`; `title`, such as "NEF-F csoftmax, N = 5"; `labels`; `colours`, one for each label; `step_name`, what a
        row of a trace is, or null where the model has no trace; `max_tokens` and `max_batch`, the limits of a request;
        `threshold`, the probability of BAD from which on a word is tagged so, or null where there is no such number;
        `examples`, requests from the validation data of the model, or null where the archive has none.
        """
        return {
            **super().description(),
            "title": self._model.title,
            "labels": self._model.tag_head.labels,
            "colours": tag_colors(self._model.tag_head.labels),
            "step_name": self._model.step_name,
            "threshold": self.options.threshold or self._model.tag_decoder.threshold,
            "examples": self._dataset_reader.saved_examples,
        }

    @overrides
    def _check_size(self, requests: list[Any]) -> None:
        super()._check_size(requests)
        # A sentence has at most as many steps as words: an array of its trace has at most this many numbers.
        always = self.options.is_traced
        traced = [item for item in requests if always or item.options.is_traced]
        size = sum(len(item.sides[0]) ** 2 for item in traced)
        if size > self.max_tokens**2:
            raise request_error(
                "attention, trace: expected sentences the squares of whose lengths add up to at most "
                f"{self.max_tokens**2}, got {size}"
            )

    def _trace_of(self, request: JsonDict) -> ReadableTrace:
        """The trace for a request. Raises `ConfigurationError` where the model has none."""
        instance = self._prepared(self._json_to_instance({**request, "trace": True}))
        (answer,) = self._answers([instance])
        if answer.trace is None:
            raise ConfigurationError(
                "trace: expected a model with neural_easy_first, label_attention or position_aware_self_attention, "
                "got one that keeps no trace"
            )
        description = {**self.description(), "examples": None}
        answer.trace.display = Display(answer, description)
        return answer.trace

    @overrides
    def _prepared(self, instance: Instance) -> Instance:
        """The instance with its token indexers, and with the options of the predictor where it has none."""
        options = options_of(instance).with_defaults(self.options)
        return with_options(super()._prepared(instance), options)

    @overrides
    def _answer(self, instance: Instance, output: dict[str, Any]) -> Answer:
        answer = super()._answer(instance, output)
        if output.get("steps") is not None:
            answer["steps"] = output["steps"]
        if output["options"].attention:
            answer["attention"] = output.get("attention")
        if output["options"].trace:
            answer.trace = trace = cast(ReadableTrace | None, output.get("trace"))
            answer["trace"] = None if trace is None else trace.to_json()
        return answer
