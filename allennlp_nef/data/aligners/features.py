"""What the lexical aligner knows of a source word and a target word: arrays (source words, target words)."""

from collections.abc import Sequence

import numpy

from allennlp_nef.data.aligners.lexicon import STEM_LENGTH, Lexicon

NUM_WORD_FEATURES = 15
NUM_POSITION_FEATURES = 2
NUM_CONTEXT_FEATURES = 13
_BUCKETS = 512
_SMOOTHING = 0.02


def word_features(
    words: Lexicon, stems: Lexicon, sources: Sequence[str], targets: Sequence[str]
) -> list[numpy.ndarray]:
    """Features of words, wherever they stand. Each can be broadcast to (sources, targets)."""
    source_counts, target_counts, links = words.counts(sources, targets)
    source_links, target_links = words.fertilities(sources, targets)
    similarity = _similarity(sources, targets)
    ids: dict[str, int] = {}
    numbers = [
        numpy.array([ids.setdefault(word, len(ids)) for word in side])
        for side in (sources, targets)
    ]
    first_letters = [[word[:STEM_LENGTH] for word in side] for side in (sources, targets)]
    return [
        *_link_features(source_counts, target_counts, links),
        *_link_features(*stems.counts(*first_letters)),
        numpy.log((source_links + 1) / (source_counts + 2)),
        numpy.log((target_links + 1) / (target_counts + 2)),
        (source_counts == 0).astype(numpy.float32),
        (target_counts == 0).astype(numpy.float32),
        (numbers[0][:, None] == numbers[1]).astype(numpy.float32),
        similarity,
        numpy.maximum(similarity - 0.5, 0),
    ]


def position_features(num_sources: int, num_targets: int) -> list[numpy.ndarray]:
    """The distance from the diagonal, in shares of the sentences, and its root."""
    rows, columns = (
        (numpy.arange(length, dtype=numpy.float32) + 0.5) / length
        for length in (num_sources, num_targets)
    )
    distance = numpy.abs(rows[:, None] - columns)
    return [distance, numpy.sqrt(distance)]


def context_features(probabilities: numpy.ndarray) -> list[numpy.ndarray]:
    """Of the probabilities of links in the round before: log odds, rivals in row and column, adjacent links."""
    odds = numpy.log((probabilities + 1e-3) / (1 - probabilities + 1e-3))
    rivals = [_rival(probabilities, axis) for axis in (1, 0)]
    steps = [(1, 1), (-1, -1), (1, 0), (-1, 0), (0, 1), (0, -1), (2, 2), (-2, -2)]
    near = [(1, 2), (2, 1), (-1, -2), (-2, -1)]
    rows, columns = probabilities.shape
    padded = numpy.zeros((rows + 4, columns + 4), probabilities.dtype)
    padded[2:-2, 2:-2] = probabilities

    def shifted(step: tuple[int, int]) -> numpy.ndarray:
        """The value that is `step` rows and columns before each; 0 outside."""
        row, column = 2 - step[0], 2 - step[1]
        return padded[row : row + rows, column : column + columns]

    return [
        odds,
        *rivals,
        probabilities - numpy.maximum(*rivals),
        *map(shifted, steps),
        numpy.stack(list(map(shifted, near))).sum(0),
    ]


def _link_features(
    source_counts: numpy.ndarray, target_counts: numpy.ndarray, links: numpy.ndarray
) -> list[numpy.ndarray]:
    """log p(t | s) and log p(s | t), smoothed; how often they were linked; how much it says that they never were."""
    rarer = numpy.minimum(source_counts, target_counts)
    return [
        numpy.log((links + _SMOOTHING) / (source_counts + 1)),
        numpy.log((links + _SMOOTHING) / (target_counts + 1)),
        numpy.log1p(links),
        numpy.where(links > 0, 0, numpy.log1p(rarer)),
    ]


def _similarity(sources: Sequence[str], targets: Sequence[str]) -> numpy.ndarray:
    """The Dice coefficient of the words' pairs of letters, in [0, 1]."""
    left, right = _letter_pairs(sources), _letter_pairs(targets)
    return 2 * left @ right.T / (left.sum(1, keepdims=True) + right.sum(1))


def _letter_pairs(words: Sequence[str]) -> numpy.ndarray:
    """Whether words have the pairs of letters of each bucket: (words, buckets)."""
    table = numpy.zeros((len(words), _BUCKETS), dtype=numpy.float32)
    for row, word in enumerate(words):
        letters = [ord(letter) for letter in f"^{word}$"]
        table[row, [(31 * a + b) % _BUCKETS for a, b in zip(letters, letters[1:])]] = 1
    return table


def _rival(probabilities: numpy.ndarray, axis: int) -> numpy.ndarray:
    """The highest of the other probabilities along an axis; 0 without others."""
    if probabilities.shape[axis] == 1:
        return numpy.zeros_like(probabilities)
    second, first = numpy.split(
        numpy.partition(probabilities, -2, axis).take([-2, -1], axis), 2, axis
    )
    return numpy.where(probabilities == first, second, first)
