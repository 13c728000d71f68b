"""Summary statistics of translated files, computed from the answers for their segments."""

from collections.abc import Mapping
from typing import Any

import numpy

from allennlp_nef.qe.answers import CRITICAL, SCORES
from allennlp_nef.qe.checks import CHECKS
from allennlp_nef.qe.layouts import OK

# The numbers of a row before those of the checks.
_NUM_NUMBERS = len(SCORES) + 4


def row_of(answer: Mapping[str, Any] | None) -> list[float]:
    """Returns the numbers of an answer that the statistics need: the scores, whether the probability of a critical
    error reaches its threshold, the threshold of BAD, the number of words, how many of them have errors, and whether
    each of the checks found something; NaN for missing ones."""
    if answer is None or "error" in answer:
        return [numpy.nan] * (_NUM_NUMBERS + len(CHECKS))
    tags = answer["tags"]
    scores = [float(answer.get(name, numpy.nan)) for name in SCORES]
    kinds = {finding["kind"] for finding in answer.get("checks", ())}
    flagged = sum(tag != OK for tag in tags)
    is_critical = answer.get(CRITICAL, -1.0) >= answer.get("critical_error_threshold", 0.5)
    numbers = [*scores, is_critical, float(answer["threshold"]), len(tags), flagged]
    return [*numbers, *(kind in kinds for kind in CHECKS)]


def summary_of(rows: numpy.ndarray) -> dict[str, Any]:
    """
    Returns the statistics of the rows of segments; see `row_of`.

    # Returns

    `dict[str, Any]`
        `sentences`, and how many are `scored`; their `words`; the `threshold` of the probability of BAD, or None if
        they have several; `flagged_sentences` and `flagged_words`, which have errors; `critical_sentences`, whose
        probability of a critical error reaches its threshold, or None if the model does not predict it; the means of
        the scores, such as `mean_hter`, or None if there is nothing to average; `sentences_with_findings` of checks,
        and those by kind, such as `number_findings`.
    """
    scored = rows[~numpy.isnan(rows[:, -1])]
    *scores, critical, thresholds, words, flagged = scored.T[:_NUM_NUMBERS]
    found = scored[:, _NUM_NUMBERS:] > 0
    known = {name: values[~numpy.isnan(values)] for name, values in zip(SCORES, scores)}
    return {
        "sentences": len(rows),
        "scored": len(scored),
        "words": int(words.sum()),
        "threshold": float(thresholds[0]) if len({*thresholds}) == 1 else None,
        "flagged_sentences": int((flagged > 0).sum()),
        "flagged_words": int(flagged.sum()),
        "critical_sentences": int(critical.sum()) if len(known[CRITICAL]) else None,
        **{f"mean_{n}": float(v.mean()) if len(v) else None for n, v in known.items()},
        "sentences_with_findings": int(found.any(1).sum()),
        **{f"{kind}_findings": int(column.sum()) for kind, column in zip(CHECKS, found.T)},
    }
