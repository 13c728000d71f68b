"""Summary statistics of translated files, computed from the answers for their segments."""

from collections.abc import Mapping
from typing import Any

import numpy

from allennlp_nef.qe.layouts import OK

SCORES = ("hter", "expected_bad_share")


def row_of(answer: Mapping[str, Any] | None) -> list[float]:
    """Returns the numbers of an answer that the statistics need: the scores, the threshold, the number of words, and
    how many of them have errors; NaN for missing ones."""
    if answer is None or "error" in answer:
        return [numpy.nan] * 5
    tags = answer["tags"]
    scores = [float(answer.get(name, numpy.nan)) for name in SCORES]
    return [*scores, float(answer["threshold"]), len(tags), sum(tag != OK for tag in tags)]


def summary_of(rows: numpy.ndarray) -> dict[str, Any]:
    """
    Returns the statistics of rows (segments, 5).

    # Returns

    `dict[str, Any]`
        `sentences`, and how many are `scored`; their `words`; the `threshold` of the probability of BAD, or None if
        they have several; `flagged_sentences` and `flagged_words`, which have errors; `mean_hter` and
        `mean_expected_bad_share`, or None if there is nothing to average.
    """
    scored = rows[~numpy.isnan(rows[:, -1])]
    *scores, thresholds, words, flagged = scored.T
    known = [values[~numpy.isnan(values)] for values in scores]
    return {
        "sentences": len(rows),
        "scored": len(scored),
        "words": int(words.sum()),
        "threshold": float(thresholds[0]) if len({*thresholds}) == 1 else None,
        "flagged_sentences": int((flagged > 0).sum()),
        "flagged_words": int(flagged.sum()),
        **{f"mean_{n}": float(v.mean()) if len(v) else None for n, v in zip(SCORES, known)},
    }
