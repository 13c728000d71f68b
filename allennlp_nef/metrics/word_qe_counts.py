"""The scores of word-level quality estimation from counts. This module needs nothing but NumPy."""

from collections import Counter
from collections.abc import Sequence

import numpy

from allennlp_nef.metrics.ratios import precision_recall_f1, ratio


def count_word_qe(
    gold: Sequence[str], predicted: Sequence[str], bad_label: str = "BAD"
) -> list[int]:
    """The confusion matrix of the tags of some words, as `word_qe_scores` takes it.

    Raises `ValueError` if there are not as many predicted tags as gold ones.
    """
    if len(gold) != len(predicted):
        raise ValueError(
            f"predicted: expected {len(gold)} tags, as many as gold ones, got {len(predicted)}"
        )
    pairs = Counter((g == bad_label, p == bad_label) for g, p in zip(gold, predicted))
    return [pairs[is_bad, is_tagged] for is_bad in (True, False) for is_tagged in (True, False)]


def word_qe_scores(counts: Sequence[int]) -> dict[str, float]:
    """The scores of `WordQeMetric` from a confusion matrix.

    `counts` are the words that are BAD and tagged BAD, BAD and tagged OK, OK and tagged BAD, OK and tagged OK.
    """
    arrays = word_qe_score_arrays(numpy.asarray(counts, dtype=numpy.float64))
    return {name: float(array) for name, array in arrays.items()}


def word_qe_score_arrays(counts: numpy.ndarray) -> dict[str, numpy.ndarray]:
    """The scores of many confusion matrices: counts (..., 4), as `word_qe_scores` takes them, to scores (...)."""
    bad_bad, bad_ok, ok_bad, ok_ok = numpy.moveaxis(counts.astype(numpy.float64), -1, 0)
    tagged_ok, is_ok = ok_ok + bad_ok, ok_ok + ok_bad
    tagged_bad, is_bad = bad_bad + ok_bad, bad_bad + bad_ok
    f1_ok = precision_recall_f1(ok_ok, tagged_ok, is_ok)[2]
    f1_bad = precision_recall_f1(bad_bad, tagged_bad, is_bad)[2]
    # Two roots, since the product of the four sums may be too large.
    spread = numpy.sqrt(is_bad * tagged_bad) * numpy.sqrt(tagged_ok * is_ok)
    return {
        "f1_ok": f1_ok,
        "f1_bad": f1_bad,
        "f1_mult": f1_ok * f1_bad,
        "mcc": ratio(bad_bad * ok_ok - bad_ok * ok_bad, spread),
        "accuracy": ratio(bad_bad + ok_ok, bad_bad + bad_ok + ok_bad + ok_ok),
    }
