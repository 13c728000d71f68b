"""The threshold of a probability at which tags score highest. This module needs nothing but NumPy."""

from typing import NamedTuple

import numpy

from allennlp_nef.metrics.ratios import precision_recall_f1
from allennlp_nef.metrics.tag_scores import word_qe_score_arrays

OBJECTIVES = ("mcc", "f1_mult")
"""The scores that a threshold can be chosen for."""


class Threshold(NamedTuple):
    """A threshold, and the tags of words that are BAD where their probability of BAD is at least this."""

    value: float
    score: float
    """Of these tags."""
    tagged_share: float
    """How many of these tags are BAD."""


def best_threshold(
    probabilities: numpy.ndarray, is_bad: numpy.ndarray, objective: str = "mcc"
) -> Threshold:
    """The threshold with the highest score, of all that there are; of several, the highest.

    It lies in the middle between two probabilities of words, or of one and 0 or 1.

    # Parameters

    probabilities : `numpy.ndarray`, (words,)
        Of BAD, in [0, 1]; at least one.
    is_bad : `numpy.ndarray`, (words,)
        Whether the word is BAD; or the probability that it is, for the threshold with the highest score of the
        *expected* counts.
    objective : `str`, optional (default = `"mcc"`)
        One of the `OBJECTIVES`.
    """
    thresholds, ends, (bad,) = _cumulated(probabilities, is_bad)
    total, words = float(is_bad.sum(dtype=numpy.float64)), len(probabilities)
    scores = threshold_scores(bad, ends, total, words)[objective]
    best = int(numpy.argmax(scores))
    return Threshold(float(thresholds[best]), float(scores[best]), float(ends[best] / words))


class SpanParts(NamedTuple):
    """The parts of which predicted error spans can consist: words, and what is between two of them."""

    probabilities: numpy.ndarray
    """A part is in a span where this is at least the threshold: (parts,)."""
    characters: numpy.ndarray
    """Of each part: (parts,)."""
    worth: numpy.ndarray
    """Of each part, 1 for a character of a gold span of the same severity, 0.5 for one of another: (parts,)."""
    gold: float
    """All characters of gold spans."""

    def f1(self, threshold: float) -> float:
        """The F1 of characters at a threshold."""
        is_tagged = self.probabilities >= threshold
        worth, characters = self.worth[is_tagged].sum(), self.characters[is_tagged].sum()
        return float(precision_recall_f1(worth, characters, numpy.asarray(self.gold))[2])

    def best_threshold(self) -> float:
        """The threshold with the highest F1 of characters (that of `wmt_scores.SPANS`); of several, the highest."""
        amounts = self.worth, self.characters
        thresholds, _, (worth, characters) = _cumulated(self.probabilities, *amounts)
        scores = precision_recall_f1(worth, characters, numpy.full(len(worth), self.gold))[2]
        return float(thresholds[int(numpy.argmax(scores))])


def _cumulated(
    probabilities: numpy.ndarray, *amounts: numpy.ndarray
) -> tuple[numpy.ndarray, numpy.ndarray, list[numpy.ndarray]]:
    """All thresholds that tag differently, highest first; how many reach each, and the sums of their amounts."""
    values = probabilities.astype(numpy.float64)
    order = numpy.argsort(-values, kind="stable")
    ranked = values[order]
    # After each word whose successor has another probability: the threshold lies between the two.
    ends = numpy.flatnonzero(numpy.append(ranked[1:] < ranked[:-1], ranked[-1] > 0)) + 1
    # The first one tags no word: no probability reaches it.
    starts = [0] if ranked[0] < 1 else []
    ends = numpy.concatenate([starts, ends]).astype(numpy.int64)
    edges = numpy.concatenate([[1.0], ranked, [0.0]])
    sums = [
        numpy.concatenate([[0.0], numpy.cumsum(each[order].astype(numpy.float64))])[ends]
        for each in amounts
    ]
    return (edges[ends] + edges[ends + 1]) / 2, ends, sums


def threshold_scores(
    bad_tagged: numpy.ndarray, tagged: numpy.ndarray, bad: float, words: float
) -> dict[str, numpy.ndarray]:
    """The scores at each threshold, those of `word_qe_score_arrays`.

    # Parameters

    bad_tagged, tagged : `numpy.ndarray`, (thresholds,)
        At each threshold, the BAD words that are tagged BAD, and all words that are.
    bad, words : `float`
        All BAD words, and all words.
    """
    counts = (bad_tagged, bad - bad_tagged, tagged - bad_tagged, words - bad - tagged + bad_tagged)
    table = numpy.stack(numpy.broadcast_arrays(*counts), -1)
    return word_qe_score_arrays(table.clip(min=0))  # differences of expected counts are rounded
