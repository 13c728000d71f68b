"""Scores of words and error spans, thresholds and calibration, as functions of arrays.

The scorers, like those in `allennlp_nef.metrics.tag_scores`, compare files.
"""

from collections import Counter
from itertools import chain

import numpy

from allennlp_nef.metrics.tag_scores import (
    Scorer,
    Scores,
    TagCounts,
    Tags,
    by_type,
    count_tags,
    paired,
    precision_recall_f1,
    ratio,
)
from allennlp_nef.qe.layouts import BAD, SEVERITIES

Bins = tuple[numpy.ndarray, numpy.ndarray, numpy.ndarray]


def word_qe_scores(counts: numpy.ndarray) -> Scores:
    """Computes the WMT scores from confusion matrices (..., 4): `mcc`, the F1 of each label, and their product.

    The counts are the words that are BAD and tagged BAD, BAD and tagged OK, OK and tagged BAD, OK and tagged OK.
    """
    bad_bad, bad_ok, ok_bad, ok_ok = numpy.moveaxis(numpy.asarray(counts, dtype=float), -1, 0)
    tagged_ok, is_ok = ok_ok + bad_ok, ok_ok + ok_bad
    tagged_bad, is_bad = bad_bad + ok_bad, bad_bad + bad_ok
    f1_ok = precision_recall_f1(ok_ok, tagged_ok, is_ok)[2]
    f1_bad = precision_recall_f1(bad_bad, tagged_bad, is_bad)[2]
    spread = numpy.sqrt(is_bad * tagged_bad) * numpy.sqrt(tagged_ok * is_ok)
    return {
        "f1_ok": f1_ok,
        "f1_bad": f1_bad,
        "f1_mult": f1_ok * f1_bad,
        "mcc": ratio(bad_bad * ok_ok - bad_ok * ok_bad, spread),
        "accuracy": ratio(bad_bad + ok_ok, tagged_ok + tagged_bad),
    }


def count_word_qe(gold: Tags, predicted: Tags) -> TagCounts:
    """Counts OK and BAD. The columns are the confusion matrix of `word_qe_scores`."""
    rows = []
    for expected, got in paired(gold, predicted):
        cells = Counter((g == BAD, p == BAD) for g, p in zip(expected, got))
        rows.append([cells[is_bad, tagged] for is_bad in (True, False) for tagged in (True, False)])
    sentences = numpy.array(rows, dtype=int).reshape(-1, 4)
    return TagCounts(sentences, count_tags(gold, predicted).types)


def count_spans(gold: Tags, predicted: Tags) -> TagCounts:
    """Counts the characters of error spans as in WMT23 task 2, given one tag per character.

    A tag names one severity, or two joined by a plus sign; any other tag means no error. A character with a gold and a
    predicted error has credit 1 if a severity agrees, otherwise 0.5. The columns are twice the credit, and the numbers
    of predicted and gold characters with errors.
    """
    rows, types = [], (Counter[str](), Counter[str](), Counter[str]())
    for sides in paired(gold, predicted):
        expected, got = ([{*SEVERITIES} & {*tag.split("+")} for tag in side] for side in sides)
        same = [g & p for g, p in zip(expected, got)]
        twice = sum(1 + bool(both) for g, p, both in zip(expected, got, same) if g and p)
        rows.append([twice, sum(map(bool, got)), sum(map(bool, expected))])
        for counter, severities in zip(types, (same, got, expected)):
            counter.update(chain.from_iterable(severities))
    return TagCounts(numpy.array(rows, dtype=int).reshape(-1, 3), by_type(*types))


def span_scores(counts: numpy.ndarray) -> Scores:
    """Returns precision, recall and F1 of the counts of `count_spans`."""
    twice, predicted, gold = numpy.moveaxis(counts, -1, 0)
    return dict(zip(("precision", "recall", "f1"), precision_recall_f1(twice / 2, predicted, gold)))


WORD_QE = Scorer(count_word_qe, word_qe_scores, ("f1_mult", "mcc"), "mcc")


SPANS = Scorer(count_spans, span_scores, ("f1",), "f1", "characters")


def best_threshold(
    probabilities: numpy.ndarray, is_bad: numpy.ndarray, objective: str = "mcc"
) -> tuple[float, float]:
    """Returns the threshold with the highest score, and that score. Words at or above the threshold are BAD.

    # Parameters

    probabilities : `numpy.ndarray`, (words,)
        The probability of BAD.
    is_bad : `numpy.ndarray`, (words,)
    objective : `str`, optional (default = `"mcc"`)
        A score of `word_qe_scores`.
    """
    order = numpy.argsort(-probabilities, kind="stable")
    edges = numpy.concatenate([[1.0], probabilities[order], [0.0]])
    # The numbers of words that a threshold between two edges can tag BAD.
    tagged = numpy.flatnonzero(edges[:-1] > edges[1:])
    hits = numpy.concatenate([[0], numpy.cumsum(is_bad[order])])[tagged]
    bad, words = is_bad.sum(), len(is_bad)
    counts = [hits, bad - hits, tagged - hits, words - bad - tagged + hits]
    scores = word_qe_scores(numpy.stack(counts, -1).clip(min=0))[objective]
    best = int(scores.argmax())
    return float(edges[tagged[best] : tagged[best] + 2].mean()), float(scores[best])


def expected_threshold(probabilities: numpy.ndarray) -> float:
    """Returns the threshold with the highest expected MCC, from the calibrated probabilities of BAD alone: (words,).

    The MCC is computed from expected counts: the probabilities replace the gold tags.
    """
    return best_threshold(probabilities, probabilities)[0]


def detection_scores(
    probabilities: numpy.ndarray, happened: numpy.ndarray, threshold: float
) -> dict[str, float]:
    """Returns `auc`, the area under the ROC curve; `mcc` at a threshold; and `ece`: see `expected_calibration_error`.

    `auc` is 0.5, and `mcc` is 0, if all events happened or none. Arrays are (sentences,).
    """
    from scipy.stats import rankdata

    number = happened.sum()
    ranks = rankdata(probabilities)[happened].sum() - number * (number + 1) / 2
    pairs = number * (len(happened) - number)
    counts = numpy.bincount(2 * ~happened + ~(probabilities >= threshold), minlength=4)
    return {
        "auc": float(ranks / pairs) if pairs else 0.5,
        "mcc": float(word_qe_scores(counts)["mcc"]),
        "ece": expected_calibration_error(calibration_bins(probabilities, happened)),
    }


def calibration_bins(probabilities: numpy.ndarray, happened: numpy.ndarray, bins: int = 15) -> Bins:
    """Returns, for bins of equal width: the sum of the probabilities, the number of events, and the number of words."""
    places = numpy.minimum((probabilities * bins).astype(int), bins - 1)
    weights = (probabilities, happened, numpy.ones(len(places)))
    sums = [numpy.bincount(places, each, minlength=bins) for each in weights]
    return sums[0], sums[1], sums[2]


def expected_calibration_error(bins: Bins) -> float:
    """Returns the ECE (Naeini et al., AAAI 2015): the mean over words of |mean probability - frequency| of the bin."""
    predicted, happened, words = bins
    return float(ratio(numpy.abs(predicted - happened).sum(), words.sum()))
