from typing import Any, ClassVar, Dict, List, Tuple, Type

from allennlp.common.checks import ConfigurationError
from allennlp.common.util import JsonDict
from allennlp.data import DatasetReader, Instance
from allennlp.models import Model
from allennlp.predictors import Predictor
from overrides import overrides

from allennlp_nef.data.dataset_readers import UntaggedReader
from allennlp_nef.data.metadata import metadata_of
from allennlp_nef.modules.checks import check_integers
from allennlp_nef.modules.registered_name import registered_name
from allennlp_nef.predictors.batches import batches_of
from allennlp_nef.predictors.lines import LoadedRequest, load_request
from allennlp_nef.predictors.requests import (
    asks_for_description,
    check_fields,
    check_list,
    words_of,
)


class SentencePredictor(Predictor):
    """Base class of the predictors of models without tags: checked requests, batches.

    A request that cannot be answered raises a `ValueError` that names the field and, in a list of requests, the item,
    from 0; `allennlp serve` answers it with status 400. Implement `to_answer`.

    The answer to the request `{"describe": true}` is the `description`, which a page for the model needs.

    # Parameters

    model : `Model`
    dataset_reader : `DatasetReader`
    max_tokens : `int`, optional (default = `1000`)
        At least 1. The limit for the words of a sentence in a request.
    max_batch : `int`, optional (default = `1000`)
        At least 1. The limit for the requests of a list.
    batch_size : `int`, optional (default = `64`)
        At least 1. How many requests go through the model at once; fewer where they are long.
    """

    task: ClassVar[str]
    """"class", "pair" or "dependencies"."""
    fields: ClassVar[Tuple[str, ...]]
    """Those of a request: a string, which the dataset reader splits, or a list of words."""
    reader_type: ClassVar[Type[UntaggedReader]]
    """That of the dataset reader."""
    _dataset_reader: UntaggedReader

    def __init__(
        self,
        model: Model,
        dataset_reader: DatasetReader,
        max_tokens: int = 1000,
        max_batch: int = 1000,
        batch_size: int = 64,
    ) -> None:
        if not isinstance(dataset_reader, self.reader_type):
            raise ConfigurationError(
                f"dataset_reader: this predictor expects {self.reader_type.__name__}, got "
                f"{type(dataset_reader).__name__}"
            )
        super().__init__(model, dataset_reader)
        check_integers(max_tokens=max_tokens, max_batch=max_batch, batch_size=batch_size)
        self.max_tokens, self.max_batch, self.batch_size = max_tokens, max_batch, batch_size
        self._requests_loaded = 0

    def to_answer(self, output: Dict[str, Any]) -> JsonDict:
        """What the answer has besides the words, from the readable output of the model for an instance."""
        raise NotImplementedError

    def outputs_of(self, instances: List[Instance]) -> List[Dict[str, Any]]:
        """The readable output of the model for each instance of a batch."""
        outputs: Any = self._model.forward_on_instances(instances)
        return outputs

    def needed_fields(self) -> List[str]:
        """The fields without which this model answers no request."""
        return list(self.fields)

    def description(self) -> JsonDict:
        """What the model is, as a JSON object.

        `task`; `title`, the registered name of the model; `fields`, those that a request needs; `max_tokens` and
        `max_batch`, the limits of a request.
        """
        return {
            "task": self.task,
            "title": registered_name(Model, self._model),
            "fields": self.needed_fields(),
            "max_tokens": self.max_tokens,
            "max_batch": self.max_batch,
        }

    @overrides
    def predict_json(self, inputs: JsonDict) -> JsonDict:
        if asks_for_description(inputs):
            return self.description()
        return super().predict_json(inputs)

    def parse(self, request: Any, where: str = "") -> List[Any]:
        """What `text_to_instance` takes of a request: the words of each field.

        Raises `request_error`, its message after `where`.
        """
        noun = "field" if len(self.fields) == 1 else "fields"
        check_fields(request, self.fields, f"{noun} {' and '.join(self.fields)}", where)
        split = self._dataset_reader.split
        return [
            words_of(request, name, self.max_tokens, where, split=split) for name in self.fields
        ]

    @overrides
    def load_line(self, line: str) -> JsonDict:
        """The request of a line. It is checked here, where its number is known; blank lines do not count."""
        self._requests_loaded += 1
        return load_request(line, self.parse, f"request {self._requests_loaded}: ")

    @overrides
    def _json_to_instance(self, json_dict: JsonDict) -> Instance:
        return self._instance_of(json_dict, "")

    def _instance_of(self, request: Any, where: str) -> Instance:
        is_checked = isinstance(request, LoadedRequest)
        return self.instance_of(request.parsed if is_checked else self.parse(request, where))

    def instance_of(self, parsed: List[Any]) -> Instance:
        """The instance of what `parse` returned."""
        return self._dataset_reader.text_to_instance(*parsed)

    @overrides
    def predict_batch_json(self, inputs: List[JsonDict]) -> List[JsonDict]:
        check_list(inputs, self.max_batch)
        return self.predict_batch_instance(
            [self._instance_of(item, f"item {index}: ") for index, item in enumerate(inputs)]
        )

    @overrides
    def predict_instance(self, instance: Instance) -> JsonDict:
        return self.predict_batch_instance([instance])[0]

    @overrides
    def predict_batch_instance(self, instances: List[Instance]) -> List[JsonDict]:
        answers = []
        for instance in instances:
            self._dataset_reader.apply_token_indexers(instance)
        for group in batches_of(instances, self.batch_size):
            for instance, output in zip(group, self.outputs_of(group)):
                words = dict(zip(self._dataset_reader.text_fields, metadata_of(instance).sides))
                answers.append({**words, **self.to_answer(output)})
        return answers
