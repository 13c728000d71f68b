"""The base classes of the predictors: requests, batches and output formats; attention and traces of taggers."""

import json
import logging
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from types import MappingProxyType
from typing import Any, ClassVar

from allennlp.common.checks import ConfigurationError
from allennlp.common.util import JsonDict
from allennlp.data import Instance
from allennlp.data.fields import FlagField, MetadataField, TextField
from allennlp.models import Model
from allennlp.predictors import Predictor
from overrides import overrides

from allennlp_nef.data.dataset_readers.base import Prediction, TaggingReader
from allennlp_nef.data.fields import TagsField
from allennlp_nef.errors import UserError, quote
from allennlp_nef.figures.display import Display
from allennlp_nef.models.nef_tagger import NefTagger
from allennlp_nef.modules.traces import SentenceTrace
from allennlp_nef.nn.lora import merge_lora
from allennlp_nef.predictors.requests import ID, Check, check_request, request_error
from allennlp_nef.predictors.tag_colors import tag_colors

logger = logging.getLogger(__name__)


class Line(dict[str, Any]):
    """The request of a line, read by `load_line`."""

    place: str = ""
    """Where it stands, such as "request 2" or "requests.jsonl:2"."""
    error: str | None = None
    """Why the line does not contain a request."""


class Answer(dict[str, Any]):
    """The answer to an item: a JSON object, with the metadata and the trace as attributes."""

    metadata: dict[str, Any]
    trace: SentenceTrace | None = None


@dataclass
class Item:
    """A checked request, or a sentence of a dataset reader."""

    instance: Instance
    options: dict[str, Any] = field(default_factory=dict)
    """The options of the request, or those of the predictor."""
    kept: dict[str, Any] = field(default_factory=dict)
    """The fields of the request that the answer repeats, such as `id`."""

    @property
    def metadata(self) -> dict[str, Any]:
        metadata: Any = self.instance["metadata"]
        return metadata.metadata

    @property
    def is_traced(self) -> bool:
        return bool(self.options.get("trace") or self.options.get("attention"))

    @property
    def num_tokens(self) -> int:
        """The length of the longest sentence."""
        fields = self.instance.fields.values()
        return max(len(each) for each in fields if isinstance(each, TextField))


MAX_WORDS = 2**14
"""The limit for the words of a batch, including padding."""
MAX_PAIRS = 10**6
"""The limit for sentences x words x words of a batch with traces. A sentence has at most as many steps as words."""


def batches_of(
    items: Iterable[Item], batch_size: int, is_quadratic: bool = False
) -> Iterator[list[Item]]:
    """Splits items, in their order, into batches that fit into memory. Items with and without a trace never mix.

    The memory of traces, and of a model that `is_quadratic`, grows with the square of the length of a sentence.
    """
    for is_traced, group in groupby(items, lambda item: item.is_traced):
        batch: list[Item] = []
        longest = 0
        for item in group:
            longest = max(longest, item.num_tokens)
            words = (len(batch) + 1) * longest
            is_full = len(batch) == batch_size or words > MAX_WORDS
            if (is_traced or is_quadratic) and words * longest > MAX_PAIRS:
                is_full = True
            if batch and is_full:
                yield batch
                batch, longest = [], item.num_tokens
            batch.append(item)
        yield batch


