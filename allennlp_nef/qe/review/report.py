"""The report for reviewers of translations, built from segments and a predictor's answers."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Any

from allennlp_nef.pages.document import document_of
from allennlp_nef.qe.answers import SCORES, risk_of
from allennlp_nef.qe.bitext.segments import UNKNOWN_SEVERITY, Answer, Bitext, is_reviewed
from allennlp_nef.qe.layouts import BAD, OK, SEVERITIES
from allennlp_nef.qe.review.decisions import names_of
from allennlp_nef.qe.spans import project_spans
from allennlp_nef.qe.translated_sentence import TranslatedSentence


def report_page(
    title: str,
    bitexts: Sequence[Bitext],
    answers: Sequence[Answer],
    model: str = "",
    order_by: str | None = None,
) -> str:
    """
    Returns the report as a self-contained HTML page.

    # Parameters

    title : `str`
    bitexts : `Sequence[Bitext]`
    answers : `Sequence[Answer]`
        The answer of the `word_qe` predictor for each segment of all bitexts. For a segment without a score,
        `{"error": ...}` gives the reason.
    model : `str`, optional (default = `""`)
        The name of the model that produced the answers.
    order_by : `str`, optional (default = `None`)
        See `allennlp_nef.qe.answers.risk_of`.
    """
    scored = [answer for answer in answers if "error" not in answer]
    tags = {tag for answer in scored for tag in answer["tags"]}
    severities = SEVERITIES if tags & {*SEVERITIES} else ()
    labels = [OK, *([BAD] if BAD in tags or not severities else []), *severities]
    thresholds = {(each["threshold"], each.get("threshold_from", "model")) for each in scored}
    shared = {}  # the languages of the page: those of all files
    for name in ("source_language", "target_language"):
        codes = {getattr(bitext, name) for bitext in bitexts}
        shared[name] = codes.pop() if len(codes) == 1 else None
    items = []
    waiting = iter(answers)
    for number, bitext in enumerate(bitexts):
        for segment, answer in zip(bitext.segments, waiting):
            item = item_of(segment, answer, labels, order_by) | ({"file": number} if number else {})
            for name, code in shared.items():
                own = getattr(segment, name) or getattr(bitext, name)
                item |= {name: own} if own not in (None, code) else {}
            items.append(item)
    names = ("source", "target", "risk", "reviewed")
    texts = json.dumps([[item.get(name) for name in names] for item in items])
    threshold, origin = thresholds.pop() if len(thresholds) == 1 else (None, "model")
    content = {
        "title": title,
        # The browser stores the decisions under this key, so a new report for the same answers finds them.
        "key": hashlib.sha256(texts.encode()).hexdigest()[:20],
        "files": names_of(bitexts),
        **shared,
        "model": model,
        "labels": labels,
        "severities": [UNKNOWN_SEVERITY if label == BAD else label for label in labels],
        "threshold": threshold,
        "threshold_from": origin,
        "order": sorted(range(len(items)), key=lambda i: _urgency(items[i]), reverse=True),
        "sentences": items,
    }
    return document_of(title, content, ("elements.js", "quality.js", "review.js"))


def _urgency(item: Mapping[str, Any]) -> tuple[bool, bool, float]:
    """Returns the sort key of a segment: first those without a score, then those with findings of checks."""
    return "error" in item, bool(item.get("checks")), item.get("risk", 0)


def item_of(
    segment: TranslatedSentence,
    answer: Answer,
    labels: Sequence[str],
    order_by: str | None = None,
) -> dict[str, Any]:
    """Returns what the page shows for a segment. Raises an error if the answer lacks something."""
    source, target = segment.texts
    item: dict[str, Any] = {"name": segment.name, "source": source, "target": target}
    if segment.document:
        item["document"] = segment.document
    for name, codes in zip(("source_codes", "target_codes"), segment.codes or ()):
        item |= {name: [[code.start, code.shown] for code in codes]} if codes else {}
    if is_reviewed(segment):
        item["reviewed"] = {"decision": segment.decision, "note": segment.note}
    if "error" in answer:
        return {**item, "error": answer["error"]}
    words = answer["offsets"]
    tags = [labels.index(tag) for tag in answer["tags"]]
    bad = [round(p, 4) for p in answer["bad_probabilities"]]
    if not len(words) == len(tags) == len(bad):
        raise ValueError("expected a tag and a probability for each word")
    if segment.spans is not None:
        marked = project_spans(target, segment.spans, words, severities=len(labels) > 2)
        # On the page, accepted segments have no marks, and others have the model's.
        before = [0] * len(tags) if segment.decision == "accept" else tags
        own = {j: labels.index(tag) for j, tag in enumerate(marked[: len(tags)])}
        if changed := {j: label for j, label in own.items() if label != before[j]}:
            item["reviewed"]["tags"] = changed
    return {
        **item,
        **{name: round(answer[name], 4) for name in SCORES if name in answer},
        "risk": round(risk_of(answer, order_by), 4),
        "words": words,
        "source_words": answer["source_offsets"],
        "links": [[i, j] for i, j in answer["alignments"]],
        "bad": bad,
        "tags": tags,
        "checks": [
            [finding[name] for name in ("start", "end", "message")]
            for finding in answer.get("checks", ())
        ],
    }
