from typing import Any, ClassVar, Dict, List, Tuple, Type, Union

from allennlp.common.util import JsonDict
from allennlp.predictors import Predictor
from overrides import overrides

from allennlp_nef.data.dataset_readers import SentencePairsReader, UntaggedReader
from allennlp_nef.predictors.sentence_predictor import SentencePredictor


@Predictor.register("sentence_pair")
class SentencePairPredictor(SentencePredictor):
    """Compares two sentences, by a model `sentence_pair`.

    A request is a JSON object:

        {"first": "A man is singing", "second": "Nobody is singing"}

    `first` and `second` are strings, which the dataset reader splits, or lists of words. The answer has `first` and
    `second`, the words; `label` or, from 1 to 5, `score`; and `probabilities`, an object with the probability of each
    label or score.

    Registered as a `Predictor` with name "sentence_pair".

    # Parameters

    model : `Model`
        `sentence_pair`.
    dataset_reader : `DatasetReader`
        `sentence_pairs`.
    max_tokens, max_batch, batch_size
        See `SentencePredictor`.
    """

    fields: ClassVar[Tuple[str, ...]] = ("first", "second")
    reader_type: ClassVar[Type[UntaggedReader]] = SentencePairsReader

    def predict(self, first: Union[str, List[str]], second: Union[str, List[str]]) -> JsonDict:
        """The answer to one request, from Python."""
        return self.predict_json({"first": first, "second": second})

    @overrides
    def to_answer(self, output: Dict[str, Any]) -> JsonDict:
        names = ("label", "score", "probabilities")
        return {name: output[name] for name in names if name in output}
