from collections.abc import Sequence
from typing import Any, ClassVar

from allennlp.common.checks import ConfigurationError
from allennlp.common.util import JsonDict
from allennlp.data import DatasetReader, Instance
from allennlp.models import Model
from allennlp.predictors import Predictor
from overrides import overrides

from allennlp_nef.data.dataset_readers import UntaggedReader
from allennlp_nef.modules.registered_name import registered_name
from allennlp_nef.predictors.checked_predictor import CheckedPredictor
from allennlp_nef.predictors.requests import check_fields, words_of


class SentencePredictor(CheckedPredictor):
    """Base class of the predictors of models without tags. `parse` returns what `text_to_instance` takes of a request.

    # Parameters

    model : `Model`
    dataset_reader : `DatasetReader`
    options
        See `CheckedPredictor`.
    """

    fields: ClassVar[tuple[str, ...]]
    """Those of a request: a string, which the dataset reader splits, or a list of words."""
    model_type: ClassVar[type[Model]] = Model
    """That of the model."""
    reader_type: ClassVar[type[UntaggedReader]]
    """That of the dataset reader."""
    _dataset_reader: UntaggedReader

    def __init__(self, model: Model, dataset_reader: DatasetReader, **options: Any) -> None:
        if not isinstance(model, self.model_type):
            raise ConfigurationError(
                f"model: the predictor {registered_name(Predictor, self)} expects "
                f"{registered_name(Model, self.model_type)}, got {type(model).__name__}"
            )
        if not isinstance(dataset_reader, self.reader_type):
            raise ConfigurationError(
                f"dataset_reader: this predictor expects {self.reader_type.__name__}, got "
                f"{type(dataset_reader).__name__}"
            )
        super().__init__(model, dataset_reader, **options)

    @overrides
    def needed_fields(self) -> list[str]:
        return list(self.fields)

    @overrides
    def description(self) -> JsonDict:
        """What the model is, as a JSON object.

        `task`; `title`, the registered name of the model; `fields`, those that a request needs; `max_tokens` and
        `max_batch`, the limits of a request.
        """
        title = registered_name(Model, self._model)
        return {**super().description(), "title": title, "fields": self.needed_fields()}

    @overrides
    def parse(self, request: Any, where: str = "") -> Any:
        check_fields(request, self.fields, (), where)
        split = self._dataset_reader.split
        return [
            words_of(request, name, self.max_tokens, where, split=split) for name in self.fields
        ]

    @overrides
    def sides_of(self, request: Any) -> Sequence[list[str]]:
        sides: list[list[str]] = request[: len(self._dataset_reader.text_fields)]
        return sides

    @overrides
    def to_instance(self, request: Any) -> Instance:
        return self._dataset_reader.text_to_instance(*request)

    @overrides
    def to_answer(self, output: dict[str, Any]) -> JsonDict:
        """The words of each sentence."""
        return dict(zip(self._dataset_reader.text_fields, output["metadata"].sides))
