import json
from typing import Any, Dict, Iterable, Iterator, List, Optional, Sequence, Tuple, cast

from allennlp.common.checks import ConfigurationError
from allennlp.common.util import JsonDict
from allennlp.data import Instance
from allennlp.models import Model
from overrides import overrides

from allennlp_nef.data.dataset_readers import TaggingReader
from allennlp_nef.data.metadata import TaggingMetadata, metadata_of
from allennlp_nef.data.writers import Prediction
from allennlp_nef.figures.display import Display
from allennlp_nef.models import NefTagger
from allennlp_nef.models.tagging.description import description_of
from allennlp_nef.modules.checks import check_integers
from allennlp_nef.modules.traces import ReadableTrace
from allennlp_nef.predictors.batches import batches_of
from allennlp_nef.predictors.errors import request_error
from allennlp_nef.predictors.interpretation import InterpretablePredictor
from allennlp_nef.predictors.lines import LoadedRequest, SkippedLines, load_request
from allennlp_nef.predictors.output_formats import writer_of
from allennlp_nef.predictors.requests import asks_for_description, check_list
from allennlp_nef.predictors.step_limits import StepLimits
from allennlp_nef.predictors.tag_colors import tag_colors

WORDS_PER_ITEM = 50
"""A list of requests has at most this many words times `max_batch`."""


class Answer(Dict[str, Any]):
    """The answer for a sentence: a JSON object, with the metadata of the sentence and the trace, where it is wanted."""

    metadata: TaggingMetadata
    trace: Optional[ReadableTrace] = None


