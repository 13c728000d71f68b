"""
Scores of predicted tags against gold tags.

A `Scorer` counts each sentence once. Sums of these counts give the scores of a data set, and the scores of the samples
of it that a significance test draws:

    counts = CHUNKS.count(gold, predicted)
    CHUNKS.scores(counts.sentences.sum(0))["f1-overall"]
"""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy

from allennlp_nef.data.formats.chunks import chunks_of, convert_tags, split_tag
from allennlp_nef.metrics.ratios import precision_recall_f1, ratio

Tags = Sequence[Sequence[Any]]
"""The tags of each sentence; in `wmt_scores` also numbers."""


class TypeCounts(NamedTuple):
    """The counts of one type of chunk, or of one tag."""

    correct: int
    predicted: int
    gold: int

    def precision_recall_f1(self, scale: float = 1) -> tuple[float, float, float]:
        """Precision, recall and F1, each in [0, scale], and 0 where it would divide by zero.

        The order of operations is that of the script `conlleval`, and not that of `ratios.precision_recall_f1`: with
        a scale of 100 the results round to the digits that the script prints.
        """
        precision = scale * self.correct / self.predicted if self.predicted else 0.0
        recall = scale * self.correct / self.gold if self.gold else 0.0
        f1 = 2 * precision * recall / (precision + recall) if self.correct else 0.0
        return precision, recall, f1


class TagCounts(NamedTuple):
    """What a `Scorer` counts."""

    sentences: numpy.ndarray
    """(sentences, counts); the scorer knows what they are."""
    types: dict[str, TypeCounts]
    """The counts of each type or tag over all sentences, in the order of the names."""


@dataclass(frozen=True)
class Scorer:
    """A way to score tags."""

    count: Callable[[Tags, Tags], TagCounts]
    """Gold and predicted tags to counts. Raises `ValueError` for different numbers of tags, or tags of another kind."""
    scores: Callable[[numpy.ndarray], dict[str, numpy.ndarray]]
    """Counts (..., counts) to scores (...): fractions of 1."""
    main: tuple[str, ...]
    """The names of the scores by which systems are compared."""
    primary: str
    """The score by which systems are ranked, the highest first."""
    unit: str = "tokens"
    """What has a tag; empty where a sentence has."""
    whole: Callable[[Tags, Tags], dict[str, float]] = lambda gold, predicted: {}
    """Gold and predicted tags to further scores, which are no functions of sums over sentences."""


def count_chunks(gold: Tags, predicted: Tags) -> TagCounts:
    """
    Counts chunks as `conlleval` does: one is right if both sequences have it, with the same tokens and the same type.

    The counts are the right chunks, the predicted chunks, the gold chunks, the tokens with the right tag, and the
    tokens. Tags are compared as they are, but if a side has BIOUL tags, all its tags are converted to BIO first.
    """
    gold, predicted = without_bioul(gold), without_bioul(predicted)
    rows = []
    by_type: tuple[Counter, ...] = (Counter(), Counter(), Counter())
    for expected, got in paired_sentences(gold, predicted):
        gold_chunks, predicted_chunks = set(chunks_of(expected)), set(chunks_of(got))
        groups = (gold_chunks & predicted_chunks, predicted_chunks, gold_chunks)
        for counter, group in zip(by_type, groups):
            counter.update(chunk.type for chunk in group)
        rows.append([*map(len, groups), _hits(expected, got), len(expected)])
    return TagCounts(_array(rows, 5), _types(by_type))


def chunk_scores(counts: numpy.ndarray) -> dict[str, numpy.ndarray]:
    """The scores of the counts of `count_chunks`."""
    correct, predicted, gold, hits, tokens = numpy.moveaxis(counts, -1, 0)
    names = ("precision-overall", "recall-overall", "f1-overall", "accuracy")
    return dict(zip(names, (*precision_recall_f1(correct, predicted, gold), ratio(hits, tokens))))


def count_tags(gold: Tags, predicted: Tags) -> TagCounts:
    """Counts tags one by one, such as parts of speech: the tokens with the right tag, and the tokens."""
    rows = []
    by_type: tuple[Counter, ...] = (Counter(), Counter(), Counter())
    for expected, got in paired_sentences(gold, predicted):
        by_type[0].update(tag for tag, other in zip(expected, got) if tag == other)
        by_type[1].update(got)
        by_type[2].update(expected)
        rows.append([_hits(expected, got), len(expected)])
    return TagCounts(_array(rows, 2), _types(by_type))


