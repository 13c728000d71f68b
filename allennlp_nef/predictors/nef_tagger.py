"""The predictor of tagged sentences: its requests, options and answers."""

import re
from functools import partial
from typing import Any, NamedTuple

import numpy
from allennlp.common import Params
from allennlp.common.checks import ConfigurationError
from allennlp.common.util import JsonDict
from allennlp.data import DatasetReader, Instance
from allennlp.data.tokenizers import Tokenizer
from allennlp.models import Model
from allennlp.predictors import Predictor
from overrides import overrides

from allennlp_nef.data.dataset_readers import SentenceReader, WmtWordQeReader
from allennlp_nef.data.formats.characters import SplitText
from allennlp_nef.data.metadata import metadata_of
from allennlp_nef.data.tokenizers import PunctuationTokenizer, split_text
from allennlp_nef.models.base import DecodeOptions, with_options
from allennlp_nef.modules.traces import ReadableTrace
from allennlp_nef.predictors.base import TaggingPredictor
from allennlp_nef.predictors.requests import (
    check_fields,
    decode_options,
    describe,
    request_error,
    requested_options,
    split_words_of,
    words_of,
)
from allennlp_nef.predictors.word_qe import WordQePredictor

REQUIRED = ("sentence", "tokens")
"""The fields of which a request has exactly one."""
OPTIONAL = (
    "attention",
    "trace",
    "label_probabilities",
    "min_probability",
    "max_steps",
    "halting",
)


class TaggingRequest(NamedTuple):
    """A checked request."""

    tokens: list[str]
    options: DecodeOptions
    text: SplitText | None = None
    """The sentence that came, with the places of its words; None for a list of words."""

    @property
    def sides(self) -> tuple[list[str], ...]:
        """The words that are tagged."""
        return (self.tokens,)


