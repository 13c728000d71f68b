"""From requests to sentences, and from probabilities to the answers of taggers, in NumPy alone.

The predictor calls these functions, and so do exported taggers, which have a copy of this module.
"""

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy
from numpy import ndarray

from allennlp_nef.data.chunks import OUTSIDE, are_chunk_tags, chunks_of
from allennlp_nef.data.sentence import Sentence, Split
from allennlp_nef.errors import UserError
from allennlp_nef.predictors.requests import FLAG, PROBABILITY, Check, words_of

REQUEST: dict[str, Check] = {
    "sentence": (lambda value: isinstance(value, str), "a string"),
    "tokens": (lambda value: isinstance(value, list), "a list of words"),
    "attention": FLAG,
    "trace": FLAG,
    "label_probabilities": FLAG,
    "min_probability": PROBABILITY,
}
"""The fields of a request to a tagger."""
SPAN = {"start": int, "end": int, "type": str, "text": str, "probability": float}
ANSWER: dict[str, Any] = {
    "tokens": [str],
    "tags": [str],
    "probabilities": [float],
    "spans": [SPAN],
    "uncertain": [int],
    "offsets": [[int]],
}
"""The fields of a tagger's answer, with their types: a list of one type, or the fields of an object. `spans` are for
chunk tags, and `uncertain` is for all others; those of options (`attention`, `trace`, `label_probabilities`) are not
listed."""


def sentence_of(request: dict[str, Any], split: Split, max_tokens: int) -> Sentence:
    """Returns the sentence of a request, whose `sentence` is raw text, or whose `tokens` are words.

    # Raises

    `UserError`: both fields or neither, and see `words_of`.
    """
    if (request.get("sentence") is None) == (request.get("tokens") is None):
        raise UserError("expected either sentence or tokens")
    name = "sentence" if request.get("tokens") is None else "tokens"
    return words_of(request, name, split, max_tokens)


def tagger_answer(
    sentence: Sentence,
    tag_ids: ndarray,
    table: ndarray,
    following: ndarray,
    labels: Sequence[str],
    min_probability: float | None = None,
    label_probabilities: bool | None = False,
) -> dict[str, Any]:
    """Returns the answer to a sentence; see `NefTaggerPredictor`.

    # Parameters

    sentence : `Sentence`
    tag_ids : `ndarray`, int, (words,)
        The predicted labels.
    table : `ndarray`, (words, labels)
        The probabilities of all labels.
    following : `ndarray`, (words - 1, labels)
        The probability of each label of the next word, given the predicted label of a word.
    labels : `Sequence[str]`
        The names of the labels.
    min_probability : `float`, optional (default = `None`)
        Spans with a lower probability are left out.
    label_probabilities : `bool`, optional (default = `False`)
        Whether to add the probabilities of all labels.
    """
    tags = [labels[index] for index in tag_ids]
    probabilities = table[range(len(tags)), tag_ids].tolist()
    answer: dict[str, Any] = {
        "tokens": sentence.words,
        "tags": tags,
        "probabilities": probabilities,
    }
    goes_on = continuations(tuple(labels))
    if goes_on is not None:
        outside = table[:, labels.index(OUTSIDE)] if OUTSIDE in labels else numpy.zeros(len(tags))
        answer["spans"] = []
        for words, span in _spans(sentence, tags, tag_ids, table, following, goes_on):
            if min_probability is None or span["probability"] >= min_probability:
                answer["spans"].append(span)
                continue
            for index in words:
                tags[index], probabilities[index] = OUTSIDE, float(outside[index])
    elif min_probability is not None:
        answer["uncertain"] = [i for i, p in enumerate(probabilities) if p < min_probability]
    if sentence.offsets is not None:
        answer["offsets"] = [list(span) for span in sentence.offsets]
    if label_probabilities:
        answer["label_probabilities"] = dict(zip(labels, table.T.tolist()))
    return answer


def _spans(
    sentence: Sentence,
    tags: Sequence[str],
    tag_ids: ndarray,
    table: ndarray,
    following: ndarray,
    goes_on: ndarray,
) -> list[tuple[range, dict[str, Any]]]:
    """Returns the words of each predicted chunk, and the chunk as an object of `ANSWER`.

    The probability of a chunk is the probability that its words have their tags, and that the next word does not
    continue the chunk. Under constraints, this is the probability that the sentence has exactly this chunk.
    """
    words = numpy.arange(len(tags))
    first = table[words, tag_ids]  # P(y_i)
    then = following[words[:-1], tag_ids[1:]]  # P(y_(i+1) | y_i)
    last = 1 - (following * goes_on[tag_ids[:-1]]).sum(-1)  # the next word does not continue
    last = numpy.append(last, 1).clip(0, 1)
    text, offsets = sentence.located()
    spans = []
    for start, end, kind in chunks_of(tags):
        probability = float(first[start] * then[start : end - 1].prod() * last[end - 1])
        at, to = offsets[start][0], offsets[end - 1][1]
        span = {"start": at, "end": to, "type": kind, "text": text[at:to]}
        spans.append((range(start, end), {**span, "probability": min(1.0, probability)}))
    return spans


@lru_cache(maxsize=16)
def continuations(labels: tuple[str, ...]) -> ndarray | None:
    """Returns whether the label of the column continues the chunk of the label of the row, (labels, labels); None if
    the labels are not chunk tags.
    """
    if not are_chunk_tags(labels):
        return None
    return numpy.array([[chunks_of((a, b))[:1] == [(0, 2, b[2:])] for b in labels] for a in labels])
