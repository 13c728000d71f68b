"""
The scores of the WMT shared tasks on quality estimation that are not of OK and BAD alone: `Scorer`s as those of
`tag_scores`, with what the official scripts compute.

- `SPANS` (WMT23): severities of characters, as `allennlp_nef.data.formats.error_spans.severities_of` gives them. A
  character is worth 1 where gold and prediction have the same severity, 0.5 where they have different ones. Precision
  is over predicted, recall over gold characters of errors.
- `SEGMENT_SPANS` (WMT24 to 26): the spans of each segment, as characters (WMT25) and by MPP in its variants. A
  character counts once for each span that covers it. It is worth 1 where gold and prediction have the same severity,
  0.5 where they have different ones.
- `EXPLANATIONS` (WMT22): a number for each word against OK and BAD: area under the ROC curve, average precision, and
  recall among the K highest with K the number of BAD words, each the mean over the sentences that have both tags.
- `CORRELATIONS`: a number for each sentence. Pearson's r, the mean absolute and the root mean squared error come from
  sums; Spearman's and Kendall's correlations (tau-b) do not.
"""

from collections import Counter
from collections.abc import Sequence
from itertools import chain
from typing import Any

import numpy

from allennlp_nef.data.formats.error_spans import BOTH, NO_ERROR, SEVERITIES
from allennlp_nef.metrics.mpp import Span, mpp_counts, mpp_scores
from allennlp_nef.metrics.ratios import precision_recall_f1, ratio
from allennlp_nef.metrics.tag_scores import Scorer, TagCounts, Tags, TypeCounts, paired_sentences

MAX_DIFFERENCE = 1e150
"""Of the scores of a sentence: squares of larger ones would be infinite."""


def count_spans(gold: Tags, predicted: Tags) -> TagCounts:
    """The counts are twice the worth of the characters, the predicted and the gold characters of errors."""
    rows = []
    types = {name: numpy.zeros(3, dtype=int) for name in SEVERITIES}
    for expected, got in paired_sentences(gold, predicted):
        is_gold = {name: numpy.isin(expected, [name, BOTH]) for name in SEVERITIES}
        is_predicted = {name: numpy.isin(got, [name, BOTH]) for name in SEVERITIES}
        same = numpy.zeros(len(expected), dtype=bool)
        for name, counts in types.items():
            hits = is_gold[name] & is_predicted[name]
            counts += [hits.sum(), is_predicted[name].sum(), is_gold[name].sum()]
            same |= hits
        in_gold, in_predicted = (numpy.asarray(x) != NO_ERROR for x in (expected, got))
        worth = same.sum() + (in_gold & in_predicted).sum()
        rows.append([worth, in_predicted.sum(), in_gold.sum()])
    return TagCounts(
        numpy.array(rows, dtype=numpy.int64).reshape(-1, 3),
        {name: TypeCounts(*counts.tolist()) for name, counts in types.items()},
    )


def span_scores(counts: numpy.ndarray) -> dict[str, numpy.ndarray]:
    """The scores of the counts of `count_spans`."""
    twice, predicted, gold = numpy.moveaxis(counts, -1, 0)
    return dict(zip(("precision", "recall", "f1"), precision_recall_f1(twice / 2, predicted, gold)))


MPP_VARIANTS: dict[str, dict[str, Any]] = {
    "mpp": {},
    "mpp_many_to_many": {"many_to_many": True},
    "mpp_penalty": {"severity_penalty": 0.5},
    "mpp_weights": {"severity_weights": {"minor": 0.2, "major": 1.0}},
}
"""The options of `mpp_counts` for the scores of `segment_scores`."""


def character_counts(gold: Sequence[Span], predicted: Sequence[Span]) -> tuple[float, float, float]:
    """
    The worth of the characters of a segment, the predicted and the gold characters of errors, as WMT25 counts them.

    With M and m the numbers of major and minor gold spans of a character, M' and m' the predicted ones, and (x)+ the
    larger of x and 0, its worth is min(M, M') + min(m, m') + 0.5 min((M - M')+ + (m - m')+, (M' - M)+ + (m' - m)+).
    """
    worth, totals = 0.0, [0, 0]
    borders = sorted({border for span in (*gold, *predicted) for border in span[:2]})
    for start, end in zip(borders, borders[1:]):
        g, p = (
            Counter(s[2] for s in spans if s[0] <= start and end <= s[1])
            for spans in (gold, predicted)
        )
        totals[0] += p.total() * (end - start)
        totals[1] += g.total() * (end - start)
        same, only_gold, only_predicted = (g & p).total(), (g - p).total(), (p - g).total()
        worth += (same + 0.5 * min(only_gold, only_predicted)) * (end - start)
    return worth, totals[0], totals[1]


def count_segment_spans(gold: Tags, predicted: Tags) -> TagCounts:
    """
    A segment has one tag, its spans. Empty ones count nothing.

    The counts are those of `character_counts`, F1 of MPP, 1, and then the `MppCounts` of each of the `MPP_VARIANTS`.
    """
    rows = []
    for (expected,), (got,) in paired_sentences(gold, predicted):
        sides = [[span for span in spans if span[0] < span[1]] for spans in (expected, got)]
        variants = [mpp_counts(*sides, **options) for options in MPP_VARIANTS.values()]
        f1 = mpp_scores(numpy.array(variants[0]))[2]
        rows.append([*character_counts(*sides), f1, 1, *chain(*variants)])
    width = 5 + 4 * len(MPP_VARIANTS)
    return TagCounts(numpy.array(rows, dtype=numpy.float64).reshape(-1, width), {})


