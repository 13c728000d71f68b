"""
MPP, the match of error spans with partial overlap and partial credit (Perrella, Morales Agostinho and Zaragoza 2026,
arXiv 2603.19921).

Spans are those of one text: its start, the character after its end, and the severity. With o the length of the overlap
of a predicted span p and a gold span g, and c their credit, a match is worth `c o / |p|` for precision, and
`c o / |g|` for recall. The sums over matches are divided by the number of predicted and of gold spans.

Which spans match: by default one with one, so that the F1 of the segment is the highest. Or each with
all that overlap with it (`many_to_many`), where each character of a span counts once.

The credit is 1 by default. With `severity_penalty` it is 1 minus the penalty where severities differ. With
`severity_weights` it is the lower of the two weights, and weights are counted in place of spans.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy

from allennlp_nef.metrics.ratios import ratio

Span = tuple[int, int, str]
"""The start, the character after the end, and the severity; an `ErrorSpan` is one."""
MAX_STATES = 1_000
"""So many partial matchings are kept where more overlap, those of the highest sum of precision and recall."""


class MppCounts(NamedTuple):
    """What a segment adds to MPP: sums over its spans."""

    predicted_credit: float
    """The part of the predicted spans that is right."""
    predicted: float
    """The predicted spans, or their weights."""
    gold_credit: float
    """The part of the gold spans that is found."""
    gold: float
    """The gold spans, or their weights."""


def mpp_counts(
    gold: Sequence[Span],
    predicted: Sequence[Span],
    *,
    many_to_many: bool = False,
    severity_penalty: float = 0.0,
    severity_weights: Mapping[str, float] | None = None,
) -> MppCounts:
    """
    The counts of a segment.

    The best matching is exact for up to `MAX_STATES` partial ones, which is more than annotated texts have.

    # Parameters

    gold, predicted : `Sequence[Span]`
        The error spans of the same text, in any order. They may overlap.
    many_to_many : `bool`, optional (default = `False`)
        Whether a span may match several.
    severity_penalty : `float`, optional (default = `0.0`)
        In [0, 1]: what a match of different severities loses.
    severity_weights : `Mapping[str, float]`, optional (default = `None`)
        The weight of each severity, above 0. Not with a penalty.

    # Raises

    `ValueError`: a span that does not start before its end, a severity without weight, a penalty or a weight outside of
    its range, a penalty beside weights.
    """
    if not 0 <= severity_penalty <= 1 or (severity_penalty and severity_weights is not None):
        raise ValueError(
            f"severity_penalty: expected a number from 0 to 1, and 0 with weights, got {severity_penalty}"
        )
    severities = {span[2] for span in (*gold, *predicted)}
    weights = dict.fromkeys(severities, 1.0)
    if severity_weights is not None:
        weights = dict(severity_weights)
        if not severities <= weights.keys() or not all(weight > 0 for weight in weights.values()):
            raise ValueError(
                f"severity_weights: expected a number above 0 for each of {sorted(severities)}, got {weights}"
            )
    for start, end, _ in (*gold, *predicted):
        if start >= end:
            raise ValueError(f"spans: expected a start before its end, got {start} to {end}")
    totals = [sum(weights[span[2]] for span in spans) for spans in (predicted, gold)]
    if not (gold and predicted):
        return MppCounts(0.0, totals[0], 0.0, totals[1])
    if many_to_many:
        a, b = _shared(gold, predicted, severity_penalty, weights)
    else:
        a, b = _matched(gold, predicted, severity_penalty, weights, totals)
    return MppCounts(a, totals[0], b, totals[1])


def mpp_scores(counts: numpy.ndarray) -> tuple[numpy.ndarray, numpy.ndarray, numpy.ndarray]:
    """
    Precision, recall and F1, each of shape (...), of `MppCounts`, of shape (..., 4): those of a segment, or of the sum
    of segments (micro averages). Without predicted spans the precision is 1, without gold spans the recall is.
    """
    a, predicted, b, gold = numpy.moveaxis(numpy.asarray(counts, dtype=numpy.float64), -1, 0)
    precision = numpy.where(predicted > 0, ratio(a, predicted), 1.0)
    recall = numpy.where(gold > 0, ratio(b, gold), 1.0)
    return precision, recall, ratio(2 * precision * recall, precision + recall)


def _overlap(p: Span, g: Span) -> int:
    return max(0, min(p[1], g[1]) - max(p[0], g[0]))


def _matched(
    gold: Sequence[Span],
    predicted: Sequence[Span],
    penalty: float,
    weights: Mapping[str, float],
    totals: Sequence[float],
) -> tuple[float, float]:
    """The sums of the one-to-one matching of the highest F1.

    F1 is no sum over matches. So the pairs of sums of all matchings are kept that no other one exceeds in both. A
    partial matching is of the predicted spans up to one, and is known by the gold spans that it has used and that a
    later predicted span may still take.
    """
    gold, predicted = sorted(gold), sorted(predicted)
    # Used gold spans -> pairs of sums. Equal spans are used in their order.
    states: dict[frozenset[int], list[tuple[float, float]]] = {frozenset(): [(0.0, 0.0)]}
    for p in predicted:
        reachable: dict[frozenset[int], list[tuple[float, float]]] = {}
        options = []
        for index, g in enumerate(gold):
            overlap = _overlap(p, g)
            if overlap:
                credit = min(weights[p[2]], weights[g[2]]) * (1 - penalty * (p[2] != g[2]))
                worth = credit * overlap / (p[1] - p[0]), credit * overlap / (g[1] - g[0])
                options.append((index, g, worth))
        for used, pairs in states.items():
            used = frozenset(index for index in used if gold[index][1] > p[0])
            reachable.setdefault(used, []).extend(pairs)
            tried = set()
            for index, g, (a, b) in options:
                if index in used or g in tried:
                    continue
                tried.add(g)
                added = [(x + a, y + b) for x, y in pairs]
                reachable.setdefault(used | {index}, []).extend(added)
        states = {used: _undominated(pairs) for used, pairs in reachable.items()}
        if sum(map(len, states.values())) > MAX_STATES:
            states = _best_states(states, totals)

    def f1(pair: tuple[float, float]) -> float:
        precision, recall = pair[0] / totals[0], pair[1] / totals[1]
        return precision * recall / (precision + recall) if precision + recall else 0.0

    return max((pair for pairs in states.values() for pair in pairs), key=f1)


def _undominated(pairs: list[tuple[float, float]]) -> list[tuple[float, float]]:
    """The pairs that no other one exceeds in both numbers."""
    kept: list[tuple[float, float]] = []
    for a, b in sorted(set(pairs), reverse=True):
        if not kept or b > kept[-1][1]:
            kept.append((a, b))
    return kept


def _best_states(
    states: Mapping[frozenset[int], list[tuple[float, float]]], totals: Sequence[float]
) -> dict[frozenset[int], list[tuple[float, float]]]:
    ranked = sorted(
        ((used, pair) for used, pairs in states.items() for pair in pairs),
        key=lambda state: -(state[1][0] / totals[0] + state[1][1] / totals[1]),
    )
    kept: dict[frozenset[int], list[tuple[float, float]]] = {}
    for used, pair in ranked[:MAX_STATES]:
        kept.setdefault(used, []).append(pair)
    return kept


def _shared(
    gold: Sequence[Span],
    predicted: Sequence[Span],
    penalty: float,
    weights: Mapping[str, float],
) -> tuple[float, float]:
    """The sums where each span matches all that overlap with it.

    A stretch is the characters between two borders of spans, which the same spans cover. There equal severities match
    first; what is left on both sides matches up to the smaller sum, shared among the severities in proportion.
    """
    sides = (predicted, gold)
    sums = [0.0, 0.0]
    borders = sorted({border for spans in sides for span in spans for border in span[:2]})
    for start, end in zip(borders, borders[1:]):
        covering = [[s for s in spans if s[0] <= start and end <= s[1]] for spans in sides]
        if not all(covering):
            continue
        cover = [Counter[str]() for _ in sides]
        for counter, spans in zip(cover, covering):
            for span in spans:
                counter[span[2]] += weights[span[2]]  # type: ignore[assignment]
        equal = {severity: min(cover[0][severity], cover[1][severity]) for severity in weights}
        left = [{s: counter[s] - equal[s] for s in weights} for counter in cover]
        mismatched = min(sum(counts.values()) for counts in left)
        for side, spans in enumerate(covering):
            total = sum(left[side].values())
            for span_start, span_end, severity in spans:
                share = mismatched * left[side][severity] / total if total else 0.0
                credit = (equal[severity] + (1 - penalty) * share) / cover[side][severity]
                sums[side] += weights[severity] * credit * (end - start) / (span_end - span_start)
    return sums[0], sums[1]
