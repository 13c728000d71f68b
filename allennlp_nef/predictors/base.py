"""What predictors share: checked requests, errors by item, the formats of a reader; attention and traces of taggers."""

import json
import logging
from collections.abc import Iterable, Iterator, Sequence
from inspect import signature
from typing import Any, ClassVar, Self, cast

from allennlp.common.checks import ConfigurationError
from allennlp.common.util import JsonDict
from allennlp.data import DatasetReader, Instance
from allennlp.models import Model
from allennlp.predictors import Predictor
from overrides import overrides

from allennlp_nef.data.dataset_readers import Prediction, TaggingReader, Writer
from allennlp_nef.data.metadata import TaggingMetadata, metadata_of
from allennlp_nef.errors import UserError, unknown_option
from allennlp_nef.figures.display import Display
from allennlp_nef.models import NefTagger
from allennlp_nef.models.base import options_of, with_options
from allennlp_nef.modules.options import check_integers
from allennlp_nef.modules.pretrained_transformer import readings_of_transformers
from allennlp_nef.modules.traces import ReadableTrace
from allennlp_nef.predictors.interpretation import InterpretablePredictor
from allennlp_nef.predictors.requests import (
    asks_for_description,
    batches_of,
    check_id,
    decode_options,
    describe,
    failure_message,
    id_of,
    read_json,
    request_error,
)
from allennlp_nef.predictors.tag_colors import tag_colors

logger = logging.getLogger(__name__)


def writer_of(reader: TaggingReader, output_format: str) -> Writer | None:
    """The writer of a format; None for "json". Raises `ConfigurationError` where the reader has no such writer."""
    if output_format == "json" or output_format in reader.writers:
        return reader.writers.get(output_format)
    readers = {name: DatasetReader.by_name(name) for name in DatasetReader.list_available()}
    others = [
        name for name, each in readers.items() if output_format in getattr(each, "writers", ())
    ]
    if others:
        raise ConfigurationError(
            f"output_format: {output_format} needs a model whose dataset_reader is {' or '.join(others)}, got "
            f"{type(reader).__name__}"
        )
    raise ConfigurationError(
        f"output_format: expected one of {', '.join(['json', *reader.writers])}, got {output_format!r}"
    )


TEXT_HINT = """; for lines of plain text: --predictor-args '{"input_format": "text"}'"""
"""The end of a message for a line that is no JSON."""
WORDS_PER_ITEM = 50
"""A list of requests has at most this many words times `max_batch`."""


class LoadedRequest(dict[str, Any]):
    """The request of a line: a JSON object, not to be changed."""

    parsed: Any = None
    """What `parse` returned for it."""
    where: str = ""
    """Which request it is: the beginning of a message about it."""
    error: str | None = None
    """Why there is no request in the line, which is then the value of `line`."""
    id: Any = None


class Answer(dict[str, Any]):
    """The answer for a sentence: a JSON object, with the metadata of the sentence and the trace, where it is wanted."""

    metadata: Any
    trace: ReadableTrace | None = None


