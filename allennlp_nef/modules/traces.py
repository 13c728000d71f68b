"""The trace of a sentence: the attention of each step, and the tags after it."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy


@dataclass(eq=False)
class SentenceTrace:
    """The trace of one sentence, as in Figures 2 to 4 of Martins & Kreutzer (EMNLP 2017).

    Steps and words are counted from 0 in the arrays, but steps from 1 in `settled_at` and `most_attended_at`. The
    fields after `attention` are None for an encoder whose rows are not steps.
    """

    tokens: list[str]
    tags: list[str]
    """The predicted tags."""
    attention: numpy.ndarray
    """(rows, words)"""
    coverage: numpy.ndarray | None = None
    """beta, the sum of the attention up to and including each step: (steps, words)."""
    provisional_tags: list[list[str]] | None = None
    """The tags that the model would predict if each step were the last one: steps x words."""
    provisional_probabilities: numpy.ndarray | None = None
    """The probabilities of these tags: (steps, words)."""
    settled_at: numpy.ndarray | None = None
    """The first step after which the tag of a word no longer changes: (words,)."""
    most_attended_at: numpy.ndarray | None = None
    """The step with the largest attention to a word, the first of several: (words,)."""

    def to_json(self) -> dict[str, Any]:
        """Returns the fields as a JSON object, with numbers rounded to 6 decimals."""
        return {name: _as_json(value) for name, value in asdict(self).items()}


def _as_json(value: Any) -> Any:
    if not isinstance(value, numpy.ndarray):
        return value
    # float32 cannot represent 6 decimals exactly.
    return (value.astype(float).round(6) if value.dtype.kind == "f" else value).tolist()


def sentence_trace(
    tokens: list[str],
    tags: list[str],
    attention: numpy.ndarray,
    labels: Sequence[str] = (),
    tag_ids: numpy.ndarray | None = None,
    probabilities: numpy.ndarray | None = None,
) -> SentenceTrace:
    """Builds the trace of a sentence from arrays without padding, (rows, words).

    `labels` are the tags by index. `tag_ids` and `probabilities` are the tags that the model would predict after each
    step and their probabilities, or None if rows are not steps.
    """
    if tag_ids is None:
        return SentenceTrace(tokens, tags, attention)
    # Counting from the end, the number of steps since the last one with another tag.
    unchanged = numpy.cumprod((tag_ids == tag_ids[-1])[::-1], axis=0).sum(0)
    return SentenceTrace(
        tokens,
        tags,
        attention,
        attention.cumsum(0),
        [[labels[tag] for tag in row] for row in tag_ids.tolist()],
        probabilities,
        len(tag_ids) - unchanged + 1,
        attention.argmax(0) + 1,
    )
