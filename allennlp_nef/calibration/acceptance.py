"""The decision that a translation needs no reviewer, fitted to labeled data, and what it promises for other data.

It is selective classification (Geifman & El-Yaniv, "Selective classification for deep neural networks", NIPS 2017).
Translations are ranked by their expected number of errors, and those up to a limit are accepted. The share that is
accepted is the coverage. One minus the precision, the share of the accepted translations that are free of errors, is
the risk.
"""

from collections.abc import Sequence
from math import floor
from typing import Any, NamedTuple

import numpy
import torch
from scipy.optimize import minimize
from scipy.special import expit
from scipy.stats import binomtest

from allennlp_nef.calibration.fitting import Confidences, Words, confidences
from allennlp_nef.errors import DataFormatError, UserError
from allennlp_nef.metrics.significance import MIN_DOCUMENTS
from allennlp_nef.modules.calibration import Acceptance, Calibration, expected_errors

MIN_SEGMENTS = 100
"""Labeled translations."""
MIN_ACCEPTED = 20
"""Fewer accepted translations say too little of a precision."""
SAMPLES = 1000
"""Of the bootstrap."""
SHARES = tuple(step / 20 for step in range(1, 21))
"""Shares of accepted translations whose precision is reported."""
_SCALES = (0.01, 100.0)


class Segments(NamedTuple):
    """Labeled translations, in the order of their expected numbers of errors."""

    errors: numpy.ndarray
    """The expected number of errors of each, ascending: (segments,)."""
    is_error_free: numpy.ndarray
    """Whether all tokens of each are OK: (segments,)."""
    documents: numpy.ndarray
    """The number of the document of each; its own number where the bootstrap draws translations: (segments,)."""

    def limit(self, name: str, value: float) -> float | None:
        """The expected number of errors up to which translations are accepted; None where no limit fulfills the wish.

        # Parameters

        name, value : `str`, `float`
            "share": the limit accepts this share, or a little more where several translations have the same number.
            "precision": of the limits that accept translations of at least this precision, and `MIN_ACCEPTED` or
            more, the highest.
        """
        if name == "share":
            return float(self.errors[max(1, round(value * len(self.errors))) - 1])
        reached = numpy.flatnonzero(self._precisions() >= value)
        return float(self.errors[reached[-1]]) if len(reached) else None

    def best_precision(self) -> tuple[float, float]:
        """The share and the precision of the limit with the highest precision that accepts `MIN_ACCEPTED` or more."""
        return self.share_and_precision(float(self.errors[self._precisions().argmax()]))

    def _precisions(self) -> numpy.ndarray:
        """The precision of each of the `errors` as a limit; -1 where it accepts too few: (segments,)."""
        accepted = numpy.searchsorted(self.errors, self.errors, side="right")
        precisions = self.is_error_free.cumsum()[accepted - 1] / accepted
        return numpy.where(accepted >= MIN_ACCEPTED, precisions, -1)

    def share_and_precision(self, limit: float | None) -> tuple[float, float]:
        """The share of translations that a limit accepts, and their precision; NaN where none is accepted."""
        accepted = 0
        if limit is not None:
            accepted = int(numpy.searchsorted(self.errors, limit, side="right"))
        right = int(self.is_error_free[:accepted].sum())
        return accepted / len(self.errors), right / accepted if accepted else numpy.nan

    def drawn(self, counts: numpy.ndarray) -> "Segments":
        """Translations as often as their document was drawn: counts (documents,)."""
        return Segments(*(numpy.repeat(column, counts[self.documents]) for column in self))


def segments_of(words: Words, calibration: Calibration) -> Segments:
    """The translations of sentences with gold tags."""
    bad, is_bad = confidences(words, calibration)
    lengths = [len(sentence.tags) for sentence in words.sentences]
    starts = numpy.cumsum([0, *lengths])
    errors = numpy.array(
        [
            float(expected_errors(row, torch.ones_like(row, dtype=torch.bool)))
            for row in torch.from_numpy(bad).split(lengths)
        ]
    )
    documents = numpy.arange(len(lengths))
    names = [sentence.metadata.document or "" for sentence in words.sentences]
    if all(names) and len(set(names)) >= MIN_DOCUMENTS:
        documents = numpy.unique(names, return_inverse=True)[1]
    is_error_free = ~numpy.logical_or.reduceat(is_bad, starts[:-1])
    order = numpy.argsort(errors, kind="stable")
    return Segments(errors[order], is_error_free[order], documents[order])


def fit_probability(segments: Segments) -> tuple[float, float]:
    """The scale a and the bias b of an `Acceptance` with the highest likelihood.

    A logistic regression of log e. Its prior is that of `fitting.fit`: normal, of variance 1, around 1 and 0.
    """
    logs, labels = numpy.log(segments.errors), numpy.where(segments.is_error_free, 1.0, -1.0)

    def objective(parameters: numpy.ndarray) -> tuple[float, numpy.ndarray]:
        scale, bias = parameters
        margins = labels * (bias - scale * logs)
        slopes = -labels / (1 + numpy.exp(margins.clip(max=500)))
        loss = numpy.logaddexp(0, -margins).sum() + ((scale - 1) ** 2 + bias**2) / 2
        gradient = [-(slopes * logs).sum() + scale - 1, slopes.sum() + bias]
        return loss / len(logs), numpy.array(gradient) / len(logs)

    bounds = [_SCALES, (None, None)]
    scale, bias = minimize(objective, [1.0, 0.0], jac=True, method="L-BFGS-B", bounds=bounds).x
    return float(scale), float(bias)


