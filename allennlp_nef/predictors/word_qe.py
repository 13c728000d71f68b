"""The predictor of quality estimation: its requests, options and answers."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import torch
from allennlp.common.checks import ConfigurationError
from allennlp.common.util import JsonDict
from allennlp.data import DatasetReader, Instance
from allennlp.models import Model
from allennlp.predictors import Predictor
from overrides import overrides

from allennlp_nef.data.dataset_readers import WmtWordQeReader
from allennlp_nef.data.formats.error_spans import SEVERITIES, has_severities, join_bad_words
from allennlp_nef.data.formats.wmt_layouts import check_eos, tagged_side, without_eos
from allennlp_nef.data.formats.word_alignments import links_of
from allennlp_nef.data.metadata import TaggingMetadata, metadata_of
from allennlp_nef.errors import DataFormatError
from allennlp_nef.models.base import DecodeOptions, with_options
from allennlp_nef.modules.options import check_integers
from allennlp_nef.modules.traces import ReadableTrace
from allennlp_nef.predictors.base import TaggingPredictor
from allennlp_nef.predictors.requests import (
    check_fields,
    decode_options,
    request_error,
    requested_options,
    split_words_of,
)


def mean_steps(attention: Sequence[Sequence[float]]) -> list[float]:
    """When each word is attended to: sum_n n alpha_(n,i) / sum_n alpha_(n,i), of the steps n = 1 to N.

    A word that is never attended to comes after the last step: N + 1.

    # Parameters

    attention : `Sequence[Sequence[float]]`
        alpha: steps x words, at least one step.
    """
    totals = [sum(column) for column in zip(*attention)]
    weighted = [sum(n * value for n, value in enumerate(c, 1)) for c in zip(*attention)]
    late = len(attention) + 1.0
    return [value / total if total else late for value, total in zip(weighted, totals)]


REQUIRED = ("source", "target")
OPTIONAL = (
    "alignments",
    "attention",
    "trace",
    "label_probabilities",
    "threshold",
    "max_steps",
    "halting",
)


OF_SPANS = ("wmt23-spans", "wmt25-spans", "wmt26-task1", "wmt26-task2", "wmt26-task3")
"""The output formats of models that tag the target."""
OF_ITEMS = OF_SPANS[2:]
"""Those whose lines have several sentences."""


class WordQeRequest(NamedTuple):
    """A checked request of the `word_qe` predictor."""

    source: list[str]
    target: list[str]
    alignments: list[tuple[int, int]] | None
    """Pairs (source index, target index), from 0; None where the request has none."""
    options: DecodeOptions
    tagged: str
    """What the model tags."""
    text: str
    """The target that came, or the source where that is tagged; of a list, its words joined by single blanks."""
    offsets: list[tuple[int, int]] | None = None
    """The start and the end of each of its words in the text; None for those of a list."""

    @property
    def sides(self) -> tuple[list[str], ...]:
        """The tokens that are tagged, and the words of the other side."""
        return tagged_side(self.tagged, self.source, self.target, ())[:2]


@Predictor.register("word_qe")
class WordQePredictor(TaggingPredictor):
    """Word-level quality estimation: tags each word of a translation OK or BAD, and marks the spans of errors.

    What is tagged may be something else: gaps or source words, as the option `tagged` of the model's reader says.

    A request is a JSON object:

        {"source": "the house", "target": "das Haus", "alignments": "0-0 1-1", "attention": true}

    `source` and `target` are strings, split on whitespace or by the tokenizers of the dataset reader, or lists of
    words; `alignments` (optional) a string of `i-j`, source word i with target word j, from 0, or a list of such
    strings or of pairs; without it the words are aligned by the aligner that the model's archive holds, if it holds
    one. `threshold` (optional, above 0 and below 1) takes the place of the model's, and so do `max_steps` (an integer
    from 1) and `halting` (an object such as `{"type": "confident", "threshold": 0.9}`, see `Halting`). A final `<EOS>`
    of the target is no word: a model that tags it adds it where it is missing. `attention` (optional) asks for the
    attention of each step or word, `trace` (optional) for the fields of a `DecisionTrace` or `FusionTrace`,
    `label_probabilities` (optional) for the probabilities of all labels.

    The answer has `tokens` (the words of the target, or the tokens of what else is tagged, as `wmt_word_qe` has them),
    `tagged` ("gaps", "target_and_gaps" or "source", where it is not the target that is tagged), `tags` (OK or BAD, one
    a token), `bad_probabilities` (the probability of BAD, one a token), `threshold` (a token is BAD where its
    probability of BAD is at least this; `null` where tags come from a CRF that is not calibrated), `spans` (the errors,
    an object each, where the target is tagged), `base_rate` (the share of BAD words that the model was adapted to, if
    it was), `sentence_score` (what the model predicts for the sentence, such as HTER, with `expected_bad_share` beside
    it; where it has not learned that, the expected share of BAD tokens: the mean of `bad_probabilities`), where the
    model is calibrated for it `error_free_probability` (that no token is BAD) and `accept` (true: no reviewer needs to
    look), `alignments` (the pairs that the model used), `alignments_from` ("given", "computed", or "none": the model
    has no aligner), and, where the sentence may halt, `steps`, how many it did; where the words of a string are tagged,
    `offsets`, for each of them the characters where it begins and after its end; if asked for, `label_probabilities`
    (by label those of each token), `attention` (steps or tokens x tokens) and `trace` (an object); the last two are
    `null` where the model has none. An answer with a trace, or of a reader with a `source_tokenizer`, also has `source`
    (words); one with a trace has `target` where it has `tagged`. Of data with the part `post_edits`, an answer has
    `post_edit`, the corrected translation.

    A span is one BAD word or several adjacent ones of the same severity, with what stands between them. It has `start`
    and `end`, the characters of the target where it begins and after it, from 0 (of a list of words, these are those of
    the words joined by single blanks), `text`, `severity` ("minor" or "major") and `probability`, the mean of its
    words' probabilities of BAD. A BAD `<EOS>` that the target lacks is an omission: an empty span at the end.

    The tags of a model that was trained with severities are OK, minor and major. The probability of BAD is then that of
    minor or major, and a word that reaches the threshold has the more probable of the two.

    Registered as a `Predictor` with name "word_qe".

    # Parameters

    model : `Model`
        `nef_tagger`.
    dataset_reader : `DatasetReader`
        `wmt_word_qe`.
    output_format : `str`, optional (default = `"json"`)
        "json"; "tags", a line of tags a sentence (the WMT `.tags` format); "tsv", the WMT submission format (method,
        sentence, word index, word, tag; from 0); "text", the words, `/BAD` after the bad ones, and `<gap>/BAD` for bad
        gaps; "wmt20" or "wmt22", a submission of WMT20 and 21 or of WMT22 and 23, in seven columns after two or three
        header lines: the bytes and the number of the model's parameters, and the size of the ensemble. A submission has
        one kind of tags: of a model of words and gaps the words, and with "wmt20_gaps" the gaps. "wmt23-spans", a
        submission of error spans to WMT23, and "wmt-sentences", one of sentence scores to WMT22 and 23 (language pair,
        method, sentence, score), both after three header lines; "wmt22-explanations", a line of numbers a sentence,
        which are higher for worse words. Of segments of WMT24 to 26, which a dataset reader has read: "wmt25-spans", a
        submission of error spans to WMT25; "wmt26-task1", "wmt26-task2" and "wmt26-task3", submissions of error spans,
        of scores from 0 to 100, and of which segments are free of errors: those with `accept`, or, where the model
        does not decide it, those without spans and omission.
    method : `str`, optional (default = `"allennlp_nef"`)
        The method's name, in the submission formats only.
    threshold : `float`, optional (default = `None`, the model's)
        Above 0 and below 1: of the probability of BAD, for requests that have none.
    language_pair : `str`, optional (default = `None`)
        Such as "en-de". Required for the formats that name it: "wmt20", "wmt20_gaps", "wmt22", "wmt23-spans" and
        "wmt-sentences".
    ensemble_size : `int`, optional (default = `None`, the number of the model's members, or 1)
        At least 1. How many models the third header line says that there are.
    severity : `str`, optional (default = `"major"`)
        "minor" or "major": of all spans, for a model that was trained without severities. Only for the formats "json",
        "wmt23-spans", "wmt25-spans" and "wmt26-task1".
    explanation : `str`, optional (default = `"bad_probability"`)
        The numbers of "wmt22-explanations", only for that format: "bad_probability", the probability of BAD of each
        word; or "attention", the mean of the steps in which `neural_easy_first` attends to a word, weighted by the
        attention, so that words that it attends to late have the highest numbers.
    attention, trace, label_probabilities, max_tokens, max_batch, batch_size, on_error, max_steps, halting
        See `TaggingPredictor` and `CheckedPredictor`; `max_tokens` is the limit for either side.
    """

    task = "word_qe"
    _dataset_reader: WmtWordQeReader

    def __init__(
        self,
        model: Model,
        dataset_reader: DatasetReader,
        output_format: str = "json",
        method: str | None = None,
        threshold: float | None = None,
        language_pair: str | None = None,
        ensemble_size: int | None = None,
        severity: str | None = None,
        explanation: str | None = None,
        **options: Any,
    ) -> None:
        if not isinstance(dataset_reader, WmtWordQeReader):
            raise ConfigurationError(
                "dataset_reader: the predictor word_qe expects wmt_word_qe, got "
                f"{type(dataset_reader).__name__}"
            )
        super().__init__(model, dataset_reader, output_format=output_format, **options)
        if output_format == "wmt20_gaps" and "gaps" not in dataset_reader.tagged:
            raise ConfigurationError(
                f"output_format: wmt20_gaps needs a model of gaps, got one of {dataset_reader.tagged}"
            )
        name = self.method if method is None else method
        if not isinstance(name, str) or len(name.splitlines()) != 1 or "\t" in name:
            raise ConfigurationError(
                f"method: expected text without tabs and line ends, got {method!r}"
            )
        self.method = name
        limit = decode_options({"threshold": threshold}, model)
        self.options = limit.with_defaults(self.options)
        submissions = ("wmt20", "wmt20_gaps", "wmt22", "wmt23-spans", "wmt-sentences")
        for option, value, formats in (
            ("method", method, ("tsv", *submissions)),
            ("language_pair", language_pair, submissions),
            ("ensemble_size", ensemble_size, submissions[2:]),
            ("severity", severity, ("json", *OF_SPANS[:3])),
            ("explanation", explanation, ("wmt22-explanations",)),
        ):
            if value is not None and output_format not in formats:
                raise ConfigurationError(
                    f"{option}: expected output_format {' or '.join(formats)}, which has it, got {output_format}"
                )
        self.severity = self._checked_severity(severity)
        self._explains_by_attention = self._is_attention(explanation)
        if self._explains_by_attention:
            self.options = replace(self.options, attention=True)
        if output_format in OF_SPANS and dataset_reader.tagged != "target":
            raise ConfigurationError(
                f"output_format: {output_format} needs a model that tags the target, got one that tags "
                f"{dataset_reader.tagged}"
            )
        if output_format in OF_ITEMS and dataset_reader.has_limit:
            raise ConfigurationError(
                f"output_format: {output_format} needs a dataset_reader without max_tokens, which leaves segments out"
            )
        if output_format in submissions:
            if not isinstance(language_pair, str) or language_pair.split() != [language_pair]:
                raise ConfigurationError(
                    f"language_pair: expected one such as en-de, got {language_pair!r}"
                )
            size = self._model.ensemble_size if ensemble_size is None else ensemble_size
            check_integers(ensemble_size=size)
            self.language_pair = language_pair
            parameters = list(model.parameters())
            footprint = sum(each.numel() * each.element_size() for each in parameters)
            self.header = (footprint, sum(each.numel() for each in parameters), size)

    def _checked_severity(self, severity: str | None) -> str:
        if severity not in (None, *SEVERITIES):
            raise ConfigurationError(
                f"severity: expected {' or '.join(SEVERITIES)}, got {severity!r}"
            )
        if severity is not None and has_severities(self._model.tag_head.labels):
            raise ConfigurationError(
                f"severity: expected a model without severities of its own, got {severity!r}"
            )
        if severity is not None and self._dataset_reader.tagged != "target":
            raise ConfigurationError(
                "severity: expected a model that tags the target, which has spans, got one that tags "
                f"{self._dataset_reader.tagged}"
            )
        return severity or SEVERITIES[-1]

    def _is_attention(self, explanation: str | None) -> bool:
        if explanation not in (None, "bad_probability", "attention"):
            raise ConfigurationError(
                f"explanation: expected bad_probability or attention, got {explanation!r}"
            )
        if explanation == "attention" and self._model.step_name != "step":
            raise ConfigurationError(
                "explanation: expected a model whose steps attend to words (neural_easy_first) for attention, got "
                + self._model.title
            )
        return explanation == "attention"

    def predict(
        self,
        source: str | list[str],
        target: str | list[str],
        alignments: None | str | list[Any] = None,
        *,
        attention: bool = False,
        threshold: float | None = None,
        max_steps: int | None = None,
        halting: dict[str, Any] | None = None,
        label_probabilities: bool = False,
    ) -> JsonDict:
        """The answer to one request, from Python."""
        request = {"source": source, "target": target, "alignments": alignments}
        limits = {"max_steps": max_steps, "halting": halting, "threshold": threshold}
        wanted = {"attention": attention, "label_probabilities": label_probabilities}
        return self.predict_json({**request, **limits, **wanted})

    def trace(
        self,
        source: str | list[str],
        target: str | list[str],
        alignments: None | str | list[Any] = None,
    ) -> ReadableTrace:
        """How the model came to the tags. Raises `ConfigurationError` where it has no trace."""
        return self._trace_of({"source": source, "target": target, "alignments": alignments})

    @overrides
    def description(self) -> JsonDict:
        """As for `TaggingPredictor`, and `has_aligner`: whether requests without alignments are aligned."""
        return {**super().description(), "has_aligner": self._dataset_reader.aligner is not None}

    @overrides
    def needed_fields(self) -> list[str]:
        return list(REQUIRED)

    @overrides
    def parse(self, request: Any, where: str = "") -> WordQeRequest:
        check_fields(request, REQUIRED, OPTIONAL, where)
        reader, limit = self._dataset_reader, self.max_tokens
        source, source_text = split_words_of(request, "source", limit, where, reader.split_source)
        target, target_text = split_words_of(request, "target", limit, where, reader.split_target)
        tagged = reader.tagged
        try:
            check_eos(source, target, "gaps" not in tagged, (f"{where}source", f"{where}target"))
        except DataFormatError as error:
            raise request_error(str(error)) from error
        lengths = len(source), len(without_eos(target))
        try:
            alignments = links_of(request.get("alignments"), *lengths, f"{where}alignments")
        except DataFormatError as error:
            raise request_error(str(error)) from error
        options = requested_options(request, self._model, where)
        split = source_text if tagged == "source" else target_text
        joined = " ".join(source if tagged == "source" else target)
        text, offsets = (split.text, split.offsets) if split else (joined, None)
        return WordQeRequest(source, target, alignments, options, tagged, text, offsets)

    @overrides
    def to_instance(self, request: Any) -> Instance:
        instance = self._dataset_reader.build_instance(
            request.source, request.target, request.alignments
        )
        if self._dataset_reader.tagged in ("target", "source"):
            metadata = metadata_of(instance)
            metadata.text, metadata.offsets = request.text, request.offsets
        return with_options(instance, request.options)

    @overrides
    def to_answer(self, output: dict[str, Any]) -> JsonDict:
        metadata: TaggingMetadata = output["metadata"]
        options: DecodeOptions = output["options"]
        decoder = self._model.tag_decoder
        bad = decoder.bad_probabilities(torch.from_numpy(output["label_probabilities"])).tolist()
        severities = [
            None if tag == "OK" else tag if tag in SEVERITIES else self.severity
            for tag in output["tags"]
        ]
        share = sum(bad) / len(bad)
        answer = {
            "tokens": output["tokens"],
            "tags": output["tags"],
            "bad_probabilities": bad,
            "threshold": decoder.threshold if options.threshold is None else options.threshold,
            "alignments": [
                list(pair) for pair in sorted(set(map(tuple, metadata.alignments or ())))
            ],
            "alignments_from": metadata.alignments_from,
        }
        if self._dataset_reader.tagged == "target":
            spans = join_bad_words(metadata.split_text(), severities, bad)
            answer["spans"] = [span._asdict() for span in spans]
        if decoder.calibration is not None and decoder.calibration.base_rate is not None:
            base_rate = decoder.calibration.base_rate
            answer["base_rate"] = sum(base_rate[label] for label in base_rate if label != "OK")
        answer["sentence_score"] = output.get("sentence_score", share)
        if "sentence_score" in output:
            answer["expected_bad_share"] = share
        if decoder.acceptance is not None:
            probability = output["error_free_probability"]
            answer["error_free_probability"] = probability
            answer["accept"] = probability >= decoder.acceptance.threshold
        if self._explains_by_attention:
            answer["explanation"] = mean_steps(output["attention"])
        if metadata.offsets is not None:
            answer["offsets"] = list(map(list, metadata.split_text().offsets))
        if options.trace or self._dataset_reader.source_tokenizer is not None:
            answer["source"] = metadata.source
        if metadata.post_edit is not None:
            answer["post_edit"] = " ".join(metadata.post_edit)
        if metadata.tagged not in (None, "target"):
            answer["tagged"] = metadata.tagged
            if options.trace:
                answer["target"] = metadata.target
        return answer
