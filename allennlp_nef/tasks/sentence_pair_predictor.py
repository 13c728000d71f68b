"""The predictor for sentence pairs."""

from functools import partial
from typing import Any

from allennlp.common.util import JsonDict
from allennlp.models import Model
from allennlp.predictors import Predictor

from allennlp_nef.data.dataset_readers.conllu import fault_of_heads
from allennlp_nef.data.tokenizers import split_text
from allennlp_nef.errors import UserError
from allennlp_nef.predictors.base import Item, UntaggedPredictor
from allennlp_nef.predictors.requests import TEXT
from allennlp_nef.tasks.sentence_pairs_reader import SentencePairsReader


@Predictor.register("sentence_pair")
class SentencePairPredictor(UntaggedPredictor):
    """Compares two sentences with the `sentence_pair` model, or with `esim` from allennlp-models.

    A request is a JSON object:

        {"first": "A man is singing", "second": "Nobody is singing"}

    `first` and `second` are raw text or lists of words. A model with a `tree_encoder`
    also needs `first_heads` and `second_heads`, the number of each word's head, from 1, or 0 for the root.

    The answer has the words, under the `names` of the reader; `label` or `score` (from 1 to 5); and `probabilities`, an
    object with the probability of each label or score.

    For the parameters see `NefPredictor`.
    """

    task = "pair"
    _dataset_reader: SentencePairsReader

    def __init__(self, model: Model, dataset_reader: SentencePairsReader, **options: Any) -> None:
        has_trees = getattr(model, "tree_encoder", None) is not None
        self.required = ("first", "second", *(("first_heads", "second_heads") if has_trees else ()))
        heads = (lambda value: isinstance(value, list), "a list of numbers")
        self.fields = {name: heads if name.endswith("_heads") else TEXT for name in self.required}
        super().__init__(model, dataset_reader, **options)

    def predict(
        self, first: str | list[str], second: str | list[str], **heads: list[int]
    ) -> JsonDict:
        """Returns the answer to a pair, with `first_heads` and `second_heads` if the model needs them."""
        return self.predict_json({"first": first, "second": second, **heads})

    def to_item(self, request: dict[str, Any]) -> Item:
        split = partial(split_text, tokenizer=self._dataset_reader.tokenizer)
        sides = [self.split_field(request, name, split)[0] for name in ("first", "second")]
        heads = [request[name] for name in self.required[2:]]
        for name, words, numbers in zip(self.required[2:], sides, heads):
            in_range = [type(n) is int and 0 <= n <= len(words) for n in numbers]
            if len(numbers) != len(words) or not all(in_range):
                raise UserError(f"{name}: expected {len(words)} numbers from 0 to {len(words)}")
            fault = fault_of_heads(numbers)
            if fault:
                raise UserError(f"{name}: {fault[1]}")
        first, second = sides
        given = (heads[0], heads[1]) if heads else None
        return Item(self._dataset_reader.text_to_instance(first, second, heads=given))

    def to_answer(self, output: dict[str, Any], item: Item) -> JsonDict:
        answer = dict(zip(self._dataset_reader.text_fields, item.metadata["sides"]))
        if "label_probs" in output:  # esim
            labels = self._model.vocab.get_index_to_token_vocabulary("labels")
            named = {labels[i]: p for i, p in enumerate(output["label_probs"].tolist())}
            output = {**output, "probabilities": named}
        names = ("label", "score", "probabilities")
        return {**answer, **{name: output[name] for name in names if name in output}}
