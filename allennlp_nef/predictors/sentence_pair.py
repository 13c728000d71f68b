from typing import Any, ClassVar

from allennlp.common.util import JsonDict
from allennlp.data import Instance
from allennlp.predictors import Predictor
from overrides import overrides

from allennlp_nef.data.dataset_readers import SentencePairsReader, UntaggedReader
from allennlp_nef.data.formats.conllu import check_heads
from allennlp_nef.errors import DataFormatError
from allennlp_nef.predictors.errors import request_error
from allennlp_nef.predictors.requests import check_fields
from allennlp_nef.predictors.sentence_predictor import SentencePredictor


@Predictor.register("sentence_pair")
class SentencePairPredictor(SentencePredictor):
    """Compares two sentences, by a model `sentence_pair`, or by `esim` of allennlp-models.

    A request is a JSON object:

        {"first": "A man is singing", "second": "Nobody is singing"}

    `first` and `second` are strings, which the dataset reader splits, or lists of words. A model with a `tree_encoder`
    also needs `first_heads` and `second_heads`: of each word the number of its head, from 1; 0 for the root.

    The answer has `first` and `second`, the words; `label` or, from 1 to 5, `score`; and `probabilities`, an object
    with the probability of each label or score.

    Registered as a `Predictor` with name "sentence_pair".

    # Parameters

    model : `Model`
        `sentence_pair` or `esim`.
    dataset_reader : `DatasetReader`
        `sentence_pairs`.
    max_tokens, max_batch, batch_size, on_error
        See `CheckedPredictor`.
    """

    task = "pair"
    fields: ClassVar[tuple[str, ...]] = ("first", "second")
    heads: ClassVar[tuple[str, ...]] = ("first_heads", "second_heads")
    reader_type: ClassVar[type[UntaggedReader]] = SentencePairsReader
    _dataset_reader: SentencePairsReader

    def predict(
        self,
        first: str | list[str],
        second: str | list[str],
        first_heads: list[int] | None = None,
        second_heads: list[int] | None = None,
    ) -> JsonDict:
        """The answer to one request, from Python."""
        heads = dict(zip(self.heads, (first_heads, second_heads)))
        given = {name: numbers for name, numbers in heads.items() if numbers is not None}
        return self.predict_json({"first": first, "second": second, **given})

    @property
    def _has_trees(self) -> bool:
        return getattr(self._model, "tree_encoder", None) is not None

    @overrides
    def needed_fields(self) -> list[str]:
        return [*self.fields, *(self.heads if self._has_trees else ())]

    @overrides
    def parse(self, request: Any, where: str = "") -> list[Any]:
        if not self._has_trees:
            return super().parse(request, where)
        check_fields(request, self.needed_fields(), (), where)
        sentences = {name: request[name] for name in self.fields if name in request}
        first, second = super().parse(sentences, where)
        for name, words in zip(self.heads, (first, second)):
            try:
                check_heads(request.get(name), len(words), name)
            except DataFormatError as error:
                raise request_error(f"{where}{error}") from None
        return [first, second, tuple(request[name] for name in self.heads)]

    @overrides
    def to_instance(self, request: Any) -> Instance:
        first, second, *heads = request
        return self._dataset_reader.text_to_instance(
            first, second, heads=heads[0] if heads else None
        )

    @overrides
    def to_answer(self, output: dict[str, Any]) -> JsonDict:
        if "label_probs" in output:  # esim
            names = self._model.vocab.get_index_to_token_vocabulary("labels")
            chances = {names[i]: float(p) for i, p in enumerate(output["label_probs"])}
            output = {**output, "probabilities": chances}
        parts = ("label", "score", "probabilities")
        found = {name: output[name] for name in parts if name in output}
        return {**super().to_answer(output), **found}
