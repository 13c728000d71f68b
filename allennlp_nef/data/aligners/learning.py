from collections.abc import Iterable, Iterator, Sequence
from itertools import islice

import numpy

from allennlp_nef.data.aligners.lexical_aligner import (
    NUM_ROUNDS,
    AlignedPair,
    LexicalAligner,
    Lexicon,
    WordPairFeatures,
    context_features,
    probabilities_of,
)
from allennlp_nef.errors import DataFormatError

MIN_PAIRS = 20
"""Aligned sentence pairs that are needed."""
MAX_FITTED_PAIRS = 1000
MAX_FITTED_LINKS = 400_000
_THRESHOLDS = numpy.arange(0.3, 0.61, 0.02)


def learn_aligner(pairs: Iterable[AlignedPair]) -> LexicalAligner:
    """Learns an aligner from sentences with alignments, always the same one from the same sentences.

    Every eighth sentence, or fewer, is held out: the weights and the threshold are fitted to these with the counts of
    the others, so that the counts are worth what they will be for new sentences. The aligner's own counts are those of
    all sentences. Pairs without any link are left out. The pairs of an iterator are kept in memory; other
    iterables are gone through several times.

    # Raises

    `DataFormatError`: fewer than `MIN_PAIRS` pairs have links, or every word is linked to every other.
    """
    if isinstance(pairs, Iterator):
        pairs = list(pairs)

    def aligned() -> Iterator[AlignedPair]:
        return (pair for pair in pairs if pair.links)

    count = sum(1 for _ in aligned())
    if count < MIN_PAIRS:
        raise DataFormatError(
            f"aligner: expected at least {MIN_PAIRS} sentence pairs with alignments to learn from, got {count}"
        )
    step = max(8, count // MAX_FITTED_PAIRS)
    held_out = list(islice(aligned(), 0, None, step))
    counted = Lexicon.of(pair for i, pair in enumerate(aligned()) if i % step)
    weights, threshold = _fit(held_out, counted)
    return LexicalAligner(Lexicon.of(aligned()), weights, threshold)


def _fit(pairs: Sequence[AlignedPair], words: Lexicon) -> tuple[list[list[float]], float]:
    """The weights of each round, and the threshold with the highest F1."""
    stems = words.stems()
    features: list[WordPairFeatures] = []
    gold: list[numpy.ndarray] = []
    size = 0
    for pair in pairs:
        size += len(pair.source) * len(pair.target)
        if features and size > MAX_FITTED_LINKS:
            break
        features.append(WordPairFeatures(words, stems, pair.source, pair.target))
        links = numpy.zeros((len(pair.source), len(pair.target)), dtype=bool)
        links[tuple(zip(*pair.links))] = True
        gold.append(links)
    labels = numpy.concatenate([links.ravel() for links in gold])
    if labels.all():
        raise DataFormatError("aligner: expected words that are not linked, got links of all words")
    own = numpy.concatenate([_rows(each) for each in features])
    rounds: list[list[float]] = []
    found: list[numpy.ndarray] = []
    for number in range(NUM_ROUNDS):
        table = own
        if number:
            context = numpy.concatenate([_rows(context_features(each)) for each in found])
            table = numpy.concatenate([own, context], 1)
        rounds.append(_regression(table, labels))
        before: list[numpy.ndarray | None] = [*found] or [None] * len(features)
        found = [probabilities_of(rounds[-1], *each) for each in zip(features, before)]
    return rounds, _best_threshold(numpy.concatenate([each.ravel() for each in found]), labels)


def _rows(features: Iterable[numpy.ndarray]) -> numpy.ndarray:
    """(links, features)"""
    return numpy.stack([feature.ravel() for feature in features], 1)


def _regression(table: numpy.ndarray, labels: numpy.ndarray) -> list[float]:
    """The bias and the weights of a logistic regression."""
    from sklearn.linear_model import LogisticRegression  # imported here: it is slow to import

    table = table.astype(numpy.float64)
    mean, deviation = table.mean(0), numpy.maximum(table.std(0), 1e-6)
    model = LogisticRegression(max_iter=300).fit((table - mean) / deviation, labels)
    weights = model.coef_[0] / deviation
    values = [model.intercept_[0] - weights @ mean, *weights]
    return [round(float(value), 5) for value in values]


def _best_threshold(probabilities: numpy.ndarray, labels: numpy.ndarray) -> float:
    def f1(threshold: float) -> float:
        chosen = probabilities >= threshold
        return 2 * float((chosen & labels).sum()) / float(chosen.sum() + labels.sum())

    return round(float(max(_THRESHOLDS, key=f1)), 2)
