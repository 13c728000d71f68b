"""Calibration of word-level quality estimators: fits a temperature and a threshold to labeled data.

`calibrate_model` runs a model; all other functions work on arrays, or on items with the outputs of a model.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy

from allennlp_nef.data.fields import UNSEEN
from allennlp_nef.errors import DataFormatError
from allennlp_nef.predictors.base import Item
from allennlp_nef.qe.answers import CRITICAL, bad_probabilities
from allennlp_nef.qe.layouts import BAD, OK
from allennlp_nef.qe.model import WordQeTagger
from allennlp_nef.qe.predictor import WordQePredictor
from allennlp_nef.qe.scores import (
    best_threshold,
    calibration_bins,
    detection_scores,
    expected_calibration_error,
    word_qe_scores,
)

MAX_TEMPERATURE = 100.0  # the minimum is its inverse


class LabeledWords(NamedTuple):
    """Words with gold tags, and the probabilities of a model before calibration."""

    probabilities: numpy.ndarray
    """(words, labels)"""
    gold: numpy.ndarray
    """(words,), the indices of the gold labels; UNSEEN if the model lacks the label."""
    sentences: numpy.ndarray
    """(words,), the number of the sentence of each word."""
    labels: Sequence[str]

    def half(self, remainder: int) -> "LabeledWords":
        """Returns the words of every other sentence."""
        kept = self.sentences % 2 == remainder
        return LabeledWords(
            self.probabilities[kept], self.gold[kept], self.sentences[kept], self.labels
        )


@dataclass
class Calibration:
    """The result of `calibrate_model`. Scores are fractions of 1: see `scores_of`."""

    temperature: float
    threshold: float
    objective: str
    num_sentences: int
    num_words: int
    before: dict[str, float]
    after: dict[str, float]
    cross_fitted: dict[str, float]
    """The mean of two fits, each on half of the sentences and scored on the other half: an estimate for new data."""
    critical: dict[str, float] | None = None
    """The calibration of critical errors: the `slope` and `intercept` of the logit, and the `threshold`; the number of
    judged `sentences`; the `detection_scores`, with these, and `ece_before`. None without judgments."""


def with_temperature(probabilities: numpy.ndarray, temperature: float) -> numpy.ndarray:
    """softmax(log p / T): Guo et al., "On Calibration of Modern Neural Networks" (ICML 2017). (words, labels)"""
    logits = _logs(probabilities) / temperature
    return numpy.exp(logits - numpy.logaddexp.reduce(logits, axis=1, keepdims=True))


def fit_temperature(probabilities: numpy.ndarray, gold: numpy.ndarray) -> float:
    """Returns the temperature with the highest likelihood of the gold labels.

    # Parameters

    probabilities : `numpy.ndarray`, (words, labels)
    gold : `numpy.ndarray`, (words,)
        The indices of labels, none of which has the probability 0.
    """
    from scipy.optimize import minimize_scalar  # takes 0.4 s, and all public modules are imported

    logs = _logs(probabilities)
    of_gold = logs[numpy.arange(len(gold)), gold]

    def loss(log_scale: float) -> float:
        scale = numpy.exp(log_scale)
        return float((numpy.logaddexp.reduce(scale * logs, axis=1) - scale * of_gold).mean())

    bound = numpy.log(MAX_TEMPERATURE)
    best = minimize_scalar(loss, bounds=(-bound, bound), method="bounded", options={"xatol": 1e-6})
    return float(numpy.exp(-best.x))


def _logs(probabilities: numpy.ndarray) -> numpy.ndarray:
    with numpy.errstate(divide="ignore"):
        return numpy.log(probabilities.astype(numpy.float64))


def fit(words: LabeledWords, objective: str = "mcc") -> tuple[float, float]:
    """Returns the temperature, and the threshold of the probability of BAD with the best score ("mcc" or "f1_mult")."""
    own = words.probabilities[numpy.arange(len(words.gold)), words.gold.clip(min=0)]
    possible = (words.gold >= 0) & (own > 0)  # constraints of a CRF can rule out the gold label
    temperature = fit_temperature(words.probabilities[possible], words.gold[possible])
    bad, is_bad = bad_words(words, temperature)
    return temperature, best_threshold(bad, is_bad, objective)[0]


def bad_words(words: LabeledWords, temperature: float) -> tuple[numpy.ndarray, numpy.ndarray]:
    """Returns the calibrated probability of BAD of each word, and whether it is BAD; severities count as BAD."""
    table = with_temperature(words.probabilities, temperature)
    return bad_probabilities(table, words.labels), words.gold != words.labels.index(OK)


def scores_of(words: LabeledWords, temperature: float, threshold: float) -> dict[str, float]:
    """Returns `word_qe_scores`; `ece`, the expected calibration error of the probability of BAD; and `tagged_share` and
    `gold_share`, the shares of words that are tagged BAD and that are BAD."""
    bad, is_bad = bad_words(words, temperature)
    is_tagged = bad >= threshold
    counts = numpy.bincount(2 * ~is_bad + ~is_tagged, minlength=4)
    return {
        "ece": expected_calibration_error(calibration_bins(bad, is_bad)),
        **{name: float(score) for name, score in word_qe_scores(counts).items()},
        "tagged_share": float(is_tagged.mean()),
        "gold_share": float(is_bad.mean()),
    }


def calibrate(
    words: LabeledWords,
    objective: str = "mcc",
    old: tuple[float, float] = (1.0, 0.5),
) -> Calibration:
    """Fits a temperature and a threshold; `old` are the model's current ones."""
    temperature, threshold = fit(words, objective)
    halves = [words.half(0), words.half(1)]
    crossed = [
        scores_of(measured, *fit(fitted, objective))
        for fitted, measured in (halves, reversed(halves))
    ]
    return Calibration(
        temperature=temperature,
        threshold=threshold,
        objective=objective,
        num_sentences=len(numpy.unique(words.sentences)),
        num_words=len(words.gold),
        before=scores_of(words, *old),
        after=scores_of(words, temperature, threshold),
        cross_fitted={name: (crossed[0][name] + crossed[1][name]) / 2 for name in crossed[0]},
    )