@Predictor.register("nef_tagger", constructor="for_task")
class NefTaggerPredictor(TaggingPredictor):
    """Tags sentences: parts of speech, named entities, or whatever the model was trained on.

    A request is a JSON object:

        {"sentence": "Anna met Paul in Rome .", "attention": true}

    `sentence` is split on whitespace, or by the option `tokenizer`; `tokens`, a list of words, may take its place.
    `attention` (optional) asks for the attention of each step or word, `trace` (optional) for the fields of a
    `DecisionTrace` or `FusionTrace`, `label_probabilities` (optional) for the probabilities of all labels.
    `min_probability` (optional, from 0 to 1) takes the place of the predictor's, and
    so do `max_steps` (an integer from 1) and `halting` (an object such as `{"type": "confident", "threshold": 0.9}`,
    see `Halting`).

    The answer has `tokens`, `tags` and `probabilities` (of the tag, one a word); if the tags are those of chunks (such
    as entities) `spans`, each with `start` and `end` (words, from 0, the end exclusive), `type`, `text` and
    `probability`; and, if asked for, `label_probabilities` (by label those of each word), `attention` (steps or words x
    words) and `trace` (an object); the last two are `null` where the model has none. Where the sentence may halt, it
    also has `steps`, how many it did. With `min_probability`, spans of a lower probability are left out, and their
    words are tagged O with the probability of O; the trace still has them. Where the tags are not those of chunks, the
    answer has `uncertain` instead: the indices of the words, from 0, whose tag has a lower probability. `base_rate` is
    the share of each tag that the model was adapted to, if it was. The answer to a `sentence` has `offsets`: for each
    word the characters where it begins and after its end, from 0.

    Registered as a `Predictor` with name "nef_tagger". For a model of word-level quality estimation it is `word_qe`.

    # Parameters

    model : `Model`
        `nef_tagger`.
    dataset_reader : `DatasetReader`
        `conll_tags` or `conllu_tags`.
    output_format : `str`, optional (default = `"json"`)
        "json"; "conll", columns separated by a blank: those of the input file other than the tag's, the gold tag if it
        is known, and the predicted tag, as `conlleval` reads them (BIOUL as BIO; a blank within a word as `_`). With
        `label_probabilities`, a column before the tags has those of the word as a JSON object without blanks;
        "conllu", CoNLL-U: the sentence of the input file with the reader's column filled in, all else as it was.
    min_probability : `float`, optional (default = `None`)
        From 0 to 1: see above. For requests that have none. Without chunks only with the output format "json".
    tokenizer : `str` or `dict[str, Any]`, optional (default = `None`)
        The name of a `Tokenizer`, such as "punctuation", or an object with its `type`, such as `{"type": "sacremoses",
        "language": "de"}`: it splits sentences that are strings. None: "punctuation" where `input_format` is "text";
        else "whitespace".
    attention, trace, label_probabilities, max_tokens, max_batch, batch_size, on_error, max_steps, halting, input_format
        See `TaggingPredictor` and `CheckedPredictor`.
    """

    _dataset_reader: SentenceReader

    @classmethod
    def for_task(
        cls, model: Model, dataset_reader: DatasetReader, **options: Any
    ) -> TaggingPredictor:
        """Chooses the class that fits the dataset reader: this one, or `WordQePredictor` for quality estimation."""
        predictor = WordQePredictor if isinstance(dataset_reader, WmtWordQeReader) else cls
        return predictor(model, dataset_reader, **options)

    def __init__(
        self,
        model: Model,
        dataset_reader: DatasetReader,
        min_probability: float | None = None,
        tokenizer: None | str | dict[str, Any] = None,
        **options: Any,
    ) -> None:
        if not isinstance(dataset_reader, SentenceReader):
            raise ConfigurationError(
                "dataset_reader: the predictor nef_tagger expects conll_tags, conllu_tags or wmt_word_qe, got "
                f"{type(dataset_reader).__name__}"
            )
        super().__init__(model, dataset_reader, **options)
        self.tokenizer: Tokenizer | None = None
        """None: words are those between whitespace."""
        if tokenizer is not None:
            self.tokenizer = _tokenizer_of(tokenizer)
        elif self.input_format == "text":
            self.tokenizer = PunctuationTokenizer()
        limit = decode_options({"min_probability": min_probability}, model)
        self.options = limit.with_defaults(self.options)
        if min_probability is not None and not (
            self._model.has_chunks or self.output_format == "json"
        ):
            raise ConfigurationError(
                "min_probability: expected output_format json, which lists uncertain words, got "
                f"{self.output_format}"
            )

    def predict(
        self,
        sentence: str | list[str],
        *,
        attention: bool = False,
        min_probability: float | None = None,
        max_steps: int | None = None,
        halting: dict[str, Any] | None = None,
        label_probabilities: bool = False,
    ) -> JsonDict:
        """The answer to one request, from Python: a string, which is split, or a list of words."""
        name = "sentence" if isinstance(sentence, str) else "tokens"
        request = {name: sentence, "attention": attention, "min_probability": min_probability}
        limits = {"max_steps": max_steps, "halting": halting}
        return self.predict_json({**request, **limits, "label_probabilities": label_probabilities})

    def trace(self, sentence: str | list[str]) -> ReadableTrace:
        """How the model came to the tags. Raises `ConfigurationError` where it has no trace."""
        return self._trace_of({"sentence" if isinstance(sentence, str) else "tokens": sentence})

    @property
    def task(self) -> str:
        return "chunks" if self._model.has_chunks else "tags"

    @overrides
    def needed_fields(self) -> list[str]:
        return ["sentence"]

    @overrides
    def parse(self, request: Any, where: str = "") -> TaggingRequest:
        check_fields(request, REQUIRED, OPTIONAL, where, "or")
        given = [name for name in REQUIRED if request.get(name) is not None]
        if len(given) != 1:
            got = "both" if given else "neither"
            raise request_error(f"{where}expected one of the fields sentence and tokens, got {got}")
        name = given[0]
        wanted = str if name == "sentence" else list
        if not isinstance(request[name], wanted):
            expected = "a string" if name == "sentence" else "a list of words"
            raise request_error(
                f"{where}{name}: expected {expected}, got {describe(request[name])}"
            )
        text = None
        if name == "sentence":
            split = partial(split_text, tokenizer=self.tokenizer)
            words, text = split_words_of(request, name, self.max_tokens, where, split)
        else:
            words = words_of(request, name, self.max_tokens, where, _is_word)
        return TaggingRequest(words, requested_options(request, self._model, where), text)

    @overrides
    def to_instance(self, request: Any) -> Instance:
        instance = self._dataset_reader.build_instance(request.tokens)
        if request.text is not None:
            metadata = metadata_of(instance)
            metadata.text, metadata.offsets = request.text.text, request.text.offsets
        return with_options(instance, request.options)

    @overrides
    def to_answer(self, output: dict[str, Any]) -> JsonDict:
        names = ("tokens", "tags", "probabilities", "spans")
        answer = {name: output[name] for name in names if name in output}
        limit = output["options"].min_probability
        if limit is not None and "spans" in answer:
            self._leave_out_spans(answer, limit, output["label_probabilities"])
        elif limit is not None:
            values = enumerate(answer["probabilities"])
            answer["uncertain"] = [index for index, value in values if value < limit]
        calibration = self._model.tag_decoder.calibration
        if calibration is not None and calibration.base_rate is not None:
            answer["base_rate"] = calibration.base_rate
        if output["metadata"].offsets is not None:
            answer["offsets"] = list(map(list, output["metadata"].offsets))
        return answer

    def _leave_out_spans(self, answer: JsonDict, limit: float, table: numpy.ndarray) -> None:
        """Leaves spans of a probability below the limit out; `table` has the probabilities (words, labels)."""
        labels = self._model.tag_head.labels
        outside = table[:, labels.index("O")].tolist() if "O" in labels else [0.0] * len(table)
        spans = answer["spans"]
        answer["tags"] = list(answer["tags"])  # the trace has the same list
        answer["spans"] = [span for span in spans if span["probability"] >= limit]
        for span in spans:
            if span["probability"] < limit:
                words = slice(span["start"], span["end"])
                answer["tags"][words] = ["O"] * len(answer["tags"][words])
                answer["probabilities"][words] = outside[words]


def _tokenizer_of(option: Any) -> Tokenizer:
    """The tokenizer of an option. Raises `ConfigurationError`."""
    params = {"type": option} if isinstance(option, str) else option
    names = Tokenizer.list_available()
    # A name with dots would be imported.
    if not isinstance(params, dict) or params.get("type") not in names:
        raise ConfigurationError(
            f"tokenizer: expected one of {', '.join(sorted(names))}, or an object with it as type, got {option!r}"
        )
    return Tokenizer.from_params(Params(dict(params)))


def _is_word(text: str) -> bool:
    """CoNLL-U has words with no-break spaces in them."""
    return not re.search(r"[ \t\r\n\f\v]", text)
