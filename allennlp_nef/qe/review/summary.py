"""Summary statistics of translated files, computed from the answers for their segments."""

from collections.abc import Mapping
from typing import Any

import numpy

from allennlp_nef.qe.checks import CHECKS
from allennlp_nef.qe.layouts import OK

SCORES = ("hter", "expected_bad_share")


def row_of(answer: Mapping[str, Any] | None) -> list[float]:
    """Returns the numbers of an answer that the statistics need: the scores, the threshold, the number of words, how
    many of them have errors, and whether each of the checks found something; NaN for missing ones."""
    if answer is None or "error" in answer:
        return [numpy.nan] * (5 + len(CHECKS))
    tags = answer["tags"]
    scores = [float(answer.get(name, numpy.nan)) for name in SCORES]
    kinds = {finding["kind"] for finding in answer.get("checks", ())}
    flagged = sum(tag != OK for tag in tags)
    return [*scores, float(answer["threshold"]), len(tags), flagged, *(k in kinds for k in CHECKS)]


def summary_of(rows: numpy.ndarray) -> dict[str, Any]:
    """
    Returns the statistics of the rows of segments; see `row_of`.

    # Returns

    `dict[str, Any]`
        `sentences`, and how many are `scored`; their `words`; the `threshold` of the probability of BAD, or None if
        they have several; `flagged_sentences` and `flagged_words`, which have errors; `mean_hter` and
        `mean_expected_bad_share`, or None if there is nothing to average; `sentences_with_findings` of checks, and
        those by kind, such as `number_findings`.
    """
    scored = rows[~numpy.isnan(rows[:, -1])]
    *scores, thresholds, words, flagged = scored.T[:5]
    found = scored[:, 5:] > 0
    known = [values[~numpy.isnan(values)] for values in scores]
    return {
        "sentences": len(rows),
        "scored": len(scored),
        "words": int(words.sum()),
        "threshold": float(thresholds[0]) if len({*thresholds}) == 1 else None,
        "flagged_sentences": int((flagged > 0).sum()),
        "flagged_words": int(flagged.sum()),
        **{f"mean_{n}": float(v.mean()) if len(v) else None for n, v in zip(SCORES, known)},
        "sentences_with_findings": int(found.any(1).sum()),
        **{f"{kind}_findings": int(column.sum()) for kind, column in zip(CHECKS, found.T)},
    }
