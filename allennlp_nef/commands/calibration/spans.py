"""Error spans of words, for the threshold with the highest F1 of characters."""

from collections.abc import Sequence

import numpy

from allennlp_nef.commands.calibration.words import Words
from allennlp_nef.data.formats.error_spans import (
    BOTH,
    NO_ERROR,
    SEVERITIES,
    ErrorSpan,
    severities_of,
)
from allennlp_nef.metrics.thresholds import SpanParts
from allennlp_nef.modules.calibration import Calibration


def has_gold_spans(words: Words) -> bool:
    """Whether all sentences have gold error spans."""
    return words.head.is_word_qe and all(
        sentence.metadata.spans is not None for sentence in words.sentences
    )


def bad_tags(words: Words, calibration: Calibration) -> numpy.ndarray:
    """The index of the tag of each word if it is BAD: that of BAD or of the more probable severity, (words,)."""
    bad = words.head.bad_ids
    return numpy.array(bad)[words.calibrated(calibration)[:, bad].argmax(1)]


def span_parts(words: Words, probabilities: numpy.ndarray, tags: numpy.ndarray) -> SpanParts:
    """The parts of the error spans of all sentences.

    # Parameters

    words : `Words`
        With gold spans.
    probabilities : `numpy.ndarray`, (words,)
        Of BAD.
    tags : `numpy.ndarray`, (words,)
        The indices of the tags that words have if they are BAD. BAD stands for the severity major.
    """
    names = [label if label in SEVERITIES else SEVERITIES[-1] for label in words.head.labels]
    rows: list[tuple[float, int, float]] = []
    first = gold_characters = 0
    for sentence in words.sentences:
        metadata = sentence.metadata
        last = first + len(sentence.tags)
        text, _, offsets = metadata.split_text()
        gold = severities_of(text, [ErrorSpan(*span) for span in metadata.spans or ()])
        gold_characters += sum(each != NO_ERROR for each in gold)
        values = probabilities[first:last].tolist()
        severities = [names[tag] for tag in tags[first:last].tolist()]
        for i, (start, end) in enumerate(offsets):
            rows.append((values[i], *_counts(gold, start, end, severities[i])))
            is_joined = start < end and i > 0 and severities[i - 1] == severities[i]
            if is_joined and offsets[i - 1][1] < start:
                between = _counts(gold, offsets[i - 1][1], start, severities[i])
                rows.append((min(values[i - 1 : i + 1]), *between))
        first = last
    table = numpy.array(rows, dtype=numpy.float64)
    return SpanParts(table[:, 0], table[:, 1], table[:, 2], gold_characters)


def _counts(gold: Sequence[str], start: int, end: int, severity: str) -> tuple[int, float]:
    """How many characters a span has, and what they are worth."""
    length = len(gold) - 1
    start, end = min(start, length), min(end, length)
    found = gold[start : max(end, start + 1)]
    worths = {NO_ERROR: 0.0, severity: 1.0, BOTH: 1.0}
    return len(found), sum(worths.get(each, 0.5) for each in found)
