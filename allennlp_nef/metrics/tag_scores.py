"""Scores of predicted tags against gold tags.

A `Scorer` counts each sentence separately. Sums of these counts give the scores of a data set, or of a sample of it
that a significance test draws:

    counts = CHUNKS.count(gold, predicted)
    CHUNKS.scores(counts.sentences.sum(0))["f1-overall"]
"""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy

from allennlp_nef.data.chunks import chunks_of, convert_tags, split_tag

# The tags of each sentence.
Tags = Sequence[Sequence[Any]]
Scores = dict[str, Any]


class TypeCounts(NamedTuple):
    """The counts of one type of chunk, or of one tag."""

    correct: int
    predicted: int
    gold: int


class TagCounts(NamedTuple):
    """The counts of a data set."""

    sentences: numpy.ndarray
    """(sentences, counts); the scorer defines the columns."""
    types: dict[str, TypeCounts]
    """The counts of each type or tag over all sentences, in alphabetical order."""


@dataclass(frozen=True)
class Scorer:
    """A way to score tags."""

    count: Callable[[Tags, Tags], TagCounts]
    """Counts gold and predicted tags. Raises `ValueError` if their numbers differ."""
    scores: Callable[[numpy.ndarray], Scores]
    """Turns counts (..., counts) into scores (...), fractions of 1."""
    compared: tuple[str, ...]
    """The names of the scores by which two systems are compared."""
    ranking_score: str
    """The score that ranks systems, the highest first."""
    item_name: str = "tokens"
    """What is tagged; empty if each sentence has one value."""
    corpus_scores: Callable[[Tags, Tags], Scores] = lambda gold, predicted: {}
    """Further scores of gold and predicted tags that are not functions of sums over sentences."""


def ratio(numerator: Any, denominator: Any) -> Any:
    """Returns the quotient of numbers or arrays, element by element; 0 where the denominator is 0."""
    quotient = numpy.zeros(numpy.shape(denominator))
    numpy.divide(numerator, denominator, out=quotient, where=numpy.not_equal(denominator, 0))
    return quotient[()]


def precision_recall_f1(correct: Any, predicted: Any, gold: Any) -> tuple[Any, Any, Any]:
    """Returns precision, recall and F1 of counts, numbers or arrays, as fractions of 1."""
    return ratio(correct, predicted), ratio(correct, gold), ratio(2 * correct, predicted + gold)


def count_chunks(gold: Tags, predicted: Tags) -> TagCounts:
    """Counts chunks as `conlleval` does: a chunk is correct if both sides have it, with the same tokens and type.

    The columns are correct, predicted and gold chunks, tokens with the right tag, and tokens. Tags are compared as they
    are, except that BIOUL tags are converted to BIO first.
    """
    pairs = paired(gold, predicted)
    gold, predicted = (without_bioul([pair[side] for pair in pairs]) for side in (0, 1))
    rows, types = [], (Counter[str](), Counter[str](), Counter[str]())
    for expected, got in zip(gold, predicted):
        gold_chunks, predicted_chunks = set(chunks_of(expected)), set(chunks_of(got))
        groups = (gold_chunks & predicted_chunks, predicted_chunks, gold_chunks)
        for counter, chunks in zip(types, groups):
            counter.update(chunk.type for chunk in chunks)
        rows.append([*map(len, groups), _hits(expected, got), len(expected)])
    return TagCounts(numpy.array(rows, dtype=int).reshape(-1, 5), by_type(*types))


def chunk_scores(counts: numpy.ndarray) -> Scores:
    """Returns the scores of the counts of `count_chunks`."""
    correct, predicted, gold, hits, tokens = numpy.moveaxis(counts, -1, 0)
    names = ("precision-overall", "recall-overall", "f1-overall", "accuracy")
    return dict(zip(names, (*precision_recall_f1(correct, predicted, gold), ratio(hits, tokens))))


def count_tags(gold: Tags, predicted: Tags) -> TagCounts:
    """Counts single tags, such as parts of speech. The columns are tokens with the right tag, and tokens."""
    rows, types = [], (Counter[str](), Counter[str](), Counter[str]())
    for expected, got in paired(gold, predicted):
        types[0].update(tag for tag, other in zip(expected, got) if tag == other)
        types[1].update(got)
        types[2].update(expected)
        rows.append([_hits(expected, got), len(expected)])
    return TagCounts(numpy.array(rows, dtype=int).reshape(-1, 2), by_type(*types))


def tag_scores(counts: numpy.ndarray) -> Scores:
    """Returns the scores of the counts of `count_tags`."""
    return {"accuracy": ratio(counts[..., 0], counts[..., 1])}


CHUNKS = Scorer(count_chunks, chunk_scores, ("f1-overall",), "f1-overall")
TAGS = Scorer(count_tags, tag_scores, ("accuracy",), "accuracy")


def without_bioul(sentences: Tags) -> Tags:
    """Converts the tags to BIO if there are BIOUL tags among them. Raises the `ValueError` of `split_tag`."""
    prefixes = {split_tag(tag)[0] for tag in {tag for tags in sentences for tag in tags}}
    if prefixes <= {"B", "I", "O"}:
        return sentences
    return [convert_tags(tags, "BIO") for tags in sentences]


def paired(gold: Tags, predicted: Tags) -> list[tuple[Sequence[Any], Sequence[Any]]]:
    """Returns the gold and predicted tags of each sentence, without the words whose gold tag is None. Raises
    `ValueError` if the numbers of tags differ.
    """
    if [len(tags) for tags in gold] != [len(tags) for tags in predicted]:
        raise ValueError(
            "expected the same number of predicted as of gold sentences, and of tags in each"
        )
    pairs = list(zip(gold, predicted))
    for i, (expected, got) in enumerate(pairs):
        if None in expected:
            kept = [n for n, tag in enumerate(expected) if tag is not None]
            pairs[i] = [expected[n] for n in kept], [got[n] for n in kept]
    return pairs


def _hits(gold: Sequence[str], predicted: Sequence[str]) -> int:
    return sum(tag == other for tag, other in zip(gold, predicted))


def by_type(correct: Counter, predicted: Counter, gold: Counter) -> dict[str, TypeCounts]:
    """Returns the counts of each type or tag, from counters of those that are correct, predicted and gold."""
    names = sorted({*predicted, *gold})
    return {name: TypeCounts(correct[name], predicted[name], gold[name]) for name in names}
