"""The predictors of classes of sentences, of pairs, and of trees."""

from typing import Any, ClassVar

from allennlp.common.util import JsonDict
from allennlp.data import Instance
from allennlp.data.fields import LabelField
from allennlp.predictors import Predictor
from overrides import overrides

from allennlp_nef.data.dataset_readers.conllu import fault_of_heads
from allennlp_nef.data.dataset_readers.labeled_sentences import (
    LabeledSentencesReader,
    LabeledTreesReader,
)
from allennlp_nef.data.dataset_readers.sentence_pairs import SentencePairsReader
from allennlp_nef.errors import UserError
from allennlp_nef.predictors.base import Item, NefPredictor, words_of
from allennlp_nef.predictors.requests import TEXT, Check, check_words


class SentencePredictor(NefPredictor):
    """Base class of the predictors of models without tags."""

    dropped_fields = ("label", "score", "labels", "head_indices", "head_tags")

    @overrides
    def description(self) -> JsonDict:
        """What the model is, as a JSON object: `task`; `title`, the class of the model; `fields`, those that a request
        needs; and `max_tokens`."""
        title = type(self._model).__name__
        return {**super().description(), "title": title, "fields": list(self.required)}


@Predictor.register("sentence_classifier")
class SentenceClassifierPredictor(SentencePredictor):
    """Labels sentences, with AllenNLP's model `basic_classifier` and the reader `labeled_sentences`.

    A request is a JSON object, such as `{"sentence": "Where is Oslo?"}`, with raw text or a list of words. The
    answer has `tokens`, `label` and `probabilities`, an object with the probability of each label. Unlike AllenNLP's
    `text_classifier`, it names the labels.

    Registered as a `Predictor` with name "sentence_classifier". For the parameters see `NefPredictor`.
    """

    task = "class"
    fields: ClassVar[dict[str, Check]] = {"sentence": TEXT}
    required = ("sentence",)
    text_field = "sentence"
    _dataset_reader: LabeledSentencesReader

    def predict(self, sentence: str | list[str]) -> JsonDict:
        """The answer to a sentence, from Python."""
        return self.predict_json({"sentence": sentence})

    @overrides
    def to_item(self, request: dict[str, Any]) -> Item:
        tokenizer = self._dataset_reader.tokenizer
        words, _ = words_of("sentence", request["sentence"], tokenizer, self.max_tokens)
        return Item(self._dataset_reader.text_to_instance(words))

    @overrides
    def to_answer(self, output: dict[str, Any], item: Item) -> JsonDict:
        names = self._model.vocab.get_index_to_token_vocabulary(
            self._dataset_reader.label_namespace
        )
        probabilities = {names[i]: p for i, p in enumerate(output["probs"].tolist())}
        words = item.metadata["words"]
        return {"tokens": words, "label": output["label"], "probabilities": probabilities}

    @overrides(check_signature=False)
    def predictions_to_labeled_instances(
        self, instance: Instance, outputs: dict[str, Any]
    ) -> list[Instance]:
        labeled = instance.duplicate()
        label = LabelField(int(outputs["probs"].argmax()), skip_indexing=True)
        labeled.add_field("label", label)
        return [labeled]


@Predictor.register("sentence_pair")
class SentencePairPredictor(SentencePredictor):
    """Compares two sentences, with the model `sentence_pair`, or with `esim` of allennlp-models.

    A request is a JSON object:

        {"first": "A man is singing", "second": "Nobody is singing"}

    `first` and `second` are raw text or lists of words. A model with a `tree_encoder`
    also needs `first_heads` and `second_heads`, the number of the head of each word, from 1, and 0 for the root.

    The answer has the words, under the `names` of the reader; `label` or `score` (from 1 to 5); and `probabilities`, an
    object with the probability of each label or score.

    Registered as a `Predictor` with name "sentence_pair". For the parameters see `NefPredictor`.
    """

    task = "pair"
    _dataset_reader: SentencePairsReader

    @property
    def required(self) -> tuple[str, ...]:  # type: ignore[override]
        has_trees = getattr(self._model, "tree_encoder", None) is not None
        return ("first", "second", *(("first_heads", "second_heads") if has_trees else ()))

    @property
    def fields(self) -> dict[str, Check]:  # type: ignore[override]
        heads = (lambda value: isinstance(value, list), "a list of numbers")
        return {name: heads if name.endswith("_heads") else TEXT for name in self.required}

    def predict(
        self, first: str | list[str], second: str | list[str], **heads: list[int]
    ) -> JsonDict:
        """The answer to a pair, from Python, with `first_heads` and `second_heads` if the model needs them."""
        return self.predict_json({"first": first, "second": second, **heads})

    @overrides
    def to_item(self, request: dict[str, Any]) -> Item:
        tokenizer = self._dataset_reader.tokenizer
        sides = [
            words_of(name, request[name], tokenizer, self.max_tokens)[0]
            for name in ("first", "second")
        ]
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

    @overrides
    def to_answer(self, output: dict[str, Any], item: Item) -> JsonDict:
        answer = dict(zip(self._dataset_reader.text_fields, item.metadata["sides"]))
        if "label_probs" in output:  # esim
            labels = self._model.vocab.get_index_to_token_vocabulary("labels")
            named = {labels[i]: p for i, p in enumerate(output["label_probs"].tolist())}
            output = {**output, "probabilities": named}
        names = ("label", "score", "probabilities")
        return {**answer, **{name: output[name] for name in names if name in output}}


@Predictor.register("tree_lstm")
class TreeLstmPredictor(SentencePredictor):
    """Labels the nodes of binary trees, with the model `tree_lstm`.

    A request is a JSON object, such as `{"tree": "(0 (0 a) (0 (0 good) (0 film)))"}`, with a tree in brackets as in the
    Stanford Sentiment Treebank; its labels are ignored. The answer has `tokens`, the words; `label` and
    `probabilities` of the root; and `tree`, with the predicted label of each node.

    Registered as a `Predictor` with name "tree_lstm". For the parameters see `NefPredictor`.
    """

    task = "class"
    fields: ClassVar[dict[str, Check]] = {
        "tree": (lambda value: isinstance(value, str), "a tree in brackets")
    }
    required = ("tree",)
    text_field = "tree"
    _dataset_reader: LabeledTreesReader

    def predict(self, tree: str) -> JsonDict:
        """The answer to a tree, from Python."""
        return self.predict_json({"tree": tree})

    @overrides
    def to_item(self, request: dict[str, Any]) -> Item:
        try:
            item = Item(self._dataset_reader.text_to_instance(request["tree"]))
        except ValueError as error:
            raise UserError(f"tree: {error}") from None
        check_words("tree", item.metadata["words"], self.max_tokens)
        return item

    @overrides
    def to_answer(self, output: dict[str, Any], item: Item) -> JsonDict:
        tree = item.metadata["tree"].with_labels(output["node_labels"])
        parts = {name: output[name] for name in ("label", "probabilities")}
        return {"tokens": item.metadata["words"], **parts, "tree": tree}
