"""Predictors for whole sentences."""

from collections.abc import Sequence
from typing import Any, ClassVar

from allennlp.common.checks import ConfigurationError
from allennlp.common.util import JsonDict
from allennlp.data import DatasetReader, Instance
from allennlp.models import BasicClassifier, Model
from allennlp.predictors import Predictor
from overrides import overrides

from allennlp_nef.data.dataset_readers import (
    LabeledSentencesReader,
    LabeledTreesReader,
    SentencePairsReader,
    UntaggedReader,
)
from allennlp_nef.data.formats.conllu import check_heads
from allennlp_nef.data.formats.labeled_sentences import LabeledTree, check_binary, parse_tree
from allennlp_nef.errors import DataFormatError
from allennlp_nef.models import TreeLstm
from allennlp_nef.modules.options import registered_name
from allennlp_nef.predictors.base import Answer, CheckedPredictor
from allennlp_nef.predictors.requests import check_fields, describe, request_error, words_of


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


@Predictor.register("sentence_classifier")
class SentenceClassifierPredictor(SentencePredictor):
    """Labels sentences, by a `basic_classifier` of AllenNLP that was trained with the reader `labeled_sentences`.

    A request is a JSON object:

        {"sentence": "Where is Oslo ?"}

    `sentence` is a string, which the dataset reader splits, or a list of words. The answer has `tokens`, `label` and
    `probabilities`, an object with the probability of each label. AllenNLP's predictor `text_classifier`, the default
    for such a model, answers the same requests with logits and indices of words.

    Registered as a `Predictor` with name "sentence_classifier".

    # Parameters

    model : `Model`
        `basic_classifier`.
    dataset_reader : `DatasetReader`
        `labeled_sentences`.
    max_tokens, max_batch, batch_size, on_error
        See `CheckedPredictor`.
    """

    task = "class"
    fields: ClassVar[tuple[str, ...]] = ("sentence",)
    reader_type: ClassVar[type[UntaggedReader]] = LabeledSentencesReader
    model_type: ClassVar[type[Model]] = BasicClassifier
    _model: BasicClassifier

    def predict(self, sentence: str | list[str]) -> JsonDict:
        """The answer to one request, from Python."""
        return self.predict_json({"sentence": sentence})

    @overrides
    def to_answer(self, output: dict[str, Any]) -> JsonDict:
        names = self._model.vocab.get_index_to_token_vocabulary(self._model._label_namespace)
        probabilities = {names[i]: float(p) for i, p in enumerate(output["probs"])}
        label = {"label": output["label"], "probabilities": probabilities}
        return {**super().to_answer(output), **label}


@Predictor.register("sentence_pair")
class SentencePairPredictor(SentencePredictor):
    """Compares two sentences, by a model `sentence_pair`, or by `esim` of allennlp-models.

    A request is a JSON object:

        {"first": "A man is singing", "second": "Nobody is singing"}

    `first` and `second` are strings, which the dataset reader splits, or lists of words. A model with a `tree_encoder`
    also needs `first_heads` and `second_heads`: of each word the number of its head, from 1; 0 for the root.

    The answer has the words, as `first` and `second` or by the names of the reader; `label` or, from 1 to 5, `score`;
    and `probabilities`, an object with the probability of each label or score.

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


@Predictor.register("tree_lstm")
class TreeLstmPredictor(SentencePredictor):
    """Labels the nodes of binary trees, by a model `tree_lstm`.

    A request is a JSON object:

        {"tree": "(0 (0 a) (0 (0 good) (0 film)))"}

    `tree` is in brackets, as in the Stanford Sentiment Treebank; its labels are not read. The answer has `tokens`, the
    words; `label` and `probabilities`, those of the root; and `tree`, with the label that is predicted for each node.

    Registered as a `Predictor` with name "tree_lstm".

    # Parameters

    model : `Model`
        `tree_lstm`.
    dataset_reader : `DatasetReader`
        `labeled_trees`.
    max_tokens, max_batch, batch_size, on_error
        See `CheckedPredictor`.
    """

    task = "class"
    fields: ClassVar[tuple[str, ...]] = ("tree",)
    reader_type: ClassVar[type[UntaggedReader]] = LabeledTreesReader
    model_type: ClassVar[type[Model]] = TreeLstm
    _dataset_reader: LabeledTreesReader

    def predict(self, tree: str) -> JsonDict:
        """The answer to one request, from Python."""
        return self.predict_json({"tree": tree})

    @overrides
    def parse(self, request: Any, where: str = "") -> list[Any]:
        check_fields(request, self.fields, (), where)
        text = request.get("tree")
        if not isinstance(text, str):
            raise request_error(f"{where}tree: expected a tree in brackets, got {describe(text)}")
        try:
            tree = parse_tree(text)
            check_binary(tree)
        except ValueError as error:
            raise request_error(f"{where}tree: {error}") from None
        words_of({"tree": tree.words}, "tree", self.max_tokens, where, is_word=bool)
        return [tree.words, tree]

    @overrides
    def to_instance(self, request: Any) -> Instance:
        return self._dataset_reader.tree_to_instance(request[1], has_labels=False)

    @overrides
    def _answer_of_output(self, instance: Instance, output: dict[str, Any]) -> Answer:
        answer = super()._answer_of_output(instance, output)
        fields: Any = instance.fields
        leaves = [leaf - 1 for leaf in fields["leaves"].labels]
        tree = LabeledTree(answer["tokens"], [], fields["heads"].labels, leaves)
        answer.update({name: output[name] for name in ("label", "probabilities")})
        answer["tree"] = tree.as_text(output["node_labels"])
        return answer