class NefPredictor(Predictor):
    """Base class of the predictors of this package: checked requests, batches, output formats.

    A request that cannot be answered raises a `UserError` that names the field and, in a list of requests, the item,
    from 0. Every request may have an `id`, any JSON value, with which its answer begins. The answer to `{"describe":
    true}` is the `description` of the model.

    Subclasses implement `fields`, `task`, `to_item` and `to_answer`.

    # Parameters

    model : `Model`
    dataset_reader : `TaggingReader`
    output_format : `str`, optional (default = `"json"`)
        What `allennlp predict` writes: "json", one object per line, or one of the dataset reader's `writers`.
    input_format : `str`, optional (default = `"json"`)
        What `allennlp predict` reads: "json", one request per line, or "text", one sentence per line.
    on_error : `str`, optional (default = `"stop"`)
        What happens if a request cannot be answered. "stop" raises an exception. "skip" returns an object
        `{"error": ...}` in place of the answer and logs a warning.
    keep_fields : `bool`, optional (default = `False`)
        Whether a request may have other fields, which its answer repeats. The answer's own fields take precedence.
    max_tokens : `int`, optional (default = `1000`)
        The maximum number of words in a sentence. Sentences from a dataset reader have no limit.
    max_batch : `int`, optional (default = `1000`)
        The maximum number of requests in a list.
    batch_size : `int`, optional (default = `64`)
        The number of sentences in a batch; fewer if they are long.
    """

    _dataset_reader: TaggingReader
    fields: ClassVar[dict[str, Check]]
    """The fields of a request."""
    required: Sequence[str] = ()
    """The fields that every request must have."""
    text_field: str | None = None
    """The field for which a line of plain text is enough; None if there is none."""
    task: str
    """The task of the model: "word_qe", "chunks" (such as entities), "tags", "class", "pair" or "dependencies"."""
    is_quadratic: ClassVar[bool] = False
    """See `batches_of`."""
    gold_fields: ClassVar[tuple[str, ...]] = ("tags", "sentence_score")
    """Fields that models do not get: they would compute losses, and a label may not be in the vocabulary."""

    def __init__(
        self,
        model: Model,
        dataset_reader: TaggingReader,
        output_format: str = "json",
        input_format: str = "json",
        on_error: str = "stop",
        keep_fields: bool = False,
        max_tokens: int = 1000,
        max_batch: int = 1000,
        batch_size: int = 64,
        **unknown: Any,
    ) -> None:
        super().__init__(model, dataset_reader)
        merge_lora(model)
        if unknown:
            raise ConfigurationError(f"unknown options of the predictor: {', '.join(unknown)}")
        formats = ["json", *getattr(dataset_reader, "writers", ())]
        choices = (
            ("output_format", output_format, formats),
            ("input_format", input_format, ["json", "text"] if self.text_field else ["json"]),
            ("on_error", on_error, ["stop", "skip"] if output_format == "json" else ["stop"]),
        )
        for name, value, allowed in choices:
            if value not in allowed:
                raise ConfigurationError(f"{name}: expected {' or '.join(allowed)}, got {value!r}")
        self.output_format = output_format
        self.input_format = input_format
        self.on_error = on_error
        self.keep_fields = keep_fields
        self.max_tokens = max_tokens
        self.max_batch = max_batch
        self.batch_size = batch_size
        self.options: dict[str, Any] = {}
        """The options of instances, and the defaults of the options of requests."""
        self._num_loaded = self._num_dumped = 0

    def to_item(self, request: dict[str, Any]) -> Item:
        """The item of a request whose `fields` have been checked. Raises a `UserError` for wrong values."""
        raise NotImplementedError

    def to_answer(self, output: dict[str, Any], item: Item) -> JsonDict:
        """Builds the answer for an item from the model's human-readable output."""
        raise NotImplementedError

    def writer_options(self) -> dict[str, Any]:
        """What the writers of submissions need besides the answer: see `Prediction.options`."""
        return {}

    def finish(self) -> None:
        """`allennlp-nef predict` calls this after the last answer."""

    def description(self) -> JsonDict:
        """What the model is, as a JSON object: `task`, and the limits `max_tokens` and `max_batch`."""
        return {"task": self.task, "max_tokens": self.max_tokens, "max_batch": self.max_batch}

    @overrides
    def load_line(self, line: str) -> JsonDict:
        """The request of a line. Blank lines, which AllenNLP skips, are not counted."""
        self._num_loaded += 1
        loaded = Line()
        loaded.place = f"request {self._num_loaded}"
        text = line.removeprefix("\ufeff") if self._num_loaded == 1 else line
        if self.text_field and self.input_format == "text":
            loaded[self.text_field] = text.rstrip("\r\n")
            return loaded
        try:
            request = json.loads(text)
        except (ValueError, RecursionError) as error:
            reason = str(error)
            if not text.lstrip().startswith("{"):
                reason = "a file in the format of the training data needs --use-dataset-reader"
                if self.text_field:
                    reason += """, one of sentences --predictor-args '{"input_format": "text"}'"""
            loaded.error = f"expected a JSON object, got {quote(text.strip())} ({reason})"
            return loaded
        if isinstance(request, dict):
            loaded.update(request)
        else:
            loaded.error = f"expected a JSON object, got {quote(request)}"
        return loaded

    @overrides
    def dump_line(self, outputs: JsonDict) -> str:
        """An answer in the output format."""
        number, self._num_dumped = self._num_dumped, self._num_dumped + 1
        if self.output_format == "json":
            return json.dumps(outputs) + "\n"
        answer: Any = outputs
        prediction = Prediction(number, answer, answer.metadata, self.writer_options())
        text = self._dataset_reader.writers[self.output_format](self._dataset_reader, prediction)
        return text.encode("utf-8", "backslashreplace").decode("utf-8")

    @overrides
    def predict_json(self, inputs: JsonDict) -> JsonDict:
        if inputs == {"describe": True}:
            return self.description()
        answers = self.answers_or_errors if self.on_error == "skip" else self.answers
        return answers([inputs])[0]

    @overrides
    def predict_batch_json(self, inputs: list[JsonDict]) -> list[JsonDict]:
        if not isinstance(inputs, list):
            raise request_error(f"expected a list of objects, got {quote(inputs)}")
        if len(inputs) > self.max_batch:
            raise request_error(f"expected at most {self.max_batch} items, got {len(inputs)}")
        if self.on_error == "skip":
            return self.answers_or_errors(inputs)
        return self.answers([self.item_of(each, f"item {i}: ") for i, each in enumerate(inputs)])

    @overrides
    def predict_instance(self, instance: Instance) -> JsonDict:
        return self.answers([instance])[0]

    @overrides
    def predict_batch_instance(self, instances: list[Instance]) -> list[JsonDict]:
        return self.answers(instances)

    def answers_or_errors(self, requests: Sequence[Any]) -> list[JsonDict]:
        """The answers to requests, instances or items; `{"error": ...}` in place of each one that fails.

        If a batch fails, each half of it is tried again.
        """
        try:
            return self.answers(requests)
        except Exception as error:  # noqa: BLE001  # whatever fails, the others are answered
            if len(requests) > 1:
                middle = len(requests) // 2
                halves = requests[:middle], requests[middle:]
                return [answer for half in halves for answer in self.answers_or_errors(half)]
            is_known = isinstance(error, UserError)
            message = str(error) if is_known else f"{type(error).__name__}: {error}"
        logger.warning("%s (skipped)", message)
        kept = self._kept(requests[0]).items()
        return [Answer({name: value for name, value in kept if ID[0](value)}, error=message)]

    def answers(self, requests: Iterable[Any]) -> list[JsonDict]:
        """The answers to requests, instances or items."""
        items = [self.item_of(request) for request in requests]
        batches = batches_of(items, self.batch_size, self.is_quadratic)
        outputs = [output for batch in batches for output in self.outputs(batch)]
        return self.to_answers(outputs, items)

    def item_of(self, request: Any, where: str = "") -> Item:
        """The item of a request or an instance. Raises `request_error`, with `where` in front of the message."""
        if isinstance(request, Item):
            return request
        if isinstance(request, Instance):
            return Item(request, self.options)
        try:
            if isinstance(request, Line):
                where = f"{request.place}: "
                if request.error:
                    raise UserError(request.error)
            kept = self._kept(request)
            check_request(
                request, {**self.fields, "id": ID, **dict.fromkeys(kept, ID)}, self.required
            )
            item = self.to_item(request)
        except UserError as error:
            raise request_error(f"{where}{error}") from error
        given = {name: request[name] for name in self.options if request.get(name) is not None}
        item.options, item.kept = {**self.options, **given}, kept
        return item

    def _kept(self, request: Any) -> dict[str, Any]:
        """The fields of a request that its answer repeats."""
        if not isinstance(request, dict):
            return {}
        names = request.keys() - self.fields.keys() if self.keep_fields else {"id"}
        items = request.items()
        return {
            name: item for name, item in items if name in names and (name, item) != ("id", None)
        }

    @overrides
    def _json_to_instance(self, json_dict: JsonDict) -> Instance:
        return self.item_of(json_dict).instance

    def to_answers(
        self, outputs: Sequence[dict[str, Any]], items: Sequence[Item]
    ) -> list[JsonDict]:
        """Builds the answers for the items of a call from the model's human-readable outputs."""
        answers: list[JsonDict] = []
        for output, item in zip(outputs, items):
            answer = Answer({**item.kept, **self.to_answer(output, item)})
            answer.metadata, answer.trace = item.metadata, output.get("trace")
            answers.append(answer)
        return answers

    def outputs(self, items: list[Item]) -> list[dict[str, Any]]:
        """The model's human-readable output for each item."""
        outputs: Any = self._model.forward_on_instances([self.prepare(item) for item in items])
        return list(outputs)

    def prepare(self, item: Item) -> Instance:
        """The instance for the model: without gold fields, with its token indexers."""
        self._dataset_reader.apply_token_indexers(item.instance)
        fields = item.instance.fields.items()
        kept = {name: each for name, each in fields if name not in self.gold_fields}
        # AllenNLP looks for tensors in dicts, word by word.
        return Instance({**kept, "metadata": MetadataField(MappingProxyType(item.metadata))})


