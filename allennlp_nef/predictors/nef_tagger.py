"""The predictor for tagged sentences."""

from collections.abc import Mapping
from functools import partial
from typing import Any

from allennlp.common import Params
from allennlp.common.util import JsonDict
from allennlp.data.tokenizers import Tokenizer
from allennlp.models import Model
from allennlp.predictors import Predictor

from allennlp_nef.data.chunks import OUTSIDE
from allennlp_nef.data.dataset_readers.base import SentenceReader
from allennlp_nef.data.files import find_words
from allennlp_nef.data.tokenizers import split_text
from allennlp_nef.errors import UserError
from allennlp_nef.predictors.base import Item
from allennlp_nef.predictors.requests import FLAG, PROBABILITY, Check
from allennlp_nef.predictors.tagging import ShownTrace, TaggingPredictor


@Predictor.register("nef_tagger")
class NefTaggerPredictor(TaggingPredictor):
    """Tags sentences with parts of speech, named entities, or whatever the model was trained on.

    A request is a JSON object:

        {"sentence": "Anna met Paul in Rome .", "attention": true}

    It has either `sentence`, raw text that the tokenizer splits, or `tokens`, a list of words.
    `attention`, `trace`, `label_probabilities` and `min_probability` are optional and take precedence over the options
    of the predictor.

    The answer has `tokens`, `tags` and the `probabilities` of the tags, and, if the labels are chunk tags, `spans`,
    each with `start` and `end` (characters of the sentence, or of the words joined by spaces if they are a list),
    `type`, `text` and `probability`. The answer to a `sentence` has `offsets`, the start and end of each word. If
    requested, the answer has `label_probabilities` (for each label, its probability for each word), `attention` (steps
    or words x words) and `trace` (a `SentenceTrace` as an object); the last two are `null` if the model has none.

    With `min_probability`, spans with a lower probability are left out, and their words are tagged O with the
    probability of O; the trace still has them. If the labels are not chunk tags, the answer has `uncertain`, the
    indices of the words whose tags have a lower probability.

    # Parameters

    model : `NefTagger`
    dataset_reader : `SentenceReader`
    min_probability : `float`, optional (default = `None`)
        From 0 to 1.
    tokenizer : `str` or `dict[str, Any]`, optional (default = `None`, the tokenizer of the dataset reader)
        The registered name of a `Tokenizer`, such as "just_spaces", or its options, such as `{"type": "sacremoses",
        "language": "de"}`.
    attention, trace, label_probabilities, output_format, input_format, on_error, keep_fields, max_tokens, batch_size
        See `TaggingPredictor` and `NefPredictor`. The output format "conll" has columns as `conlleval` reads them
        (with `-d '\\t'` if tabs separate them); "conllu" is the input file with the predicted tags.
    """

    _dataset_reader: SentenceReader
    text_field = "sentence"
    fields: Mapping[str, Check] = {
        "sentence": (lambda value: isinstance(value, str), "a string"),
        "tokens": (lambda value: isinstance(value, list), "a list of words"),
        "attention": FLAG,
        "trace": FLAG,
        "label_probabilities": FLAG,
        "min_probability": PROBABILITY,
    }

    def __init__(
        self,
        model: Model,
        dataset_reader: SentenceReader,
        min_probability: float | None = None,
        tokenizer: str | dict[str, Any] | None = None,
        **options: Any,
    ) -> None:
        super().__init__(model, dataset_reader, **options)
        self.task = "chunks" if self._model.has_chunks else "tags"
        self.set_options(min_probability=min_probability)
        self.tokenizer = dataset_reader.tokenizer
        if tokenizer is not None:
            params = {"type": tokenizer} if isinstance(tokenizer, str) else dict(tokenizer)
            self.tokenizer = Tokenizer.from_params(Params(params))

    def predict(self, sentence: str | list[str], **options: Any) -> JsonDict:
        """Returns the answer to a sentence (raw text, or a list of words) and the options of a request."""
        return self.predict_json({**self.request_of(sentence), **options})

    def trace(self, sentence: str | list[str]) -> ShownTrace:
        """Returns how the model tagged a sentence, step by step. Raises a `UserError` if it has no trace."""
        return self._trace_of(self.request_of(sentence))

    def request_of(self, value: Any) -> JsonDict:
        return {"tokens": value} if isinstance(value, list) else super().request_of(value)

    def to_item(self, request: dict[str, Any]) -> Item:
        sentence, tokens = request.get("sentence"), request.get("tokens")
        if (sentence is None) == (tokens is None):
            raise UserError("expected either sentence or tokens")
        name = "sentence" if tokens is None else "tokens"
        split = partial(split_text, tokenizer=self.tokenizer)
        words, offsets = self.split_field(request, name, split)
        item = Item(self._dataset_reader.text_to_instance(words))
        if offsets is not None:
            item.metadata.update(text=sentence, offsets=offsets)
        return item

    def to_answer(self, output: dict[str, Any], item: Item) -> JsonDict:
        answer: JsonDict = {"tokens": item.metadata["words"]}
        names = ("tags", "probabilities", "spans")
        answer.update({name: output[name] for name in names if name in output})
        limit = item.options["min_probability"]
        if limit is not None and "spans" in answer:
            self._leave_out_spans(answer, limit, output["class_probabilities"])
        elif limit is not None:
            values = enumerate(answer["probabilities"])
            answer["uncertain"] = [index for index, value in values if value < limit]
        if "spans" in answer:
            answer["spans"] = _in_characters(answer["spans"], item.metadata)
        if "offsets" in item.metadata:
            answer["offsets"] = [list(span) for span in item.metadata["offsets"]]
        return {**answer, **super().to_answer(output, item)}

    def _leave_out_spans(self, answer: JsonDict, limit: float, table: Any) -> None:
        """Leaves out spans whose probability is below the limit; `table` is (words, labels)."""
        labels = self._model.tag_head.labels
        outside = (
            table[:, labels.index(OUTSIDE)].tolist() if OUTSIDE in labels else [0.0] * len(table)
        )
        spans = answer["spans"]
        answer["tags"] = list(answer["tags"])  # the trace has the same list
        answer["spans"] = [span for span in spans if span["probability"] >= limit]
        for span in spans:
            if span["probability"] < limit:
                for index in range(span["start"], span["end"]):
                    answer["tags"][index] = OUTSIDE
                    answer["probabilities"][index] = outside[index]


def _in_characters(spans: list[dict[str, Any]], metadata: dict[str, Any]) -> list[dict[str, Any]]:
    """Returns spans with character positions in place of word positions."""
    words = metadata["words"]
    text = metadata.get("text", " ".join(words))
    offsets = metadata.get("offsets") or find_words(text, words)
    places = [(offsets[span["start"]][0], offsets[span["end"] - 1][1]) for span in spans]
    return [
        {**span, "start": start, "end": end, "text": text[start:end]}
        for span, (start, end) in zip(spans, places)
    ]