def tag_scores(counts: numpy.ndarray) -> dict[str, numpy.ndarray]:
    """The scores of the counts of `count_tags`."""
    return {"accuracy": ratio(counts[..., 0], counts[..., 1])}


def count_word_qe(gold: Sequence[str], predicted: Sequence[str]) -> list[int]:
    """The confusion matrix of the tags of some words, as `word_qe_scores` takes it.

    Raises `ValueError` if there are not as many predicted tags as gold ones.
    """
    if len(gold) != len(predicted):
        raise ValueError(
            f"predicted: expected {len(gold)} tags, as many as gold ones, got {len(predicted)}"
        )
    pairs = Counter((g == "BAD", p == "BAD") for g, p in zip(gold, predicted))
    return [pairs[is_bad, is_tagged] for is_bad in (True, False) for is_tagged in (True, False)]


def word_qe_scores(counts: Sequence[int]) -> dict[str, float]:
    """The scores of `WordQeMetric` from a confusion matrix.

    `counts` are the words that are BAD and tagged BAD, BAD and tagged OK, OK and tagged BAD, OK and tagged OK.
    """
    arrays = word_qe_score_arrays(numpy.asarray(counts, dtype=numpy.float64))
    return {name: float(array) for name, array in arrays.items()}


def word_qe_score_arrays(counts: numpy.ndarray) -> dict[str, numpy.ndarray]:
    """The scores of many confusion matrices: counts (..., 4), as `word_qe_scores` takes them, to scores (...)."""
    bad_bad, bad_ok, ok_bad, ok_ok = numpy.moveaxis(counts.astype(numpy.float64), -1, 0)
    tagged_ok, is_ok = ok_ok + bad_ok, ok_ok + ok_bad
    tagged_bad, is_bad = bad_bad + ok_bad, bad_bad + bad_ok
    f1_ok = precision_recall_f1(ok_ok, tagged_ok, is_ok)[2]
    f1_bad = precision_recall_f1(bad_bad, tagged_bad, is_bad)[2]
    # Two roots, since the product of the four sums may be too large.
    spread = numpy.sqrt(is_bad * tagged_bad) * numpy.sqrt(tagged_ok * is_ok)
    return {
        "f1_ok": f1_ok,
        "f1_bad": f1_bad,
        "f1_mult": f1_ok * f1_bad,
        "mcc": ratio(bad_bad * ok_ok - bad_ok * ok_bad, spread),
        "accuracy": ratio(bad_bad + ok_ok, bad_bad + bad_ok + ok_bad + ok_ok),
    }


def count_word_qe_tags(gold: Tags, predicted: Tags) -> TagCounts:
    """Counts OK and BAD: the confusion matrix of each sentence, as `count_word_qe` counts it."""
    rows = [count_word_qe(expected, got) for expected, got in paired_sentences(gold, predicted)]
    return TagCounts(_array(rows, 4), count_tags(gold, predicted).types)


CHUNKS = Scorer(count_chunks, chunk_scores, ("f1-overall",), "f1-overall")
TAGS = Scorer(count_tags, tag_scores, ("accuracy",), "accuracy")
WORD_QE = Scorer(count_word_qe_tags, word_qe_score_arrays, ("f1_mult", "mcc"), "mcc")


def without_bioul(sentences: Tags) -> Tags:
    """Converts the tags to BIO if some of them are BIOUL tags. Raises the `ValueError` of `split_tag`."""
    prefixes = {split_tag(tag)[0] for tag in {tag for tags in sentences for tag in tags}}
    if prefixes <= {"B", "I", "O"}:
        return sentences
    return [convert_tags(tags, "BIO") for tags in sentences]


def paired_sentences(gold: Tags, predicted: Tags) -> Iterable[tuple[Sequence[Any], Sequence[Any]]]:
    """Pairs of sentences. Raises `ValueError` where their numbers, or those of their tags, are not the same."""
    if [len(tags) for tags in gold] != [len(tags) for tags in predicted]:
        raise ValueError(
            "predicted: expected as many sentences as gold ones, each with as many tags"
        )
    return zip(gold, predicted)


def _hits(gold: Sequence[str], predicted: Sequence[str]) -> int:
    return sum(tag == other for tag, other in zip(gold, predicted))


def _types(by_type: tuple[Counter, ...]) -> dict[str, TypeCounts]:
    _, predicted, gold = by_type
    return {
        name: TypeCounts(*(counter[name] for counter in by_type))
        for name in sorted({*predicted, *gold})
    }


def _array(rows: list[list[int]], width: int) -> numpy.ndarray:
    return numpy.array(rows, dtype=numpy.int64).reshape(-1, width)