def calibrate_model(predictor: WordQePredictor, data: Any, objective: str = "mcc") -> Calibration:
    """Fits a temperature and a threshold for a predictor's model to the data at a path. The model does not change.

    # Raises

    `DataFormatError`: data without gold tags, or with too few BAD or OK words; judgments of critical errors that all
    agree.
    """
    model = predictor._model
    items = [
        item
        for item in map(Item, predictor._dataset_reader.read(data))
        if item.record.tags is not None or item.record.critical is not None
    ]
    predictor.run(items)
    words = labeled_words(model, items)
    for half in (words.half(0), words.half(1)):
        is_bad = half.gold != words.labels.index(OK)
        if is_bad.all() or not is_bad.any():
            raise DataFormatError(
                f"{data}: expected gold tags, both {OK} and {BAD} in every other sentence and in the rest, got "
                f"{len(numpy.unique(words.sentences))} tagged sentences"
            )
    result = calibrate(words, objective, (model.temperature, model.threshold_or_default))
    judged = [each for each in items if each.record.critical is not None]
    if judged and CRITICAL in model.sentence_heads:
        result.critical = fit_critical(judged, data)
    return result


def fit_critical(items: list[Item], data: Any) -> dict[str, float]:
    """Fits the probability of critical errors of judged sentences, with the outputs of a model; see
    `Calibration.critical`. Raises a `DataFormatError` unless there are judgments with and without a critical error.
    """
    from scipy.special import expit, logit

    happened = numpy.array([item.record.critical >= 0.5 for item in items], dtype=bool)
    if not happened.any() or happened.all():
        raise DataFormatError(
            f"{data}: expected judgments of critical errors, with and without one, for the model's {CRITICAL}, got "
            f"{happened.sum()} of {len(happened)} sentences with one"
        )
    before = numpy.array([item.output[CRITICAL] for item in items], dtype=float)
    before = before.clip(1e-6, 1 - 1e-6)
    slope, intercept = fit_logits(logit(before), happened)
    after = expit(slope * logit(before) + intercept)
    threshold = best_threshold(after, happened)[0]
    return {
        "slope": slope,
        "intercept": intercept,
        "threshold": threshold,
        "sentences": len(items),
        "ece_before": expected_calibration_error(calibration_bins(before, happened)),
        **detection_scores(after, happened, threshold),
    }


def fit_logits(logits: numpy.ndarray, happened: numpy.ndarray) -> tuple[float, float]:
    """Returns the a and b with which sigmoid(a logit + b) has the highest likelihood: Platt scaling ("Probabilistic
    Outputs for Support Vector Machines", 1999). Both arrays are (sentences,)."""
    from scipy.optimize import minimize

    signs = numpy.where(happened, -1.0, 1.0)

    def loss(parameters: numpy.ndarray) -> float:
        slope, intercept = parameters
        return float(numpy.logaddexp(0, signs * (slope * logits + intercept)).mean())

    bound = (1 / MAX_TEMPERATURE, MAX_TEMPERATURE)  # the order of sentences stays
    slope, intercept = minimize(loss, [1.0, 0.0], bounds=[bound, (None, None)]).x
    return float(slope), float(intercept)


def labeled_words(model: WordQeTagger, items: Iterable[Item]) -> LabeledWords:
    """Returns the words with gold tags of items with the outputs of a model."""
    items = [item for item in items if item.record.tags is not None]
    labels = model.tag_head.labels
    indices = {label: index for index, label in enumerate(labels)}
    tables = [numpy.zeros((0, len(labels)))]
    tables += [item.output["class_probabilities"] for item in items]
    tags = [item.record.tags for item in items]
    gold = [indices.get(tag, UNSEEN) for row in tags for tag in row]
    sentences = numpy.repeat(numpy.arange(len(tags)), list(map(len, tags)))
    table = with_temperature(numpy.concatenate(tables), 1 / model.temperature)
    return LabeledWords(table, numpy.array(gold), sentences, labels)