def segment_scores(counts: numpy.ndarray) -> dict[str, numpy.ndarray]:
    """
    The scores of the counts of `count_segment_spans`: of characters, of MPP, F1 of its variants (micro averages), and
    the mean F1 of segments (macro average). A precision without predictions is 1, a recall without gold is 1.
    """
    worth, predicted, gold = numpy.moveaxis(counts[..., :3], -1, 0)
    scores = dict(
        zip(
            ("precision", "recall", "f1"),
            mpp_scores(numpy.stack([worth, predicted, worth, gold], -1)),
        )
    )
    for index, name in enumerate(MPP_VARIANTS):
        precision, recall, f1 = mpp_scores(counts[..., 5 + 4 * index : 9 + 4 * index])
        if name == "mpp":
            scores |= {"mpp_precision": precision, "mpp_recall": recall}
        scores[name] = f1
    scores["mpp_macro"] = ratio(counts[..., 3], counts[..., 4])
    return scores


def count_explanations(gold: Tags, predicted: Tags) -> TagCounts:
    """The counts are the three scores of the sentence and 1; all are 0 where the gold tags are all OK or all BAD."""
    from sklearn.metrics import average_precision_score, roc_auc_score

    rows: list[Sequence[float]] = []
    for tags, scores in paired_sentences(gold, predicted):
        is_bad = numpy.asarray(tags) == "BAD"
        number = int(is_bad.sum())
        if number in (0, len(is_bad)):
            rows.append([0.0] * 4)
            continue
        highest = numpy.argsort(scores, kind="stable")[::-1][:number]
        auc, precision = (f(is_bad, scores) for f in (roc_auc_score, average_precision_score))
        rows.append([is_bad[highest].mean(), auc, precision, 1.0])
    return TagCounts(numpy.array(rows, dtype=numpy.float64).reshape(-1, 4), {})


def explanation_scores(counts: numpy.ndarray) -> dict[str, numpy.ndarray]:
    """The scores of the counts of `count_explanations`."""
    names = ("recall_at_k", "auc", "average_precision")
    return {name: ratio(counts[..., i], counts[..., 3]) for i, name in enumerate(names)}


def count_correlations(gold: Tags, predicted: Tags) -> TagCounts:
    """
    The counts are 1, x, y, x^2, y^2 and xy, where x are the gold and y the predicted scores, each with the mean 0 and
    the variance 1 over the data set. So systems with other ranges of scores can be swapped in a test of significance.
    Then come |d| and d^2, where d is the difference of the scores as they are, at most `MAX_DIFFERENCE`.
    """
    values = _values(gold), _values(predicted)
    with numpy.errstate(over="ignore"):
        d = numpy.minimum(numpy.abs(values[0] - values[1]), MAX_DIFFERENCE)
    x, y = map(_standardized, values)
    counts = [numpy.ones_like(x), x, y, x * x, y * y, x * y, d, d * d]
    return TagCounts(numpy.stack(counts, -1), {})


def sentence_scores(counts: numpy.ndarray) -> dict[str, numpy.ndarray]:
    """Pearson's r, the mean absolute and the root mean squared error of the counts of `count_correlations`."""
    n, x, y, xx, yy, xy, d, dd = numpy.moveaxis(counts, -1, 0)
    spread = numpy.sqrt(numpy.maximum(0, n * xx - x * x) * numpy.maximum(0, n * yy - y * y))
    return {
        "pearson": ratio(n * xy - x * y, spread),
        "mae": ratio(d, n),
        "rmse": numpy.sqrt(ratio(dd, n)),
    }


def rank_correlations(gold: Tags, predicted: Tags) -> dict[str, float]:
    """Spearman's and Kendall's correlation of the scores."""
    from scipy.stats import kendalltau, spearmanr

    x, y = _values(gold), _values(predicted)
    return {"spearman": float(spearmanr(x, y)[0]), "kendall": float(kendalltau(x, y)[0])}


SEGMENT_SPANS = Scorer(count_segment_spans, segment_scores, ("f1", "mpp"), "f1", "")
SPANS = Scorer(count_spans, span_scores, ("f1",), "f1", "characters")
EXPLANATIONS = Scorer(
    count_explanations,
    explanation_scores,
    ("recall_at_k", "auc", "average_precision"),
    "recall_at_k",
)
CORRELATIONS = Scorer(
    count_correlations,
    sentence_scores,
    ("pearson", "mae", "rmse"),
    "spearman",
    "",
    whole=rank_correlations,
)


def _values(scores: Tags) -> numpy.ndarray:
    return numpy.array([score for (score,) in scores], dtype=numpy.float64)


def _standardized(values: numpy.ndarray) -> Any:
    # Squares of very large and very small numbers would be infinite or 0.
    values = ratio(values, numpy.full(len(values), numpy.abs(values).max()))
    return ratio(values - values.mean(), numpy.full(len(values), values.std()))
