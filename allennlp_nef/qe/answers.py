"""From requests to translated sentences, and from probabilities to the answers of quality estimation, in NumPy alone.

The predictor calls these functions, and so do exported taggers, which have a copy of this module. The threshold is
applied here and nowhere else.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy
from numpy import ndarray

from allennlp_nef.data.sentence import Sentence, Split
from allennlp_nef.predictors.requests import FLAG, PROBABILITY, TEXT, Check, words_of
from allennlp_nef.qe.checks import check
from allennlp_nef.qe.layouts import EOS, OK, bad_ids_of, check_words, parse_links, without_eos
from allennlp_nef.qe.spans import join_bad_words, token_offsets
from allennlp_nef.qe.translated_sentence import TranslatedSentence

LANGUAGE: Check = (lambda value: isinstance(value, str), "a language code")
REQUEST: dict[str, Check] = {
    "source": TEXT,
    "target": TEXT,
    "alignments": (lambda value: isinstance(value, str | list | tuple), "a string or a list"),
    "source_language": LANGUAGE,
    "target_language": LANGUAGE,
    "attention": FLAG,
    "trace": FLAG,
    "label_probabilities": FLAG,
    "threshold": PROBABILITY,
}
"""The fields of a request."""
REQUIRED = ("source", "target")
CRITICAL = "critical_error_probability"
ESTIMATES = ("hter", "quality", CRITICAL)
"""The estimates of a whole translation that a model can predict."""
PREDICTED = (*ESTIMATES, "critical_error_threshold", "source_bad_probabilities")
"""The fields of answers that only some models predict."""
SCORES = {
    CRITICAL: "critical error {:.0%}",
    "quality": "quality {:.0f}",
    "hter": "predicted HTER {:.2f}",
    "expected_bad_share": "expected share of BAD words {:.2f}",
}
"""The scores of a whole translation in an answer, and how notes for people show them."""
SPAN = {"start": int, "end": int, "text": str, "severity": str, "probability": float}
FINDING = {"kind": str, "start": int, "end": int, "message": str}
ANSWER: dict[str, Any] = {
    "source": [str],
    "tokens": [str],
    "tags": [str],
    "bad_probabilities": [float],
    "threshold": float,
    "threshold_from": str,
    "alignments": [[int]],
    "alignments_from": str,
    "spans": [SPAN],
    "hter": float,
    "quality": float,
    CRITICAL: float,
    "critical_error_threshold": float,
    "expected_bad_share": float,
    "source_bad_probabilities": [float],
    "offsets": [[int]],
    "source_offsets": [[int]],
    "tagged": str,
    "checks": [FINDING],
}
"""The fields of an answer, with their types: a list of one type, or the fields of an object. Those of options
(`attention`, `trace`, `label_probabilities`) are not listed."""


def pair_of(
    request: dict[str, Any], splits: Mapping[str, Split], tagged: str, max_tokens: int
) -> TranslatedSentence:
    """Returns the translated sentence of a request; see `WordQePredictor`.

    # Parameters

    request : `dict[str, Any]`
    splits : `Mapping[str, Split]`
        Split the texts of `source` and `target` into words.
    tagged : `str`
        Which tokens are tagged; see `layouts.tagged_side`.
    max_tokens : `int`
        The maximum number of words in each of them.

    # Raises

    `UserError`: a text without words, except for an empty translation; too many words; wrong alignments.
    """
    source = words_of(request, "source", splits["source"], max_tokens)
    target = words_of(request, "target", splits["target"], max_tokens, may_be_empty=True)
    if not without_eos(target.words) and tagged != "source":
        target = Sentence([], text=target.text, offsets=None if target.text is None else [])
    else:
        names = {name: name for name in REQUIRED}
        check_words(source.words, target.words, tagged, names)
    pair = TranslatedSentence(
        source,
        target,
        source_language=request.get("source_language"),
        target_language=request.get("target_language"),
    )
    if request.get("alignments") is not None:
        lengths = len(source.words), len(without_eos(target.words))
        pair.links = parse_links(request["alignments"], *lengths, "alignments")
    return pair


def bad_probabilities(table: ndarray, labels: Sequence[str]) -> ndarray:
    """Returns the probability of BAD, or of all severities together: (..., labels) -> (...)."""
    return table[..., bad_ids_of(labels)].sum(-1).clip(max=1).astype(float)  # rounding


def tag_ids(table: ndarray, labels: Sequence[str], threshold: float) -> ndarray:
    """Returns the tags at a threshold, as indices of the labels: (..., labels) -> (...).

    A token is BAD, or has the more probable severity, if its probability of BAD is at least the threshold.
    """
    bad_ids = numpy.array(bad_ids_of(labels))
    worst = bad_ids[table[..., bad_ids].argmax(-1)]
    return numpy.where(bad_probabilities(table, labels) >= threshold, worst, labels.index(OK))


def missing(
    pair: TranslatedSentence, labels: Sequence[str], outputs: Collection[str]
) -> tuple[ndarray, dict[str, Any]]:
    """Returns the probabilities and other `outputs` for an empty translation, in which only gaps or `<EOS>` are tagged:
    everything is missing."""
    table = numpy.zeros((len(pair.tokens), len(labels)))
    table[:, bad_ids_of(labels)[-1]] = 1
    others: dict[str, Any] = {"hter": 1.0, "quality": 0.0, CRITICAL: 1.0}
    others |= {"source_bad_probabilities": [1.0] * len(pair.source.words)}
    return table, {name: others[name] for name in outputs}


def quality_answer(
    pair: TranslatedSentence,
    table: ndarray,
    outputs: Mapping[str, Any],
    labels: Sequence[str],
    tagged: str,
    threshold: float,
    threshold_from: str,
    checks: bool = True,
    label_probabilities: bool | None = False,
    language_pair: str | None = None,
) -> dict[str, Any]:
    """Returns the answer to a translated sentence; see `WordQePredictor`.

    # Parameters

    pair : `TranslatedSentence`
        The sentence, with its `tokens` and links.
    table : `ndarray`, (tokens, labels)
        The calibrated probabilities of all labels.
    outputs : `Mapping[str, Any]`
        What else the model predicts of the `ESTIMATES`, numbers from 0 to 1; `critical_error_threshold`; and
        `source_bad_probabilities`, a list with a number for each word of the source and perhaps padding.
    labels : `Sequence[str]`
        The names of the labels.
    tagged : `str`
        Which tokens are tagged; see `layouts.tagged_side`.
    threshold : `float`
        Tokens with at least this probability of BAD are BAD.
    threshold_from : `str`
        "model", "given" or "adaptive".
    checks : `bool`, optional (default = `True`)
        Whether to check the translation by rules.
    label_probabilities : `bool`, optional (default = `False`)
        Whether to add the probabilities of all labels.
    language_pair : `str`, optional
        The languages of sentences that have none, such as "en-de".
    """
    bad = bad_probabilities(table, labels).tolist()
    tags = [labels[index] for index in tag_ids(table, labels, threshold)]
    answer: dict[str, Any] = {
        "source": pair.source.words,
        "tokens": pair.tokens,
        "tags": tags,
        "bad_probabilities": bad,
        "threshold": threshold,
        "threshold_from": threshold_from,
        "alignments": [list(link) for link in sorted(set(pair.links or ()))],
        "alignments_from": pair.links_from,
    }
    text, offsets = token_offsets(pair.tokens, pair.source if tagged == "source" else pair.target)
    if tagged == "target":
        answer["spans"] = join_bad_words(text, offsets, tags, bad)
    for name in (*ESTIMATES, "critical_error_threshold"):
        if name in outputs:
            answer[name] = 100 * outputs[name] if name == "quality" else outputs[name]
    answer["expected_bad_share"] = sum(bad) / len(bad) if bad else 1.0
    if tagged != "source" and "source_bad_probabilities" in outputs:
        of_source = outputs["source_bad_probabilities"][: len(pair.source.words)]
        answer["source_bad_probabilities"] = of_source
    if tagged == "target" and pair.target.offsets is not None:
        answer["offsets"] = [list(span) for span in offsets]
    if pair.source.offsets is not None:
        name = "offsets" if tagged == "source" else "source_offsets"
        answer[name] = [list(span) for span in pair.source.offsets]
    if tagged != "target":
        answer["tagged"] = tagged
    if checks:
        answer["checks"] = findings_of(pair, language_pair)
    if label_probabilities:
        answer["label_probabilities"] = dict(zip(labels, table.T.tolist()))
    return answer


def findings_of(pair: TranslatedSentence, language_pair: str | None = None) -> list[dict[str, Any]]:
    """Returns what checks find in a translation, as answers have it. The pair of languages is for a sentence that has
    none."""
    source, target = pair.texts
    first, _, second = (language_pair or "").partition("-")
    findings = check(
        source,
        target.removesuffix(EOS),
        pair.source_language or first,
        pair.target_language or second,
        *(pair.codes or ((), ())),
        may_omit_number=pair.may_omit_number,
    )
    return [finding._asdict() for finding in findings]


def predicted_hter(answer: Mapping[str, Any]) -> float:
    """Returns the predicted HTER of an answer, or the expected share of BAD words if the model does not predict it."""
    hter: float = answer.get("hter", answer["expected_bad_share"])
    return hter


def risk_of(answer: Mapping[str, Any], order_by: str | None = None) -> float:
    """Returns how urgently a translation should be reviewed, from 0 to 1.

    `order_by` is one of the `ESTIMATES`. By default, it is the probability of a critical error, or `predicted_hter` if
    the model does not predict it. Raises a `KeyError` if the answer lacks the estimate.
    """
    if order_by is None:
        return float(answer.get(CRITICAL, predicted_hter(answer)))
    return 1 - answer[order_by] / 100 if order_by == "quality" else float(answer[order_by])