class TaggingPredictor(NefPredictor):
    """Base class of the predictors of taggers, with attention, traces and the probabilities of all labels.

    Works with the saliency interpreters of `allennlp.interpret`: they explain the predicted tags of a sentence.

    # Parameters

    model : `NefTagger`
    dataset_reader : `TaggingReader`
    attention, trace, label_probabilities : `bool`, optional (default = `False`)
        Whether answers have them by default. The fields of a request take precedence.
    output_format, input_format, on_error, keep_fields, max_tokens, max_batch, batch_size
        See `NefPredictor`.
    """

    _model: NefTagger
    tagged_field: ClassVar[str] = "tokens"
    """The text field whose words are tagged."""

    def __init__(
        self,
        model: Model,
        dataset_reader: TaggingReader,
        attention: bool = False,
        trace: bool = False,
        label_probabilities: bool = False,
        **options: Any,
    ) -> None:
        super().__init__(model, dataset_reader, **options)
        self.set_options(attention=attention, trace=trace, label_probabilities=label_probabilities)

    def set_options(self, **options: Any) -> None:
        """Sets the defaults of options of requests. Raises a `ConfigurationError` for wrong values."""
        for name, value in options.items():
            is_valid, expected = self.fields[name]
            if value is not None and not is_valid(value):
                raise ConfigurationError(f"{name}: expected {expected}, got {value!r}")
        self.options |= options

    @overrides
    def description(self) -> JsonDict:
        """The description of the model: `task`; `title`, such as "NEF-F csoftmax, N = 5"; `labels` and their `colors`;
        `step_name`, what a row of a trace is, or null if the model has no trace; `max_tokens` and `max_batch`."""
        labels = self._model.tag_head.labels
        return {
            **super().description(),
            "title": self._model.title,
            "labels": labels,
            "colors": tag_colors(labels),
            "step_name": self._model.step_name,
        }

    @overrides
    def to_answer(self, output: dict[str, Any], item: Item) -> JsonDict:
        """The requested `label_probabilities`, `attention` and `trace`; the last two are null if there is none."""
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

    @overrides
    def prepare(self, item: Item) -> Instance:
        instance = super().prepare(item)
        if item.is_traced:
            instance.add_field("trace", FlagField(True))
        return instance

    def _trace_of(self, request: JsonDict) -> "ShownTrace":
        """The trace for a request. Raises a `UserError` if the model has none."""
        answer: Any = self.answers([{**request, "trace": True}])[0]
        if answer.trace is None:
            raise UserError(f"trace: the model {self._model.title} does not have one")
        return ShownTrace(answer.trace, Display(answer, self.description()))

    @overrides(check_signature=False)
    def predictions_to_labeled_instances(
        self, instance: Instance, outputs: dict[str, Any]
    ) -> list[Instance]:
        labeled = instance.duplicate()
        words: Any = labeled[self.tagged_field]
        tags = TagsField(list(outputs["tags"]), words, self._dataset_reader.label_namespace)
        labeled.add_field("tags", tags, self._model.vocab)
        return [labeled]


class ShownTrace(SentenceTrace):
    """The trace of a sentence. Notebooks show it as a page that replays the steps."""

    def __init__(self, trace: SentenceTrace, display: Display) -> None:
        super().__init__(**vars(trace))
        self.display = display

    def plot(self) -> Any:
        """The heat map of the attention, a matplotlib figure. Needs the extra `plot`."""
        return self.display.plot()

    def _repr_html_(self) -> str:
        return self.display._repr_html_()
