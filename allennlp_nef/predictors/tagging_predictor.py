import json
from typing import Any, ClassVar, Dict, Iterable, Iterator, List, Tuple, cast

from allennlp.common.checks import ConfigurationError
from allennlp.common.util import JsonDict
from allennlp.data import DatasetReader, Instance
from allennlp.models import Model
from allennlp.predictors import Predictor
from overrides import overrides

from allennlp_nef.data.metadata import TaggingMetadata
from allennlp_nef.models import NefTagger
from allennlp_nef.models.decision_trace import Trace, wants_trace
from allennlp_nef.models.description import description_of
from allennlp_nef.models.tag_colours import tag_colours
from allennlp_nef.modules.checks import check_integers
from allennlp_nef.predictors.batches import batches_of, metadata_of
from allennlp_nef.predictors.errors import describe, request_error

WORDS_AN_ITEM = 50
"""How many words, times the items that it may have, a list has at most."""


class Answer(Dict[str, Any]):
    """A JSON object that knows the sentence which it answers for."""

    metadata: TaggingMetadata


class TaggingPredictor(Predictor):
    """What the predictors of this package share: checked requests, batches, output formats.

    A request that cannot be answered raises a `ValueError` that names the field, and in a list of requests the item,
    from 0; `allennlp serve` answers it with status 400. Implement `task`, `parse`, `to_instance`, `to_answer` and
    `format`.

    The request `{"describe": true}` is answered with what a page for the model has to know (`description`).

    # Parameters

    model : `Model`
    dataset_reader : `DatasetReader`
    output_format : `str`, optional (default = `"json"`)
        What `allennlp predict` writes: one of `output_formats`; "json" is an object a line. Lone surrogates, which
        UTF-8 has no bytes for, are written as escapes.
    attention : `bool`, optional (default = `False`)
        Whether to answer every request with the attention, asked for or not.
    trace : `bool`, optional (default = `False`)
        Whether to answer every request with its `Trace`, asked for or not.
    max_tokens : `int`, optional (default = `1000`)
        At least 1. Requests with more words than this are refused, and those whose longest word, times their words, has
        more characters than 1000 times this. (What a dataset reader reads is not limited.)
    max_batch : `int`, optional (default = `1000`)
        At least 1. Lists of more requests than this are refused, and lists of more words than 50 times this. So are
        lists that ask for the steps of long sentences, the squares of whose lengths add up to more than the square of
        `max_tokens`.
    batch_size : `int`, optional (default = `64`)
        At least 1. How many sentences go through the model at once; fewer where they are long.
    """

    _model: NefTagger
    output_formats: ClassVar[Tuple[str, ...]] = ("json",)

    def __init__(
        self,
        model: Model,
        dataset_reader: DatasetReader,
        output_format: str = "json",
        attention: bool = False,
        trace: bool = False,
        max_tokens: int = 1000,
        max_batch: int = 1000,
        batch_size: int = 64,
    ) -> None:
        super().__init__(model, dataset_reader)
        if output_format not in self.output_formats:
            raise ConfigurationError(
                f"output_format: expected one of {', '.join(self.output_formats)}, got {output_format!r}"
            )
        check_integers(max_tokens=max_tokens, max_batch=max_batch, batch_size=batch_size)
        for name, wanted in (("attention", attention), ("trace", trace)):
            if not isinstance(wanted, bool):
                raise ConfigurationError(f"{name}: expected true or false, got {wanted!r}")
        if output_format != "json" and (attention or trace):
            raise ConfigurationError(
                f"attention, trace: expected output_format json, which has them, got {output_format}"
            )
        self.output_format = output_format
        self.attention = attention
        self.always_trace = trace
        self.max_tokens = max_tokens
        self.max_batch = max_batch
        self.batch_size = batch_size
        self._requests_loaded = 0
        self._sentences_dumped = 0

    @property
    def task(self) -> str:
        """What the model does: "word_qe", "chunks" (entities and the like) or "tags"."""
        raise NotImplementedError

    def parse(self, request: Any, where: str = "") -> Any:
        """Checks a request, decoded from JSON; `where` stands before each message. Raises `request_error`."""
        raise NotImplementedError

    def to_instance(self, request: Any) -> Instance:
        """The instance of a request that `parse` returned."""
        raise NotImplementedError

    def to_answer(self, output: Dict[str, Any]) -> JsonDict:
        """The answer, from what the model puts out for a sentence."""
        raise NotImplementedError

    def format(self, answer: Answer, index: int) -> str:
        """Answer number `index`, from 0, in the `output_format`, which is not "json"; with its line end."""
        raise NotImplementedError

    @overrides
    def load_line(self, line: str) -> JsonDict:
        """The request of a line, checked here since this is where its number is known (blank lines are not counted)."""
        self._requests_loaded += 1
        return self._load(line, f"request {self._requests_loaded}: ")

    def instance_of_line(self, line: str, where: str) -> Instance:
        """The instance of a line that holds a request; `where` stands before each message. Raises `request_error`."""
        return self._json_to_instance(self._load(line, where))

    def _load(self, line: str, where: str) -> JsonDict:
        try:
            request = json.loads(line.lstrip("\ufeff"))
        except (ValueError, RecursionError) as error:
            raise request_error(
                f"{where}expected a JSON object on one line, got {describe(line.strip())} ({error})"
            ) from error
        self.parse(request, where)
        return request

    @overrides
    def dump_line(self, outputs: JsonDict) -> str:
        index = self._sentences_dumped
        self._sentences_dumped += 1
        if self.output_format == "json":
            return json.dumps(outputs) + "\n"
        text = self.format(cast(Answer, outputs), index)
        return text.encode("utf-8", "backslashreplace").decode("utf-8")

    def description(self) -> JsonDict:
        """What the model is, as a JSON object.

        `task`; `title`, such as "NEF-F csoftmax, N = 5"; `labels`; `colours`, one for each label; `step_name`, what a
        row of a trace is, or null where the model keeps none; `max_tokens` and `max_batch`, the limits of a request.
        """
        outside = description_of(self._model)
        return {
            "task": self.task,
            "title": outside.title,
            "labels": outside.labels,
            "colours": tag_colours(outside.labels),
            "step_name": outside.step_name,
            "max_tokens": self.max_tokens,
            "max_batch": self.max_batch,
        }

    @overrides
    def predict_json(self, inputs: JsonDict) -> JsonDict:
        if inputs == {"describe": True} and inputs["describe"] is True:  # 1 is equal to it
            return self.description()
        return super().predict_json(inputs)

    @overrides
    def predict_batch_json(self, inputs: List[JsonDict]) -> List[JsonDict]:
        if not isinstance(inputs, list):
            raise request_error(f"expected a list of objects, got {describe(inputs)}")
        if len(inputs) > self.max_batch:
            raise request_error(f"expected at most {self.max_batch} items, got {len(inputs)}")
        requests = [self.parse(item, f"item {index}: ") for index, item in enumerate(inputs)]
        instances = [self._prepared(self.to_instance(request)) for request in requests]
        words = sum(
            len(item.tokens) + len(item.source or ()) for item in map(metadata_of, instances)
        )
        if words > WORDS_AN_ITEM * self.max_batch:
            raise request_error(
                f"expected at most {WORDS_AN_ITEM * self.max_batch} words in all, got {words}"
            )
        # The steps of a sentence are at most as many as its words: so many numbers an array.
        size = sum(
            len(item.tokens) ** 2 for item in map(metadata_of, instances) if wants_trace(item)
        )
        if size > self.max_tokens**2:
            raise request_error(
                "attention, trace: expected sentences the squares of whose lengths add up to at most "
                f"{self.max_tokens**2}, got {size}"
            )
        return list(self._answers(instances))

    @overrides
    def predict_instance(self, instance: Instance) -> JsonDict:
        return self.predict_batch_instance([instance])[0]

    @overrides
    def predict_batch_instance(self, instances: List[Instance]) -> List[JsonDict]:
        return list(self._answers(map(self._prepared, instances)))

    @overrides
    def _json_to_instance(self, json_dict: JsonDict) -> Instance:
        return self.to_instance(self.parse(json_dict))

    def _trace_of(self, request: JsonDict) -> Trace:
        """Raises `ConfigurationError` where the model keeps no trace."""
        instance = self._prepared(self._json_to_instance({**request, "trace": True}))
        output: Dict[str, Any] = self._model.forward_on_instances([instance])[0]
        if output.get("decisions") is None:
            raise ConfigurationError(
                "trace: expected a model with neural_easy_first, label_attention or position_aware_self_attention, "
                "got one that keeps no trace"
            )
        return output["decisions"]

    def _prepared(self, instance: Instance) -> Instance:
        """The instance, ready for the model, with what the options ask for."""
        self._dataset_reader.apply_token_indexers(instance)
        metadata = metadata_of(instance)
        metadata.keep_trace |= self.attention
        metadata.keep_decisions |= self.always_trace
        return instance

    def _answers(self, instances: Iterable[Instance]) -> Iterator[JsonDict]:
        for group in batches_of(instances, self.batch_size):
            for output in self._model.forward_on_instances(group):
                answer = Answer(self.to_answer(output))
                answer.metadata = cast(TaggingMetadata, output["metadata"])
                if answer.metadata.keep_trace:
                    answer["attention"] = output.get("attention")
                if answer.metadata.keep_decisions:
                    decisions: Any = output.get("decisions")
                    answer["trace"] = decisions and decisions.to_json()
                yield answer
