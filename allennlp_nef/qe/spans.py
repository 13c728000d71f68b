"""Error spans, and the conversion between spans and word tags.

A span is the start and end (exclusive) of an error in a translation, in characters (Unicode code points) from 0,
and its severity. An empty span marks an omission before the word to its right, or at the end of the text.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

from allennlp_nef.data.sentence import Offsets, Sentence
from allennlp_nef.errors import quote
from allennlp_nef.qe.layouts import BAD, OK, SEVERITIES


class SpanOutsideTextError(ValueError):
    """A span is not within its text."""


class ErrorSpan(NamedTuple):
    """An error in a translation."""

    start: int
    end: int
    severity: str


def checked_span(start: int, end: int, severity: Any, text: str) -> ErrorSpan:
    """Returns the span of an error in a text. Raises `ValueError` if its severity is unknown, and
    `SpanOutsideTextError` if it is not within the text.

    A span that ends one character after the text is cut: the development data of WMT23 contain one.
    """
    severity = SEVERITIES[-1] if severity == "critical" else severity
    if severity not in SEVERITIES:
        raise ValueError(f"expected the severity {' or '.join(SEVERITIES)}, got {quote(severity)}")
    if end == len(text) + 1:
        end -= 1
    if not 0 <= start <= end <= len(text):
        raise SpanOutsideTextError(
            f"expected a span within {len(text)} characters, got {start} to {end}"
        )
    return ErrorSpan(start, end, severity)


def project_spans(
    text: str, spans: Sequence[ErrorSpan], offsets: Offsets, severities: bool = False
) -> list[str]:
    """Converts error spans to tags for the words of a text and for `<EOS>`: n+1 tags for n words, as in WMT22 and 23.

    A word is BAD if a span covers one of its characters. A span that covers no word marks an omission, so the next word
    is BAD.

    # Parameters

    offsets : `Sequence[tuple[int, int]]`
        The start and end of each word, without `<EOS>`.
    severities : `bool`, optional (default = `False`)
        Whether the tags are OK and severities instead of OK and BAD. If two errors overlap, the more severe one wins.
    """
    places = [*offsets, (len(text), len(text) + 1)]
    ranks = [0] * len(places)
    for start, end, severity in spans:
        covered = [i for i, place in enumerate(places) if max(start, place[0]) < min(end, place[1])]
        covered = covered or [next(i for i, place in enumerate(places) if place[0] >= end)]
        for i in covered:
            ranks[i] = max(ranks[i], 1 + SEVERITIES.index(severity))
    names = (OK, *(SEVERITIES if severities else (BAD, BAD)))
    return [names[rank] for rank in ranks]


def token_offsets(tokens: Sequence[str], sentence: Sentence) -> tuple[str, Offsets]:
    """Returns the text of the tagged tokens, and the start and end of each.

    The text is that of the sentence, or the tokens joined by spaces if it has none, or if gaps are among the tokens. An
    `<EOS>` that is not in the text is empty, at its end.
    """
    is_text = sentence.text is not None and list(tokens[: len(sentence.words)]) == sentence.words
    text, offsets = (sentence if is_text else Sentence(list(tokens))).located()
    return text, [*offsets, *[(len(text), len(text))] * (len(tokens) - len(offsets))]


def join_bad_words(
    text: str, offsets: Offsets, tags: Sequence[str], probabilities: Sequence[float]
) -> list[dict[str, Any]]:
    """Converts word tags to error spans, each with `start`, `end`, `text`, its `severity` if the tag is one, and
    `probability`, the mean of those of its words. Adjacent words with the same tag become one span, including the text
    between them. A word without characters, such as `<EOS>`, becomes a separate empty span.

    # Parameters

    text, offsets
        See `token_offsets`.
    tags : `Sequence[str]`
        The tag of each word: OK, BAD or a severity.
    probabilities : `Sequence[float]`
        The probability of BAD of each word.
    """
    groups: list[list[int]] = []
    for i, tag in enumerate(tags):
        if tag == OK:
            continue
        if i > 0 and tags[i - 1] == tag and offsets[i][0] < offsets[i][1]:
            groups[-1].append(i)
        else:
            groups.append([i])
    spans = []
    for group in groups:
        start, end = offsets[group[0]][0], offsets[group[-1]][1]
        span: dict[str, Any] = {"start": start, "end": end, "text": text[start:end]}
        if tags[group[0]] != BAD:
            span["severity"] = tags[group[0]]
        span["probability"] = sum(probabilities[i] for i in group) / len(group)
        spans.append(span)
    return spans
