"""The predictor for sentence classification."""

from collections.abc import Mapping
from functools import partial
from typing import Any

from allennlp.common.util import JsonDict
from allennlp.data import Instance
from allennlp.data.fields import LabelField
from allennlp.predictors import Predictor

from allennlp_nef.data.tokenizers import split_text
from allennlp_nef.predictors.base import Item, UntaggedPredictor
from allennlp_nef.predictors.requests import TEXT, Check
from allennlp_nef.tasks.sentence_classes import LabeledSentencesReader


@Predictor.register("sentence_classifier")
class SentenceClassifierPredictor(UntaggedPredictor):
    """Labels sentences with AllenNLP's `basic_classifier` model and the `labeled_sentences` reader.

    A request is a JSON object, such as `{"sentence": "Where is Oslo?"}`, with raw text or a list of words. The
    answer has `tokens`, `label` and `probabilities`, an object with the probability of each label. Unlike AllenNLP's
    `text_classifier`, it names the labels.

    For the parameters see `NefPredictor`.
    """

    task = "class"
    fields: Mapping[str, Check] = {"sentence": TEXT}
    required = ("sentence",)
    text_field = "sentence"
    _dataset_reader: LabeledSentencesReader

    def predict(self, sentence: str | list[str]) -> JsonDict:
        """Returns the answer to a sentence."""
        return self.predict_json({"sentence": sentence})

    def to_item(self, request: dict[str, Any]) -> Item:
        split = partial(split_text, tokenizer=self._dataset_reader.tokenizer)
        words, _ = self.split_field(request, "sentence", split)
        return Item(self._dataset_reader.text_to_instance(words))

    def to_answer(self, output: dict[str, Any], item: Item) -> JsonDict:
        names = self._model.vocab.get_index_to_token_vocabulary(
            self._dataset_reader.label_namespace
        )
        probabilities = {names[i]: p for i, p in enumerate(output["probs"].tolist())}
        words = item.metadata["words"]
        return {"tokens": words, "label": output["label"], "probabilities": probabilities}

    def predictions_to_labeled_instances(
        self, instance: Instance, outputs: dict[str, Any]
    ) -> list[Instance]:
        labeled = instance.duplicate()
        label = LabelField(int(outputs["probs"].argmax()), skip_indexing=True)
        labeled.add_field("label", label)
        return [labeled]
