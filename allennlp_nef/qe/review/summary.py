"""Summary statistics of translated files, computed from the answers for their segments."""

from collections.abc import Mapping
from typing import Any

import numpy

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
