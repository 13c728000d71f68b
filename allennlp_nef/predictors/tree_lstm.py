from typing import Any, ClassVar

from allennlp.common.util import JsonDict
from allennlp.data import Instance
from allennlp.models import Model
from allennlp.predictors import Predictor
from overrides import overrides

from allennlp_nef.data.dataset_readers import LabeledTreesReader, UntaggedReader
from allennlp_nef.data.formats.labeled_sentences import LabeledTree, check_binary, parse_tree
from allennlp_nef.models import TreeLstm
from allennlp_nef.predictors.checked_predictor import Answer
from allennlp_nef.predictors.errors import describe, request_error
from allennlp_nef.predictors.requests import check_fields, words_of
from allennlp_nef.predictors.sentence_predictor import SentencePredictor


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
    def _answer(self, instance: Instance, output: dict[str, Any]) -> Answer:
        answer = super()._answer(instance, output)
        fields: Any = instance.fields
        leaves = [leaf - 1 for leaf in fields["leaves"].labels]
        tree = LabeledTree(answer["tokens"], [], fields["heads"].labels, leaves)
        answer.update({name: output[name] for name in ("label", "probabilities")})
        answer["tree"] = tree.as_text(output["node_labels"])
        return answer
