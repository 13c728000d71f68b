from typing import Any, ClassVar

from allennlp.common.util import JsonDict
from allennlp.models import BasicClassifier, Model
from allennlp.predictors import Predictor
from overrides import overrides

from allennlp_nef.data.dataset_readers import LabeledSentencesReader, UntaggedReader
from allennlp_nef.predictors.sentence_predictor import SentencePredictor


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