class CheckedPredictor(Predictor):
    """Base class of this package's predictors: checked requests, batches, output formats.

    A request that cannot be answered raises a `ValueError` that names the field and, in a list of requests, the item,
    from 0; `allennlp serve` answers it with status 400. Implement `task`, `parse`, `to_instance`, `to_answer`, and
    `prediction_of` where the dataset reader has `writers`. The order of calls:
    `load_line` (it calls `parse`), `to_instance`, the model, `to_answer`, `dump_line` (it calls `prediction_of`).

    A request may have a field `id`, any JSON value but null, which its answer then begins with.

    The answer to the request `{"describe": true}` is the `description`, which a page for the model needs.

    # Parameters

    model : `Model`
    dataset_reader : `DatasetReader`
    output_format : `str`, optional (default = `"json"`)
        What `allennlp predict` writes: "json", an object a line, or one of the reader's `writers`.
    max_tokens : `int`, optional (default = `1000`)
        At least 1. The limit for the words of a request. The limit for its characters is 1000 times this, each word
        counted as long as the longest one. There is no limit for what a dataset reader reads.
    max_batch : `int`, optional (default = `1000`)
        At least 1. The limit for the requests of a list. The limit for the words of a list is 50 times this.
    batch_size : `int`, optional (default = `64`)
        At least 1. How many requests go through the model at once; fewer where they are long.
    on_error : `str`, optional (default = `"stop"`)
        What `allennlp predict` does with a line of JSON that cannot be answered. "stop": an error, and no further
        answers. "skip": an object `{"error": "request 3: ..."}` in place of the answer, and a warning; so there are as
        many lines of output as requests. "skip" needs the output format "json". It changes nothing for requests that
        come from Python or a server, nor for what a dataset reader reads.
    input_format : `str`, optional (default = `"json"`)
        What `allennlp predict` reads: "json", a request a line; or "text", a sentence a line, for predictors whose
        requests need one field alone. It changes nothing for requests that come from Python or a server, nor for what
        a dataset reader reads.
    """

    _dataset_reader: TaggingReader
    gold_fields: ClassVar[tuple[str, ...]] = ()
    """The fields of an instance with what the model predicts, which it does not get: it would compute losses and
    metrics, and the vocabulary may lack a label."""

    def __new__(cls, *arguments: Any, **options: Any) -> Self:
        # Constructors pass options that they do not have on to that of the base class.
        constructors = (vars(base)["__init__"] for base in cls.mro() if "__init__" in vars(base))
        known: set[str] = set()
        for constructor in constructors:
            parameters = signature(constructor).parameters
            known.update(parameters)
            if not any(each.kind is each.VAR_KEYWORD for each in parameters.values()):
                break
        for name in sorted(options.keys() - known):
            known -= {"self", "model", "dataset_reader", "options"}
            raise ConfigurationError(unknown_option(cls.__name__, name, known))
        return super().__new__(cls)

    def __init__(
        self,
        model: Model,
        dataset_reader: TaggingReader,
        output_format: str = "json",
        max_tokens: int = 1000,
        max_batch: int = 1000,
        batch_size: int = 64,
        on_error: str = "stop",
        input_format: str = "json",
    ) -> None:
        super().__init__(model, dataset_reader)
        dataset_reader.use_no_weights()
        self._writer = writer_of(dataset_reader, output_format)
        check_integers(max_tokens=max_tokens, max_batch=max_batch, batch_size=batch_size)
        if on_error not in ("stop", "skip"):
            raise ConfigurationError(f"on_error: expected stop or skip, got {on_error!r}")
        if output_format != "json" and on_error == "skip":
            raise ConfigurationError(
                f"on_error: expected output_format json, in which an error can take the place of an answer, got "
                f"{output_format}"
            )
        if input_format not in ("json", "text"):
            raise ConfigurationError(f"input_format: expected json or text, got {input_format!r}")
        if input_format == "text" and len(self.needed_fields()) > 1:
            raise ConfigurationError(
                f"input_format: expected json, as a request needs {' and '.join(self.needed_fields())}, got text"
            )
        self._skips_errors = on_error == "skip"
        self.input_format = input_format
        self.output_format = output_format
        self.max_tokens = max_tokens
        self.max_batch = max_batch
        self.batch_size = batch_size
        self._requests_loaded = self._requests_skipped = self._sentences_dumped = 0

    @property
    def task(self) -> str:
        """The task of the model: "word_qe", "chunks" (such as entities), "tags", "class", "pair" or "dependencies"."""
        raise NotImplementedError

    def parse(self, request: Any, where: str = "") -> Any:
        """The checked parts of a request, decoded from JSON. Raises `request_error`, its message after `where`.

        They have `sides`, or `sides_of` gives them.
        """
        raise NotImplementedError

    def needed_fields(self) -> list[str]:
        """The fields without which this model answers no request."""
        raise NotImplementedError

    def sides_of(self, request: Any) -> Sequence[list[str]]:
        """The words of each sentence of a request that `parse` returned."""
        sides: Sequence[list[str]] = request.sides
        return sides

    def to_instance(self, request: Any) -> Instance:
        """The instance of a request that `parse` returned."""
        raise NotImplementedError

    def to_answer(self, output: dict[str, Any]) -> JsonDict:
        """The answer, from the readable output of the model for a sentence, its `metadata` and its `options`."""
        raise NotImplementedError

    def prediction_of(self, outputs: JsonDict, number: int) -> Prediction:
        """What writers take of an answer, which is sentence `number`, from 0, of the output."""
        raise NotImplementedError

    def description(self) -> JsonDict:
        """What the model is, as a JSON object: `task`; `max_tokens` and `max_batch`, the limits of a request."""
        return {"task": self.task, "max_tokens": self.max_tokens, "max_batch": self.max_batch}

    @overrides
    def load_line(self, line: str) -> JsonDict:
        """The request of a line. It is checked here, where its number is known; blank lines do not count."""
        self._requests_loaded += 1
        where, request = f"request {self._requests_loaded}: ", None
        try:
            if self.input_format == "text":
                text = line.removeprefix("\ufeff") if self._requests_loaded == 1 else line
                request = {self.needed_fields()[0]: text.rstrip("\r\n")}
            else:
                hint = TEXT_HINT if len(self.needed_fields()) == 1 else ""
                request = read_json(line, where, hint)
            parsed = self.parse(request, where)
        except UserError as error:
            if not self._skips_errors:
                raise
            loaded = LoadedRequest(line=line.strip())
            loaded.error = str(error)
            try:
                check_id(request, where)
            except UserError:
                request = None  # its id is no JSON
        else:
            loaded = LoadedRequest(request)
            loaded.parsed, loaded.where = parsed, where
        loaded.id = id_of(request)
        return loaded

    @overrides
    def dump_line(self, outputs: JsonDict) -> str:
        """An answer in the output format, as the next sentence of the output."""
        self._sentences_dumped += 1
        return self.dump(outputs, self._sentences_dumped - 1)

    def dump(self, outputs: JsonDict, number: int) -> str:
        """An answer in the output format, as sentence `number`, from 0, of the output."""
        if self._writer is None:
            return json.dumps(outputs) + "\n"
        text = self._writer(self._dataset_reader, self.prediction_of(outputs, number))
        # The first one of a file is a byte order mark, the next one is of the word.
        if number == 0 and text.startswith("\ufeff"):
            text = "\ufeff" + text
        return text.encode("utf-8", "backslashreplace").decode("utf-8")

    @overrides
    def predict_json(self, inputs: JsonDict) -> JsonDict:
        if asks_for_description(inputs):
            return self.description()
        return next(self.iterate_answers([inputs]))

    @overrides
    def predict_batch_json(self, inputs: list[JsonDict]) -> list[JsonDict]:
        are_lines = isinstance(inputs, list) and all(isinstance(x, LoadedRequest) for x in inputs)
        if are_lines and self._skips_errors:
            return list(self.iterate_answers(inputs))
        return self.predict_batch_instance(self.instances_of(inputs))

    def iterate_answers(
        self, sentences: Sequence[JsonDict] | Sequence[Instance]
    ) -> Iterator[JsonDict]:
        """The answers to requests, such as lines that were loaded, or to instances, one after the other.

        They need not fit into memory together. So there are no limits for all of them, as for a list of requests.
        """
        lines = [sentence for sentence in sentences if isinstance(sentence, LoadedRequest)]
        return (
            self._answers_or_errors(lines)
            if lines and self._skips_errors
            else self._answers_or_raise(sentences)
        )

    def _answers_or_raise(self, sentences: Iterable[Any]) -> Iterator[JsonDict]:
        """The answers to requests or instances. Whatever is wrong with one of them is raised."""
        instances = map(self._json_to_instance, sentences)
        return self._answer_in_batches(map(self._prepared, instances))

    def _answers_or_errors(self, requests: Sequence[LoadedRequest]) -> Iterator[JsonDict]:
        """The answers to lines. Where the model fails for all together, each other request is tried alone."""
        good = [request for request in requests if request.error is None]
        together = self._answers_or_raise(good) if len(good) > 1 else None
        for request in requests:
            message = request.error
            if message is None and together is not None:
                try:
                    yield next(together)
                    continue
                except Exception:  # it comes again below, for the request that it belongs to
                    logger.debug("A batch of lines failed.", exc_info=True)
                    together = None
            if message is None:
                try:
                    yield next(self._answers_or_raise([request]))
                    continue
                except Exception as error:  # noqa: BLE001  # whatever the model raises is the answer
                    message = request.where + failure_message(error)
            self._requests_skipped += 1
            logger.warning("%s (skipped, %d so far)", message, self._requests_skipped)
            own_id = {} if request.id is None else {"id": request.id}
            yield {**own_id, "error": message}

    def instances_of(self, inputs: Any) -> list[Instance]:
        """The instances of a list of requests. Raises `request_error` for one that cannot be answered."""
        if not isinstance(inputs, list):
            raise request_error(f"expected a list of objects, got {describe(inputs)}")
        if len(inputs) > self.max_batch:
            raise request_error(f"expected at most {self.max_batch} items, got {len(inputs)}")
        requests = [self._parsed(item, f"item {index}: ") for index, item in enumerate(inputs)]
        self._check_size(requests)
        return list(map(self._instance_of, inputs, requests))

    def _instance_of(self, request: Any, parsed: Any) -> Instance:
        """The instance of a request and its parts."""
        instance = self.to_instance(parsed)
        metadata_of(instance).id = id_of(request)
        return instance

    def _check_size(self, requests: list[Any]) -> None:
        """Checks how large the requests of a list are together."""
        words = sum(len(side) for request in requests for side in self.sides_of(request))
        if words > WORDS_PER_ITEM * self.max_batch:
            raise request_error(
                f"expected at most {WORDS_PER_ITEM * self.max_batch} words in all, got {words}"
            )

    def _parsed(self, request: Any, where: str = "") -> Any:
        """The parts of a request, which is checked unless `load_line` has done so."""
        return request.parsed if isinstance(request, LoadedRequest) else self.parse(request, where)

    @overrides
    def _json_to_instance(self, json_dict: JsonDict) -> Instance:
        if isinstance(json_dict, Instance):  # a sentence that was read, for an interpreter
            return json_dict
        return self._instance_of(json_dict, self._parsed(json_dict))

    @overrides
    def predict_instance(self, instance: Instance) -> JsonDict:
        return self.predict_batch_instance([instance])[0]

    @overrides
    def predict_batch_instance(self, instances: list[Instance]) -> list[JsonDict]:
        return list(self._answer_in_batches([self._prepared(instance) for instance in instances]))

    def _prepared(self, instance: Instance) -> Instance:
        """The instance, ready for the model: with its token indexers, and without what is gold."""
        self._dataset_reader.apply_token_indexers(instance)
        fields = {n: field for n, field in instance.fields.items() if n not in self.gold_fields}
        return Instance(fields)

    def _answer_in_batches(self, instances: Iterable[Instance]) -> Iterator[Answer]:
        """The answers to prepared instances, which go through the model `batch_size` at a time."""
        for group in batches_of(instances, self.batch_size):
            with readings_of_transformers() as readings:
                outputs = self._outputs_of(group)
            # A model may read its sentences in other batches, of which nothing is known.
            batches = [batch for batch in readings if len(batch) == len(group)]
            for number, (instance, output) in enumerate(zip(group, outputs)):
                answer = self._answer_of_output(instance, output)
                windows = max((batch[number].windows for batch in batches), default=1)
                if windows > 1:
                    answer["windows"] = windows
                if any(batch[number].truncated for batch in batches):
                    answer["truncated"] = True
                yield answer

    def _outputs_of(self, instances: list[Instance]) -> list[dict[str, Any]]:
        """The readable output of the model for each instance of a batch."""
        outputs: Any = self._model.forward_on_instances(instances)
        return outputs

    def _answer_of_output(self, instance: Instance, output: dict[str, Any]) -> Answer:
        """The answer for an instance, from the readable output of the model."""
        output["metadata"] = metadata_of(instance)
        own_id = output["metadata"].id
        output["options"] = options_of(instance)
        answer = Answer({} if own_id is None else {"id": own_id})
        answer.update(self.to_answer(output))
        answer.metadata = output["metadata"]
        return answer


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
    label_probabilities : `bool`, optional (default = `False`)
        Whether every answer has the probabilities of all labels, asked for or not. Not with the output formats other
        than "json" and "conll".
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
        label_probabilities: bool = False,
        **options: Any,
    ) -> None:
        if not isinstance(model, NefTagger):
            raise ConfigurationError(
                f"model: this predictor expects nef_tagger, got {type(model).__name__}"
            )
        super().__init__(model, dataset_reader, **options)
        wanted = {
            "attention": attention,
            "trace": trace,
            "label_probabilities": label_probabilities,
        }
        limits = {"max_steps": max_steps, "halting": halting}
        self.options = decode_options({**wanted, **limits}, self._model)
        """Those of requests that have none."""
        if self.output_format != "json" and (attention or trace):
            raise ConfigurationError(
                f"attention, trace: expected output_format json, which has them, got {self.output_format}"
            )
        if label_probabilities and self.output_format not in ("json", "conll"):
            raise ConfigurationError(
                f"label_probabilities: expected output_format json or conll, which has them, got {self.output_format}"
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
            metadata.segment,
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
        (answer,) = self._answer_in_batches([instance])
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
    def _answer_of_output(self, instance: Instance, output: dict[str, Any]) -> Answer:
        answer = super()._answer_of_output(instance, output)
        if output.get("steps") is not None:
            answer["steps"] = output["steps"]
        if output["options"].label_probabilities:
            columns = output["label_probabilities"].T.tolist()
            answer["label_probabilities"] = dict(zip(self._model.tag_head.labels, columns))
        if output["options"].attention:
            answer["attention"] = output.get("attention")
        if output["options"].trace:
            answer.trace = trace = cast(ReadableTrace | None, output.get("trace"))
            answer["trace"] = None if trace is None else trace.to_json()
        return answer
