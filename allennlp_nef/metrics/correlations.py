"""Correlations and errors of scores, one per sentence or pair."""

import numpy

from allennlp_nef.metrics.tag_scores import Scorer, Scores, TagCounts, Tags, paired, ratio


def count_sentence_scores(gold: Tags, predicted: Tags) -> TagCounts:
    """Counts sentences with one number each.

    The columns are 1, x, y, x^2, y^2, xy, |d| and d^2: x are the gold and y the predicted scores, standardized so that
    a significance test can swap systems with different score ranges; d is the difference of the original scores.
    """
    values = numpy.array([[*g, *p] for g, p in paired(gold, predicted)], dtype=float).reshape(-1, 2)
    x, y = ratio(values - values.mean(0), numpy.broadcast_to(values.std(0), values.shape)).T
    d = values[:, 0] - values[:, 1]
    columns = [numpy.ones_like(x), x, y, x * x, y * y, x * y, numpy.abs(d), d * d]
    return TagCounts(numpy.stack(columns, -1), {})


def sentence_scores(counts: numpy.ndarray) -> Scores:
    """Returns Pearson's correlation, the mean absolute and the root mean squared error of `count_sentence_scores`."""
    n, x, y, xx, yy, xy, d, dd = numpy.moveaxis(counts, -1, 0)
    spread = numpy.sqrt(numpy.maximum(0, n * xx - x * x) * numpy.maximum(0, n * yy - y * y))
    pearson = ratio(n * xy - x * y, spread)
    return {"pearson": pearson, "mae": ratio(d, n), "rmse": numpy.sqrt(ratio(dd, n))}


def spearman(gold: Tags, predicted: Tags) -> float:
    """Returns Spearman's correlation of one number per sentence; 0 if one side is constant."""
    from scipy.stats import spearmanr

    sides: list[numpy.ndarray] = [numpy.ravel(side) for side in (gold, predicted)]
    if any(numpy.unique(side).size < 2 for side in sides):
        return 0.0
    return float(spearmanr(*sides)[0])


def rank_correlations(gold: Tags, predicted: Tags) -> Scores:
    """Returns the Spearman and Kendall correlations of one number per sentence; 0 if one side is constant."""
    from scipy.stats import kendalltau

    kendall = numpy.nan_to_num(kendalltau(gold, predicted)[0])
    return {"spearman": spearman(gold, predicted), "kendall": float(kendall)}


CORRELATIONS = Scorer(
    count_sentence_scores,
    sentence_scores,
    ("pearson", "mae", "rmse"),
    "spearman",
    "",
    rank_correlations,
)
