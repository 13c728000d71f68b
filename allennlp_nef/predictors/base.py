"""Base class of the predictors, which turn requests into answers."""

import itertools
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar

from allennlp.common import Tqdm
from allennlp.common.checks import ConfigurationError
from allennlp.common.util import JsonDict, lazy_groups_of
from allennlp.data import Instance
from allennlp.data.fields import TextField
from allennlp.models import Model
from allennlp.predictors import Predictor

from allennlp_nef.data.dataset_readers.base import NefDatasetReader, Prediction
from allennlp_nef.data.files import parse_object
from allennlp_nef.errors import UserError, quote
from allennlp_nef.options import check_integers
from allennlp_nef.predictors.requests import ANYTHING, Check, check_request, request_error

WINDOW = 1000
"""The number of requests that are checked and sorted by length at a time. Answers do not depend on it."""
MAX_WORDS = 2**14
"""The maximum number of words in a batch, including padding."""
PIECES_PER_WORD = 3
"""A pretrained encoder may read this number of pieces for each of the words that `max_tokens` allows."""
MAX_PAIRS = 10**6
"""The maximum of sentences x words x words in a batch with traces. A sentence has at most as many steps as words."""


class Answer(dict[str, Any]):
    """The answer to an item: a JSON object, whose fields are also attributes, and the `record` of its sentence."""

    record: Any = None

    def __getattr__(self, name: str) -> Any:
        try:
            return self[name]
        except KeyError:
            raise AttributeError(f"the answer has no {name}, only {', '.join(self)}") from None


@dataclass
class Item:
    """A checked request, or a sentence from a dataset reader; then also the model's output for it, or an error."""

    instance: Any = None
    """The `Instance`; None if the request has an error."""
    options: dict[str, Any] = field(default_factory=dict)
    """The options of the request, or those of the predictor."""
    echoed: dict[str, Any] = field(default_factory=dict)
    """The fields of the request that the answer repeats, such as `id`."""
    output: dict[str, Any] = field(default_factory=dict)
    """The model's human-readable output."""
    error: Exception | None = None
    """Why there is no answer."""

    @property
    def record(self) -> Any:
        """The record of the sentence, which the reader put into the instance."""
        return self.instance["metadata"].metadata

    @property
    def is_traced(self) -> bool:
        return bool(self.options.get("trace") or self.options.get("attention"))

    @property
    def num_tokens(self) -> int:
        """The length of the longest sentence."""
        fields = self.instance.fields.values()
        return max(len(each) for each in fields if isinstance(each, TextField))


def batches_of(
    items: Iterable[Item], batch_size: int, needs_square_memory: bool = False
) -> Iterator[list[Item]]:
    """Groups items of similar length into batches that fit into memory.

    Items with and without a trace never mix. The memory of traces, and of a model that `needs_square_memory`, grows
    with the square of the length of a sentence.
    """
    batch: list[Item] = []
    for item in sorted(items, key=lambda item: (item.is_traced, item.num_tokens)):
        words = (len(batch) + 1) * item.num_tokens
        is_square = item.is_traced or needs_square_memory
        is_full = len(batch) == batch_size or words > MAX_WORDS
        is_full = is_full or (is_square and words * item.num_tokens > MAX_PAIRS)
        if batch and (is_full or item.is_traced != batch[-1].is_traced):
            yield batch
            batch = []
        batch.append(item)
    if batch:
        yield batch


