"""The predictor for quality estimation."""

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy
import torch
from allennlp.common.checks import ConfigurationError
from allennlp.common.util import JsonDict
from allennlp.models import Model
from allennlp.predictors import Predictor

from allennlp_nef.options import check_integers
from allennlp_nef.predictors.base import Item
from allennlp_nef.predictors.nef_tagger import ShownTrace, TaggingPredictor
from allennlp_nef.predictors.requests import Check
from allennlp_nef.pretrained.multilingual_e5 import num_weights
from allennlp_nef.qe.answers import (
    ANSWER,
    PREDICTED,
    REQUEST,
    REQUIRED,
    bad_probabilities,
    missing,
    pair_of,
    quality_answer,
)
from allennlp_nef.qe.layouts import SEVERITIES, without_eos
from allennlp_nef.qe.model import WordQeTagger
from allennlp_nef.qe.reader import WmtWordQeReader
from allennlp_nef.qe.scores import expected_threshold

ADAPTIVE = "adaptive"
Alignments = str | Sequence[str | Sequence[int]]


@Predictor.register("word_qe")
class WordQePredictor(TaggingPredictor):
    """Tags each word of a translation OK or BAD, and finds error spans.

    Depending on the `tagged` option of the dataset reader, the model tags gaps or source words instead.

    A request is a JSON object:

        {"source": "the house", "target": "das Haus", "alignments": "0-0 1-1", "attention": true}

    `source` and `target` are raw text, which the tokenizers of the dataset reader split, or lists of words. A final
    `<EOS>` in the target is optional for a model that tags it. `alignments` are pairs of a source and a target word,
    from 0: a string such as "0-0 1-1", or a list of such strings or of pairs. Without them, the aligner in the archive,
    if there is one, aligns the words. A model with an `alignment_layer` does not use them. `attention`, `trace`,
    `label_probabilities` and `threshold` are optional and take precedence over the options of the predictor.
    `source_language` and `target_language`, such as "en" and "pt-BR", are optional and improve the `checks`.

    The answer has

    - `source`: its words;
    - `tokens`: the tagged tokens, by default the words of the target; `tagged` names any other kind;
    - `tags`: one for each token, OK or BAD, or for a model of severities OK, minor or major;
    - `bad_probabilities`, one for each token, and the `threshold` at or above which a token is BAD; `threshold_from`:
      "model", "given" (by the request or the option), or "adaptive";
    - `alignments`: the pairs from the request or the aligner; `alignments_from`: "given", "computed", or "none" without
      an aligner;
    - `spans`, if the target is tagged: adjacent BAD words of the same severity, each with `start` and `end` (characters
      of the target, or of its words joined by spaces if it is a list), `text`, `severity` (if the model predicts it:
      "minor" or "major") and `probability`, the mean of its words. A BAD `<EOS>` that is not in the text becomes an
      empty span at its end;
    - `hter`, if the model predicts it: the share of words that need editing, from 0 to 1; higher is worse;
    - `quality`, if the model predicts it: how people would judge the translation, from 0 to 100; higher is better, and
      50 is the mean of the training data;
    - `critical_error_probability`, if the model predicts it: the probability that most people would find an error that
      changes the meaning; reports count those with at least the `critical_error_threshold`;
    - `expected_bad_share`: the mean of the `bad_probabilities`; higher is worse;
    - `source_bad_probabilities`, if the encoder aligns the words (`alignment_layer`): for each word of the source, the
      mean of the `bad_probabilities`, weighted by the alignment. It is high for words that are translated wrongly;
    - `offsets`: the start and end of each tagged word of a text, in characters; `source_offsets`: those of the source;
    - `checks`: errors that rules find in the translation, each with `kind`, `start`, `end` (as in spans) and `message`;
      see `allennlp_nef.qe.checks`. They do not change the other fields;
    - if requested, `label_probabilities`, `attention` and `trace`, as for `nef_tagger`;
    - with a trace also `target`, if other tokens are tagged.

    For an empty target, the answer has no words, and both scores are 1; gaps and `<EOS>` are BAD. Models that tag
    source words reject it.

    # Parameters

    model : `WordQeTagger`
    dataset_reader : `WmtWordQeReader`
    threshold : `float` or `str`, optional (default = `None`, the threshold of the model)
        Tokens with at least this probability of BAD are BAD. "adaptive": the threshold with the highest expected MCC
        over all requests of a call, so answers depend on each other: see `expected_threshold`.
    threshold_from : `str`, optional (default = `"given"`)
        The `threshold_from` of answers that use the `threshold` option, such as "adaptive" if it was chosen over a
        corpus.
    severity : `str`, optional (default = `"major"`)
        The severity of spans in output formats, if the model does not predict it: "minor" or "major".
    checks : `bool`, optional (default = `True`)
        Whether answers have `checks`.
    language_pair : `str`, optional (default = `None`)
        The languages, such as "en-de", for submission formats, and for the checks of requests without languages.
    method, ensemble_size : optional
        For submission formats: the name of the method (default `"allennlp_nef"`) and the number of models in an
        ensemble (default 1).
    attention, trace, label_probabilities, output_format, on_error, keep_fields, max_tokens, batch_size
        See `TaggingPredictor` and `NefPredictor`. For the output formats see `WmtWordQeReader`.
    """

    task = "word_qe"
    tagged_field = "target"
    fields: Mapping[str, Check] = REQUEST
    required = REQUIRED
    _model: WordQeTagger
    _dataset_reader: WmtWordQeReader

    def __init__(
        self,
        model: Model,
        dataset_reader: WmtWordQeReader,
        threshold: float | str | None = None,
        threshold_from: str = "given",
        severity: str = SEVERITIES[-1],
        checks: bool = True,
        method: str = "allennlp_nef",
        language_pair: str | None = None,
        ensemble_size: int = 1,
        **options: Any,
    ) -> None:
        if not isinstance(model, WordQeTagger):
            raise ConfigurationError(
                f"word_qe: expected a model of quality estimation, got a {type(model).__name__}"
            )
        super().__init__(model, dataset_reader, **options)
        absent = {*PREDICTED}.difference(model.outputs, model.thresholds)
        self.answer_fields = {name: kind for name, kind in ANSWER.items() if name not in absent}
        if severity not in SEVERITIES:
            raise ConfigurationError(f"severity: expected one of {SEVERITIES}, got {severity!r}")
        output_format, tagged = self.output_format, dataset_reader.tagged
        needs_pair = output_format.startswith("wmt") and output_format != "wmt25-spans"
        for is_wrong, need in (
            (output_format.endswith("-spans") and tagged != "target", "a model of target words"),
            (output_format == "wmt20_gaps" and "gaps" not in tagged, "a model of gaps"),
            (needs_pair and not language_pair, "the option language_pair, such as en-de"),
        ):
            if is_wrong:
                raise ConfigurationError(f"output_format: {output_format} needs {need}")
        for name, text in (("method", method), ("language_pair", language_pair or "")):
            if not isinstance(text, str) or "\t" in text or len(text.splitlines()) > 1:
                raise ConfigurationError(f"{name}: expected a text without tabs, got {text!r}")
        check_integers(ensemble_size=ensemble_size)
        if not isinstance(checks, bool):
            raise ConfigurationError(f"checks: expected true or false, got {checks!r}")
        self.checks = checks
        self.needs_whole_input = threshold == ADAPTIVE
        self.set_options(threshold=None if self.needs_whole_input else threshold)
        self.threshold_from = threshold_from
        self.severity = severity
        self.method = method
        self.language_pair = language_pair
        self.ensemble_size = ensemble_size

    def predict(
        self,
        source: str | list[str],
        target: str | list[str],
        alignments: Alignments | None = None,
        **options: Any,
    ) -> JsonDict:
        """Returns the answer to a pair; `options` are options of a request."""
        request = {"source": source, "target": target, "alignments": alignments}
        return self.predict_json({**request, **options})

    def trace(
        self,
        source: str | list[str],
        target: str | list[str],
        alignments: Alignments | None = None,
    ) -> ShownTrace:
        """Returns how the model tagged a translation, step by step. Raises a `UserError` if it has no trace."""
        return self._trace_of({"source": source, "target": target, "alignments": alignments})

    def description(self) -> JsonDict:
        """Like `TaggingPredictor.description`, and adds `fields`, the request fields that the model uses; the
        `threshold`; and `has_aligner`: whether words are aligned."""
        uses_alignments = self._model.pair_embedder.uses_alignments
        return {
            **super().description(),
            "fields": [*self.required, *(["alignments"] if uses_alignments else [])],
            "threshold": self._threshold_of(self.options),
            "has_aligner": self._dataset_reader.aligner is not None,
        }

    @cached_property
    def writer_options(self) -> dict[str, Any]:
        number = num_weights(self._model)
        return {
            "method": self.method,
            "language_pair": self.language_pair,
            "severity": self.severity,
            "header": (4 * number, number, self.ensemble_size),
        }

    def to_item(self, request: dict[str, Any]) -> Item:
        reader = self._dataset_reader
        splits = {"source": reader.split_source, "target": reader.split_target}
        pair = pair_of(request, splits, reader.tagged, self.max_tokens)
        return Item(reader.to_instance(pair))

    def outputs(self, items: list[Item]) -> list[dict[str, Any]]:
        """Returns the model's output for each item. Empty translations skip the model: everything is missing."""
        full = [item for item in items if not _is_empty(item)]
        outputs = iter(super().outputs(full) if full else ())
        return [self._missing(item) if _is_empty(item) else next(outputs) for item in items]

    def _missing(self, item: Item) -> dict[str, Any]:
        table, others = missing(item.record, self._model.tag_head.labels, self._model.outputs)
        return {"class_probabilities": table, **others}

    def _threshold_of(self, options: dict[str, Any]) -> float:
        threshold = options.get("threshold")
        return self._model.threshold_or_default if threshold is None else float(threshold)

    def run(self, items: Iterable[Item]) -> None:
        items = list(items)
        super().run(items)
        if not self.needs_whole_input:
            return
        scored = [item for item in items if item.error is None]
        tables = [item.output["class_probabilities"] for item in scored if not _is_empty(item)]
        if not tables:
            return
        bad = bad_probabilities(numpy.concatenate(tables), self._model.tag_head.labels)
        adaptive = {"threshold": expected_threshold(bad), "threshold_from": ADAPTIVE}
        for item in scored:
            if item.options["threshold"] is None:
                item.options = {**item.options, **adaptive}

    def to_answer(self, output: dict[str, Any], item: Item) -> JsonDict:
        origin = "model" if item.options["threshold"] is None else self.threshold_from
        tagged = self._dataset_reader.tagged
        answer = quality_answer(
            item.record,
            output["class_probabilities"],
            {name: output[name] for name in self._model.outputs} | self._model.thresholds,
            self._model.tag_head.labels,
            tagged,
            self._threshold_of(item.options),
            item.options.get("threshold_from", origin),
            self.checks,
            item.options["label_probabilities"],
            self.language_pair,
        )
        if tagged != "target" and item.options["trace"]:
            answer["target"] = item.record.target.words
        return self.with_trace(answer, item)

    def get_interpretable_text_field_embedder(self) -> torch.nn.Module:
        """Returns the target embedder; `allennlp.interpret` explains predictions by these words."""
        embedder = getattr(self._model.pair_embedder, "target_embedder", None)
        return embedder or super().get_interpretable_text_field_embedder()

    def get_interpretable_layer(self) -> torch.nn.Module:
        embedder = getattr(self._model.pair_embedder, "target_embedder", None)
        return embedder or super().get_interpretable_layer()


def _is_empty(item: Item) -> bool:
    """Returns whether the translation of an item has no words."""
    return not without_eos(item.record.target.words)