class Interval(NamedTuple):
    """Where a number lies for other data, with a confidence of 95%."""

    low: float
    high: float


def intervals(
    segments: Segments, wishes: Sequence[tuple[str, float]]
) -> list[tuple[Interval, Interval]]:
    """The intervals of share and precision of each wish, for other data of as many documents (or translations).

    A bootstrap of the promise: a limit is chosen on documents drawn with replacement, and measured on as many others
    that are drawn in the same way. The interval is the number of the data plus the 2.5th and the 97.5th percentile of
    the difference. So it has the luck of the choice, and that of the new data. That of a precision has at least the
    width of Clopper & Pearson's (1934), which is not 0 where no accepted translation has an error.

    # Parameters

    wishes : `Sequence[tuple[str, float]]`
        See `Segments.limit`; those that these data fulfill. Where a sample does not fulfill one, nothing is accepted;
        then it counts for the share alone.
    """
    generator = numpy.random.default_rng(0)
    count = int(segments.documents.max()) + 1
    differences = numpy.empty((SAMPLES, len(wishes), 2))
    for sample in differences:
        known, new = (
            segments.drawn(generator.multinomial(count, [1 / count] * count)) for _ in range(2)
        )
        for row, wish in zip(sample, wishes):
            limit = known.limit(*wish)
            row[:] = numpy.subtract(
                new.share_and_precision(limit), known.share_and_precision(limit)
            )
    ends = numpy.nanpercentile(differences, [2.5, 97.5], axis=0)  # (2, wishes, 2)
    pairs = []
    for i, wish in enumerate(wishes):
        share, precision = segments.share_and_precision(segments.limit(*wish))
        accepted = round(share * len(segments.errors))
        exact = binomtest(round(precision * accepted), accepted).proportion_ci(0.95)
        low, high = (precision + ends[:, i, 1]).clip(0, 1).tolist()
        pairs.append(
            (
                Interval(*(share + ends[:, i, 0]).clip(0, 1).tolist()),
                Interval(min(low, float(exact.low)), max(high, float(exact.high))),
            )
        )
    return pairs


def acceptance_of(
    words: Words, calibration: Calibration, path: str, wish: tuple[str, float]
) -> tuple[Acceptance, dict[str, Any]]:
    """The decision that fulfills a wish on labeled sentences, and its numbers.

    # Parameters

    path : `str`
        Of the sentences, for messages.
    wish : `tuple[str, float]`
        See `Segments.limit`.

    # Returns

    `tuple[Acceptance, dict[str, Any]]`
        The numbers are those of the `Acceptance`; `wish`; how many `segments` there are, and how many `documents` the
        bootstrap drew (None where it drew segments); the share `error_free_share` of segments without errors; `ece`,
        the calibration error of their probability, cross-fitted; and `coverage`, the precision for each of the
        `SHARES`, with its interval.

    # Raises

    `DataFormatError`: too few sentences, or all with errors, or none. `UserError`: a precision that cannot be reached.
    """
    segments = segments_of(words, calibration)
    count, right = len(segments.errors), int(segments.is_error_free.sum())
    if count < MIN_SEGMENTS or not 0 < right < count:
        raise DataFormatError(
            f"{path}: expected at least {MIN_SEGMENTS} sentences, some of them with errors and some without, to accept "
            f"translations, got {count}, {right} of them without errors"
        )
    name, value = wish
    limit = segments.limit(name, value)
    if limit is None:
        share, best = segments.best_precision()
        raise UserError(
            f"--accept-precision: expected at most {floor(1000 * best) / 1000:g}, which is reached on {path} for "
            f"{100 * share:.1f}% of the sentences, got {value:g}"
        )
    scale, bias = fit_probability(segments)
    share, precision = segments.share_and_precision(limit)
    # Between the last translation that is accepted and the next one.
    after = segments.errors[segments.errors > limit]
    threshold = 0.0
    if len(after):
        threshold = float(_probabilities(numpy.sqrt(limit * after[:1]), scale, bias)[0])
    coverage = [("share", value) for value in SHARES]
    wish_intervals, *share_intervals = intervals(segments, [wish, *coverage])
    acceptance = Acceptance(scale, bias, threshold, share, precision, *map(list, wish_intervals))
    documents = int(segments.documents.max()) + 1
    figures: dict[str, Any] = {
        "wish": {name: value},
        "segments": count,
        "documents": None if documents == count else documents,
        "error_free_share": right / count,
        "ece": _cross_fitted_error(segments),
        **vars(acceptance),
        "coverage": [],
    }
    for share_wish, (_, interval) in zip(coverage, share_intervals):
        accepted, precision = segments.share_and_precision(segments.limit(*share_wish))
        row = {"share": accepted, "precision": precision, "precision_interval": list(interval)}
        figures["coverage"].append(row)
    return acceptance, figures


def _probabilities(errors: numpy.ndarray, scale: float, bias: float) -> numpy.ndarray:
    """As `Acceptance.probabilities`, of expected numbers of errors."""
    return expit(bias - scale * numpy.log(errors))


def _cross_fitted_error(segments: Segments) -> float:
    """The calibration error of the probability, fitted to every other translation and measured on the others."""
    halves = [Segments(*(column[start::2] for column in segments)) for start in (0, 1)]
    pairs = [
        Confidences(_probabilities(other.errors, *fit_probability(one)), other.is_error_free)
        for one, other in (halves, halves[::-1])
    ]
    return Confidences(*map(numpy.concatenate, zip(*pairs))).ece()