class NefPredictor(Predictor):
    """Base class of the predictors of this package.

    All programs use the same functions. `item_of` checks a request. `answers` runs the model on the valid ones, in
    batches of similar length, and returns an answer for each, in the order of the requests. `stream` does both. Up to
    rounding, an answer depends only on its request and the model.

    A request that cannot be answered raises a `UserError` that names the field and, in a list of requests, the item,
    from 0. Every request may have an `id`, any JSON value, which its answer repeats first.

    Subclasses implement `fields`, `task`, `to_item` and `to_answer`.

    # Parameters

    model : `Model`
    dataset_reader : `NefDatasetReader`
    output_format : `str`, optional (default = `"json"`)
        The output of `allennlp predict`: "json", one object per line, or one of the dataset reader's `writers`.
    input_format : `str`, optional (default = `"json"`)
        The input of `allennlp predict`: "json", one request per line, or "text", one sentence per line.
    on_error : `str`, optional (default = `"stop"`)
        What to do if a request cannot be answered. "stop" raises an exception. "skip" returns an object `{"error":
        ...}` in place of the answer.
    keep_fields : `bool`, optional (default = `False`)
        Whether a request may have other fields, which its answer repeats. The answer's own fields take precedence.
    max_tokens : `int`, optional (default = `1000`)
        The maximum number of words in a sentence. A pretrained encoder reads at most three times as many pieces.
        Sentences from a dataset reader have no limit.
    batch_size : `int`, optional (default = `64`)
        The number of sentences in a batch; fewer if they are long.
    """

    _dataset_reader: NefDatasetReader
    fields: Mapping[str, Check]
    """The fields of a request."""
    required: Sequence[str] = ()
    """The fields that every request must have."""
    text_field: str | None = None
    """The field that a line of plain text fills; None if there is none."""
    task: str
    """The task of the model: "word_qe", "chunks" (such as entities), "tags", "class", "pair" or "dependencies"."""
    dropped_fields: ClassVar[tuple[str, ...]] = ("tags", "sentence_scores")
    """Gold fields, dropped before prediction: the model would compute a loss, and labels may be out of vocabulary."""
    needs_whole_input = False
    """Whether the answers of a call depend on each other, so all of its requests are answered together."""

    def __init__(
        self,
        model: Model,
        dataset_reader: NefDatasetReader,
        output_format: str = "json",
        input_format: str = "json",
        on_error: str = "stop",
        keep_fields: bool = False,
        max_tokens: int = 1000,
        batch_size: int = 64,
        **unknown: Any,
    ) -> None:
        super().__init__(model, dataset_reader)
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
        check_integers(max_tokens=max_tokens, batch_size=batch_size)
        if not isinstance(keep_fields, bool):
            raise ConfigurationError(f"keep_fields: expected true or false, got {keep_fields!r}")
        self.output_format = output_format
        self.input_format = input_format
        self.on_error = on_error
        self.keep_fields = keep_fields
        self.max_tokens = max_tokens
        self.batch_size = batch_size
        self.options: dict[str, Any] = {}
        """The options of instances, and the defaults of the options of requests."""
        # The lines that AllenNLP's `predict` has read and written, of one file each.
        self._lines_read, self._lines_written = itertools.count(), itertools.count()

    @property
    def needs_square_memory(self) -> bool:
        """See `batches_of`."""
        return getattr(self._model, "needs_square_memory", False)

    def to_item(self, request: dict[str, Any]) -> Item:
        """Returns the item of a request whose `fields` have been checked. Raises a `UserError` for wrong values."""
        raise NotImplementedError

    def to_answer(self, output: dict[str, Any], item: Item) -> JsonDict:
        """Builds the answer for an item from the model's human-readable output."""
        raise NotImplementedError

    @cached_property
    def writer_options(self) -> dict[str, Any]:
        """What submission writers need besides the answer: see `Prediction.options`."""
        return {}

    def description(self) -> JsonDict:
        """Describes the model as a JSON object: `task`, and the limit `max_tokens`."""
        return {"task": self.task, "max_tokens": self.max_tokens}

    def item_of(self, request: Any, place: str = "") -> Item:
        """Returns the item for a request, an instance, or an error that a request already has.

        The error of a request that cannot be answered begins with `place`, such as "item 2". It is raised unless
        `on_error` is "skip".
        """
        if isinstance(request, Instance):
            return Item(request, self.options)
        echoed = self._echoed(request)
        try:
            if isinstance(request, Exception):
                raise request
            fields = {**self.fields, **dict.fromkeys(["id", *echoed], ANYTHING)}
            check_request(request, fields, self.required)
            item = self.to_item(request)
            self._check_pieces(item.instance)
        except UserError as error:
            located = request_error(f"{place}: {error}" if place else str(error))
            if self.on_error == "stop":
                raise located from error
            return Item(echoed=echoed, error=located)
        given = {name: request[name] for name in self.options if request.get(name) is not None}
        item.options, item.echoed = {**self.options, **given}, echoed
        return item

    def _check_pieces(self, instance: Instance) -> None:
        """Checks the number of pieces in each text: a long word has many."""
        limit = PIECES_PER_WORD * self.max_tokens
        self._dataset_reader.apply_token_indexers(instance)
        instance.index_fields(self._model.vocab)
        for name, lengths in instance.get_padding_lengths().items():
            pieces = max((n for key, n in lengths.items() if key.endswith("pieces")), default=0)
            if pieces > limit:
                raise UserError(f"{name}: expected at most {limit} word pieces, got {pieces}")

    def _echoed(self, request: Any) -> dict[str, Any]:
        """Returns the fields of a request that its answer repeats."""
        if not isinstance(request, dict):
            return {}
        if self.keep_fields:
            return {name: value for name, value in request.items() if name not in self.fields}
        return {} if request.get("id") is None else {"id": request["id"]}

    def stream(self, requests: Iterable[tuple[str, Any]]) -> Iterator[Answer]:
        """Answers (place, request) pairs in their order: see `item_of`. Reads `WINDOW` requests at a time."""
        groups = [requests] if self.needs_whole_input else lazy_groups_of(requests, WINDOW)
        for group in groups:
            yield from self.answers([self.item_of(request, place) for place, request in group])

    def answers(self, items: Sequence[Item]) -> list[Answer]:
        """Returns the answers to items, in their order; `{"error": ...}` for those with an error."""
        self.run(items)
        return [self._answer_of(item) for item in items]

    def run(self, items: Iterable[Item]) -> None:
        """Adds the model's output to each item without an error. With `on_error` "skip", a batch that fails is tried
        again in halves, until the error is that of a single item."""
        valid = (item for item in items if item.error is None)
        for batch in batches_of(valid, self.batch_size, self.needs_square_memory):
            self._run_batch(batch)

    def _run_batch(self, batch: list[Item]) -> None:
        try:
            for item, output in zip(batch, self.outputs(batch), strict=True):
                item.output = output
        except Exception as error:  # the other items are answered in any case
            if self.on_error == "stop":
                raise
            if len(batch) == 1:
                batch[0].error = error
                return
            self._run_batch(batch[: len(batch) // 2])
            self._run_batch(batch[len(batch) // 2 :])

    def outputs(self, items: list[Item]) -> list[dict[str, Any]]:
        """Returns the model's human-readable output for each item of a batch."""
        outputs: Any = self._model.forward_on_instances([self.prepare(item) for item in items])
        return list(outputs)

    def prepare(self, item: Item) -> Instance:
        """Returns the instance for the model: without gold fields, with its token indexers."""
        self._dataset_reader.apply_token_indexers(item.instance)
        fields = item.instance.fields.items()
        kept = Instance({name: each for name, each in fields if name not in self.dropped_fields})
        kept.indexed = item.instance.indexed
        return kept

    def _answer_of(self, item: Item) -> Answer:
        """Returns the answer to an item that has been run."""
        if item.error is None:
            try:
                answer = Answer({**item.echoed, **self.to_answer(item.output, item)})
                answer.record = item.record
                return answer
            except Exception as error:  # of an item, like those in `run`
                if self.on_error == "stop":
                    raise
                item.error = error
        name = "" if isinstance(item.error, UserError) else f"{type(item.error).__name__}: "
        return Answer({**item.echoed, "error": f"{name}{item.error}"})

    def request_of(self, value: Any) -> JsonDict:
        """Returns the request for an input of `predict_many`."""
        if isinstance(value, dict):
            return value
        return dict(zip(self.fields, value if isinstance(value, tuple) else (value,)))

    def predict_many(self, inputs: Iterable[Any]) -> list[Answer]:
        """Returns the answers to many inputs, in their order. Shows a progress bar if there are more than `WINDOW`.

        An input is a sentence (raw text, or a list of words), a tuple of the arguments of `predict`, such as a source
        and its translation, or a request.
        """
        requests = [(f"item {i}", self.request_of(each)) for i, each in enumerate(inputs)]
        total, answers = len(requests), self.stream(requests)
        return list(Tqdm.tqdm(answers, total=total, desc="predicting", disable=total <= WINDOW))

    def predict_json(self, inputs: JsonDict) -> JsonDict:
        return next(self.stream([("", inputs)]))

    def predict_batch_json(self, inputs: list[JsonDict]) -> list[JsonDict]:
        if not isinstance(inputs, list):
            raise request_error(f"expected a list of objects, got {quote(inputs)}")
        return list(self.stream((f"item {i}", each) for i, each in enumerate(inputs)))

    def predict_instance(self, instance: Instance) -> JsonDict:
        return self.predict_batch_instance([instance])[0]

    def predict_batch_instance(self, instances: list[Instance]) -> list[JsonDict]:
        return list(self.stream(("", instance) for instance in instances))

    def _json_to_instance(self, json_dict: JsonDict) -> Instance:
        item = self.item_of(json_dict)
        if item.error is not None:
            raise item.error
        return item.instance

    def load_line(self, line: str) -> JsonDict:
        """Returns the request of a line. Raises a `UserError` if the line is not a JSON object."""
        if next(self._lines_read) == 0:
            line = line.removeprefix("\ufeff")
        if self.text_field and self.input_format == "text":
            return {self.text_field: line.rstrip("\r\n")}
        try:
            return parse_object(line)
        except ValueError as error:
            hint = ""
            if not line.lstrip().startswith("{"):
                hint = "; a file in the format of the training data needs --use-dataset-reader"
                if self.text_field:
                    hint += """, one of sentences --predictor-args '{"input_format": "text"}'"""
            raise UserError(f"{error}{hint}") from None

    def dump(self, answer: Answer, number: int) -> str:
        """Returns an answer in the output format. `number` is its position in the output, from 0."""
        if self.output_format == "json":
            return json.dumps(answer, ensure_ascii=False) + "\n"
        prediction = Prediction(number, answer, answer.record, self.writer_options)
        return self._dataset_reader.writers[self.output_format](self._dataset_reader, prediction)

    def dump_line(self, outputs: JsonDict) -> str:
        """Returns an answer in the output format, for AllenNLP's `predict`, which writes one file."""
        answer: Any = outputs
        return self.dump(answer, next(self._lines_written))