class TaggingPredictor(InterpretablePredictor):
    """Base class of this package's predictors: checked requests, batches, output formats.

    A request that cannot be answered raises a `ValueError` that names the field and, in a list of requests, the item,
    from 0; `allennlp serve` answers it with status 400. Implement `task`, `parse`, `to_instance` and `to_answer`.

    The answer to the request `{"describe": true}` is the `description`, which a page for the model needs.

    # Parameters

    model : `Model`
    dataset_reader : `DatasetReader`
    output_format : `str`, optional (default = `"json"`)
        What `allennlp predict` writes: "json", an object a line, or one of the reader's `writers`.
    attention : `bool`, optional (default = `False`)
        Whether every answer has the attention, asked for or not.
    trace : `bool`, optional (default = `False`)
        Whether every answer has the trace, asked for or not.
    max_tokens : `int`, optional (default = `1000`)
        At least 1. The limit for the words of a request. The limit for its characters is 1000 times this, each word
        counted as long as the longest one. There is no limit for what a dataset reader reads.
    max_batch : `int`, optional (default = `1000`)
        At least 1. The limit for the requests of a list. The limit for the words of a list is 50 times this. Where
        attention or traces are asked for, the squares of the sentences' lengths may add up to the square of
        `max_tokens`.
    batch_size : `int`, optional (default = `64`)
        At least 1. How many sentences go through the model at once; fewer where they are long.
    on_error : `str`, optional (default = `"stop"`)
        What `allennlp predict` does with a line of JSON that cannot be answered. "stop": an error, and no further
        answers. "skip": an object `{"error": "request 3: ..."}` in place of the answer, and a warning; so there are as
        many lines of output as requests. "skip" needs the output format "json". It changes nothing for requests that
        come from Python or a server, nor for what a dataset reader reads.
    max_steps : `int`, optional (default = `None`)
        At least 1: the largest number of steps of `neural_easy_first`, for requests that have none.
    halting : `Dict[str, Any]`, optional (default = `None`, the model's)
        A `Halting`, such as `{"type": "settled", "threshold": 0.9}`, for requests that have none.
    """

    _model: NefTagger
    _dataset_reader: TaggingReader
    method = "allennlp_nef"
    """The name of the method, in output formats that have one."""
    threshold: Optional[float] = None
    """Of the probability of BAD, for requests that have none; None for the model's."""
    min_probability: Optional[float] = None
    """The `min_probability` of requests that have none."""
    language_pair: Optional[str] = None
    header: Tuple[int, ...] = ()
    """See `Prediction`."""

    def __init__(
        self,
        model: Model,
        dataset_reader: TaggingReader,
        output_format: str = "json",
        attention: bool = False,
        trace: bool = False,
        max_tokens: int = 1000,
        max_batch: int = 1000,
        batch_size: int = 64,
        on_error: str = "stop",
        max_steps: Optional[int] = None,
        halting: Optional[Dict[str, Any]] = None,
    ) -> None:
        super().__init__(model, dataset_reader)
        dataset_reader.use_no_weights()
        self._writer = writer_of(dataset_reader, output_format)
        check_integers(max_tokens=max_tokens, max_batch=max_batch, batch_size=batch_size)
        for name, wanted in (("attention", attention), ("trace", trace)):
            if not isinstance(wanted, bool):
                raise ConfigurationError(f"{name}: expected true or false, got {wanted!r}")
        if output_format != "json" and (attention or trace):
            raise ConfigurationError(
                f"attention, trace: expected output_format json, which has them, got {output_format}"
            )
        if on_error not in ("stop", "skip"):
            raise ConfigurationError(f"on_error: expected stop or skip, got {on_error!r}")
        if output_format != "json" and on_error == "skip":
            raise ConfigurationError(
                f"on_error: expected output_format json, in which an error can take the place of an answer, got "
                f"{output_format}"
            )
        self._skipped = SkippedLines() if on_error == "skip" else None
        self.step_limits = StepLimits.of_options(self._model, max_steps, halting)
        self.output_format = output_format
        self.attention = attention
        self.always_trace = trace
        self.max_tokens = max_tokens
        self.max_batch = max_batch
        self.batch_size = batch_size
        self._requests_loaded = self._sentences_dumped = 0

    @property
    def task(self) -> str:
        """The task of the model: "word_qe", "chunks" (such as entities) or "tags"."""
        raise NotImplementedError

    def parse(self, request: Any, where: str = "") -> Any:
        """The checked parts of a request, decoded from JSON. Raises `request_error`, its message after `where`.

        They have `attention` and `trace`, and `sides`: the words that are tagged, and those of a source sentence.
        """
        raise NotImplementedError

    def to_instance(self, request: Any) -> Instance:
        """The instance of a request that `parse` returned."""
        raise NotImplementedError

    def to_answer(self, output: Dict[str, Any]) -> JsonDict:
        """The answer, from the readable output of the model for a sentence."""
        raise NotImplementedError

    @overrides
    def load_line(self, line: str) -> JsonDict:
        """The request of a line. It is checked here, where its number is known; blank lines do not count."""
        self._requests_loaded += 1
        load = load_request if self._skipped is None else self._skipped.load
        return load(line, self.parse, f"request {self._requests_loaded}: ")

    def instance_of_line(self, line: str, where: str) -> Instance:
        """The instance of a line that holds a request. Raises `request_error`, its message after `where`."""
        return self._json_to_instance(load_request(line, self.parse, where))

    def _parsed(self, request: Any, where: str = "") -> Any:
        """The parts of a request, which is checked unless `load_line` has done so."""
        return request.parsed if isinstance(request, LoadedRequest) else self.parse(request, where)

    @overrides
    def dump_line(self, outputs: JsonDict) -> str:
        self._sentences_dumped += 1
        return self.dump(outputs, self._sentences_dumped - 1)

    def dump(self, outputs: JsonDict, number: int) -> str:
        """An answer in the output format, as sentence `number`, from 0, of the output."""
        if self._writer is None:
            return json.dumps(outputs) + "\n"
        metadata = outputs.metadata if isinstance(outputs, Answer) else TaggingMetadata([])
        prediction = Prediction(
            *(number, outputs["tokens"], outputs["tags"], metadata.tags, metadata.sentence),
            *(self.method, self.language_pair, self.header, metadata.text, outputs),
        )
        text = self._writer(self._dataset_reader, prediction)
        return text.encode("utf-8", "backslashreplace").decode("utf-8")

    def description(self) -> JsonDict:
        """What the model is, as a JSON object.

        `task`; `title`, such as "NEF-F csoftmax, N = 5"; `labels`; `colours`, one for each label; `step_name`, what a
        row of a trace is, or null where the model has no trace; `max_tokens` and `max_batch`, the limits of a request;
        `threshold`, the probability of BAD from which on a word is tagged so, or null where there is no such number;
        `examples`, requests from the validation data of the model, or null where the archive has none.
        """
        description = description_of(self._model)
        return {
            "task": self.task,
            "title": description.title,
            "labels": description.labels,
            "colours": tag_colors(description.labels),
            "step_name": description.step_name,
            "max_tokens": self.max_tokens,
            "max_batch": self.max_batch,
            "threshold": self.threshold or self._model.tag_head.threshold,
            "examples": self._dataset_reader.saved_examples,
        }

    @overrides
    def predict_json(self, inputs: JsonDict) -> JsonDict:
        if asks_for_description(inputs):
            return self.description()
        if self._skipped is not None and isinstance(inputs, LoadedRequest):
            return self._skipped.answers([inputs], self._predict_list)[0]
        return super().predict_json(inputs)

    @overrides
    def predict_batch_json(self, inputs: List[JsonDict]) -> List[JsonDict]:
        if self._skipped is not None and isinstance(inputs, list):
            lines = [item for item in inputs if isinstance(item, LoadedRequest)]
            if len(lines) == len(inputs):
                return self._skipped.answers(lines, self._predict_list)
        return self._predict_list(inputs)

    def _predict_list(self, inputs: Sequence[JsonDict]) -> List[JsonDict]:
        return self.predict_batch_instance(self.instances_of(inputs))

    def instances_of(self, inputs: Any) -> List[Instance]:
        """The instances of a list of requests. Raises `request_error` for one that cannot be answered."""
        check_list(inputs, self.max_batch)
        requests = [self._parsed(item, f"item {index}: ") for index, item in enumerate(inputs)]
        self._check_size(requests)
        return [self.to_instance(request) for request in requests]

    @overrides
    def predict_instance(self, instance: Instance) -> JsonDict:
        return self.predict_batch_instance([instance])[0]

    @overrides
    def predict_batch_instance(self, instances: List[Instance]) -> List[JsonDict]:
        return list(self._answers(map(self._prepared, instances)))

    @overrides
    def _json_to_instance(self, json_dict: JsonDict) -> Instance:
        if isinstance(json_dict, Instance):  # a sentence that was read, for an interpreter
            return json_dict
        return self.to_instance(self._parsed(json_dict))

    def _check_size(self, requests: List[Any]) -> None:
        words = sum(len(side) for request in requests for side in request.sides)
        if words > WORDS_PER_ITEM * self.max_batch:
            raise request_error(
                f"expected at most {WORDS_PER_ITEM * self.max_batch} words in all, got {words}"
            )
        # A sentence has at most as many steps as words: an array of its trace has at most this many numbers.
        always = self.attention or self.always_trace
        traced = [item for item in requests if always or item.attention or item.trace]
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

    def _prepared(self, instance: Instance) -> Instance:
        """The instance with its token indexers, and with the traces that the options ask for."""
        self._dataset_reader.apply_token_indexers(instance)
        metadata = metadata_of(instance)
        metadata.attention |= self.attention
        metadata.trace |= self.always_trace
        if metadata.threshold is None:
            metadata.threshold = self.threshold
        if metadata.min_probability is None:
            metadata.min_probability = self.min_probability
        self.step_limits.write_to(metadata)
        return instance

    def _answers(self, instances: Iterable[Instance]) -> Iterator[Answer]:
        for group in batches_of(instances, self.batch_size):
            for output in self._model.forward_on_instances(group):
                answer = Answer(self.to_answer(output))
                answer.metadata = cast(TaggingMetadata, output["metadata"])
                if output.get("steps") is not None:
                    answer["steps"] = output["steps"]
                if answer.metadata.attention:
                    answer["attention"] = output.get("attention")
                if answer.metadata.trace:
                    answer.trace = trace = cast(Optional[ReadableTrace], output.get("trace"))
                    answer["trace"] = None if trace is None else trace.to_json()
                yield answer
