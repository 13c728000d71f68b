"""The predictor for tree labels."""

from collections.abc import Mapping
from typing import Any

from allennlp.common.util import JsonDict
from allennlp.predictors import Predictor

from allennlp_nef.errors import UserError
from allennlp_nef.predictors.base import Item, UntaggedPredictor
from allennlp_nef.predictors.requests import Check, check_words
from allennlp_nef.tasks.sentence_classes import LabeledTreesReader


@Predictor.register("tree_lstm")
class TreeLstmPredictor(UntaggedPredictor):
    """Labels the nodes of binary trees with the `tree_lstm` model.

    A request is a JSON object, such as `{"tree": "(0 (0 a) (0 (0 good) (0 film)))"}`, with a bracketed tree as in the
    Stanford Sentiment Treebank, whose labels are ignored. The answer has `tokens`, the words; `label` and
    `probabilities` of the root; and `tree`, with the predicted label of each node.

    For the parameters see `NefPredictor`.
    """

    task = "class"
    fields: Mapping[str, Check] = {
        "tree": (lambda value: isinstance(value, str), "a tree in brackets")
    }
    required = ("tree",)
    text_field = "tree"
    _dataset_reader: LabeledTreesReader

    def predict(self, tree: str) -> JsonDict:
        """Returns the answer to a tree."""
        return self.predict_json({"tree": tree})

    def to_item(self, request: dict[str, Any]) -> Item:
        try:
            item = Item(self._dataset_reader.text_to_instance(request["tree"]))
        except ValueError as error:
            raise UserError(f"tree: {error}") from None
        check_words("tree", item.metadata["words"], self.max_tokens)
        return item

    def to_answer(self, output: dict[str, Any], item: Item) -> JsonDict:
        tree = item.metadata["tree"].with_labels(output["node_labels"])
        parts = {name: output[name] for name in ("label", "probabilities")}
        return {"tokens": item.metadata["words"], **parts, "tree": tree}
