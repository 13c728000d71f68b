"""Summary statistics of translated files, computed from the answers for their segments, and comparisons of systems."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy

from allennlp_nef.metrics.significance import compare
from allennlp_nef.qe.layouts import OK

SCORES = ("hter", "expected_bad_share")
_COLUMNS = (*SCORES, "threshold", "words", "flagged")


def row_of(answer: Mapping[str, Any]) -> list[float]:
    """Returns the numbers of an answer that the statistics need; NaN for missing ones."""
    if "error" in answer:
        return [numpy.nan] * len(_COLUMNS)
    tags = answer["tags"]
    flagged = sum(tag != OK for tag in tags)
    return [*(answer.get(name, numpy.nan) for name in _COLUMNS[:3]), len(tags), flagged]


def figures_of(rows: numpy.ndarray) -> dict[str, Any]:
    """
    Returns the statistics of rows (segments, columns).

    # Returns

    `dict[str, Any]`
        `sentences`, and how many are `scored`; their `words`; the `threshold` of the probability of BAD, or None;
        `flagged_sentences` and `flagged_words`, which have errors; `mean_hter` and `mean_expected_bad_share`, or None
        if there is nothing to average.
    """
    scored = rows[~numpy.isnan(rows[:, -1])]
    *scores, threshold, words, flagged = scored.T
    known = [values[~numpy.isnan(values)] for values in scores]
    return {
        "sentences": len(rows),
        "scored": len(scored),
        "words": int(words.sum()),
        "threshold": float(threshold[0]) if len(scored) else None,
        "flagged_sentences": int((flagged > 0).sum()),
        "flagged_words": int(flagged.sum()),
        **{f"mean_{n}": float(v.mean()) if len(v) else None for n, v in zip(SCORES, known)},
    }


def compare_systems(
    tables: Sequence[numpy.ndarray], draws: int = 1000, seed: int = 0
) -> list[dict[str, Any]]:
    """
    Compares systems by their mean scores over the segments for which all of them have scores.

    # Parameters

    tables : `Sequence[numpy.ndarray]`
        The rows (segments, columns) of each system, in the order of the sources.
    draws : `int`, optional (default = `1000`)
        The number of bootstrap samples, and of random swaps of `allennlp_nef.metrics.significance.compare`.
    seed : `int`, optional (default = `0`)

    # Returns

    `list[dict[str, Any]]`
        For each system: the name of the `score`, HTER if all systems have it; the number of `compared` segments; the
        `mean`, and the ends `low` and `high` of its 95% bootstrap interval; and, except for the system with the lowest
        mean, the `p_value` of the difference from that system.
    """
    values = numpy.stack([rows[:, : len(SCORES)] for rows in tables])  # (systems, segments, 2)
    is_scored = ~numpy.isnan([rows[:, -1] for rows in tables]).any(0)
    values = values[:, is_scored]
    column = int(numpy.isnan(values[..., 0]).any())
    scores, segments = values[..., column], int(is_scored.sum())  # (systems, segments)
    if not segments:
        return [{} for _ in tables]
    generator = numpy.random.default_rng(seed)
    samples = [
        scores[:, generator.integers(0, segments, segments)].mean(1) for _ in range(draws)
    ]  # (draws, systems)
    lows, highs = numpy.percentile(samples, [2.5, 97.5], axis=0)
    means = scores.mean(1)
    best = int(means.argmin())
    counts = scores[..., None] / segments  # (systems, segments, 1), whose sum is the mean
    return [
        {
            "score": SCORES[column],
            "compared": segments,
            "mean": float(mean),
            "low": float(low),
            "high": float(high),
            "p_value": None
            if i == best
            else compare(counts[i], counts[best], lambda total: total[..., 0], draws, seed).p_value,
        }
        for i, (mean, low, high) in enumerate(zip(means, lows, highs))
    ]
