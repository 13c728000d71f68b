"""The report for reviewers of translations, built from segments and a predictor's answers."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Any

from allennlp_nef.data.files import find_words
from allennlp_nef.data.tokenizers import Offsets
from allennlp_nef.errors import DataFormatError
from allennlp_nef.pages.document import document_of
from allennlp_nef.qe.bitext.segments import Bitext, SegmentPair
from allennlp_nef.qe.layouts import BAD, EOS, OK, SEVERITIES
from allennlp_nef.qe.review.summary import SCORES
from allennlp_nef.qe.spans import project_spans
from allennlp_nef.qe.writers import risk_of

Answer = Mapping[str, Any]


def report_page(title: str, bitext: Bitext, answers: Sequence[Answer], model: str = "") -> str:
    """
    Returns the report as a self-contained HTML page.

    # Parameters

    title : `str`
    bitext : `Bitext`
    answers : `Sequence[Answer]`
        The answer of the `word_qe` predictor for each segment, at least one of them with a score. For a segment without
        a score, `{"error": ...}` gives the reason.
    model : `str`, optional (default = `""`)
        The name of the model that produced the answers.

    # Raises

    `DataFormatError`: the words of an answer differ from those of its segment.
    """
    scored = [answer for answer in answers if "error" not in answer]
    has_severities = any(tag in SEVERITIES for answer in scored for tag in answer["tags"])
    labels = [OK, *SEVERITIES] if has_severities else [OK, BAD]
    items = []
    for segment, answer in zip(bitext.segments, answers):
        codes = {name: getattr(segment, name) for name in ("source_language", "target_language")}
        own = {
            name: code for name, code in codes.items() if code not in (None, getattr(bitext, name))
        }
        items.append(_item(segment, answer, labels) | own)
    names = ("source", "target", "risk", "reviewed")
    texts = json.dumps([[item.get(name) for name in names] for item in items])
    content = {
        "title": title,
        # The browser stores the decisions under this key, so a new report for the same answers finds them.
        "key": hashlib.sha256(texts.encode()).hexdigest()[:20],
        "source_language": bitext.source_language,
        "target_language": bitext.target_language,
        "model": model,
        "labels": labels,
        "threshold": scored[0]["threshold"],
        "threshold_from": scored[0].get("threshold_from", "model"),
        "order": sorted(range(len(items)), key=lambda i: _urgency(items[i]), reverse=True),
        "sentences": items,
    }
    return document_of(title, content, ("elements.js", "quality.js", "review.js"))


def _urgency(item: Mapping[str, Any]) -> tuple[bool, bool, float]:
    """Returns the sort key of a segment: first those without a score, then those with findings of checks."""
    return "error" in item, bool(item.get("checks")), item.get("risk", 0)


def _item(segment: SegmentPair, answer: Answer, labels: Sequence[str]) -> dict[str, Any]:
    """Returns what the page shows for a segment."""
    item: dict[str, Any] = {
        "name": segment.name,
        "source": segment.source,
        "target": segment.target,
    }
    review = answer.get("review")
    if review:
        item["reviewed"] = {"decision": review.decision, "note": review.note}
    if "error" in answer:
        return {**item, "error": answer["error"]}
    words, sources = words_of(segment, answer)
    # Among severities, BAD counts as the worst.
    tags = [labels.index(tag) if tag in labels else len(labels) - 1 for tag in answer["tags"]]
    if review and review.spans is not None:
        marked = project_spans(segment.target, review.spans, words, severities=len(labels) > 2)
        # On the page, accepted segments have no marks, and others have the model's.
        before = [0] * len(tags) if review.decision == "accept" else tags
        own = {j: labels.index(tag) for j, tag in enumerate(marked[: len(tags)])}
        if changed := {j: label for j, label in own.items() if label != before[j]}:
            item["reviewed"]["tags"] = changed
    return {
        **item,
        **{name: round(answer[name], 4) for name in SCORES if name in answer},
        "risk": round(risk_of(answer), 4),
        "words": words,
        "source_words": sources,
        "links": answer["alignments"],
        "bad": [round(value, 4) for value in answer["bad_probabilities"]],
        "tags": tags,
        "checks": [
            [finding[name] for name in ("start", "end", "message")]
            for finding in answer.get("checks", ())
        ],
    }


def words_of(segment: SegmentPair, answer: Answer) -> tuple[Offsets, Offsets]:
    """Returns the offsets of the words in translation and source. Raises a `DataFormatError` if the text differs."""
    tokens = answer["tokens"]
    try:
        # An <EOS> that the model added represents text that is missing at the end.
        is_added = tokens[-1:] == [EOS] and not segment.target.endswith(EOS)
        words = find_words(segment.target, tokens[: len(tokens) - is_added])
        words += [(len(segment.target),) * 2] * is_added
        sources = find_words(segment.source, answer.get("source") or segment.source.split())
    except DataFormatError as error:
        raise DataFormatError(f"{segment.place}: the answer is for another text: {error}") from None
    return words, sources
