from collections.abc import Iterator, Sequence

import numpy

from allennlp_nef.data.aligners.features import (
    NUM_CONTEXT_FEATURES,
    NUM_POSITION_FEATURES,
    NUM_WORD_FEATURES,
    context_features,
    position_features,
    word_features,
)
from allennlp_nef.data.aligners.lexicon import Lexicon, normalized

NUM_ROUNDS = 3
# A bias comes first. The first round has no context.
_NUM_OWN = 1 + NUM_WORD_FEATURES + NUM_POSITION_FEATURES
NUM_WEIGHTS = [_NUM_OWN] + (NUM_ROUNDS - 1) * [_NUM_OWN + NUM_CONTEXT_FEATURES]
"""The number of weights of each round."""


class LexicalAligner:
    """Links the words of a sentence with those of its translation, in some milliseconds.

    The probability of a link is a logistic regression over how often its words, and their first letters, were linked in
    training data, how similar they are, and how far from the diagonal they stand. Two more rounds also look at the
    probabilities of the round before: of other links of the same words, and of the adjacent words.

    # Parameters

    lexicon : `Lexicon`
    weights : `Sequence[Sequence[float]]`
        Those of each round, `NUM_WEIGHTS` in number.
    threshold : `float`
        In (0, 1). A link has at least this probability.
    """

    def __init__(
        self, lexicon: Lexicon, weights: Sequence[Sequence[float]], threshold: float
    ) -> None:
        self.lexicon = lexicon
        self.weights = [list(each) for each in weights]
        self.threshold = threshold
        self._stems = lexicon.stems()

    def align(self, source: Sequence[str], target: Sequence[str]) -> list[tuple[int, int]]:
        """The links, as pairs (source index, target index), from 0 and sorted."""
        found = numpy.nonzero(self.probabilities(source, target) >= self.threshold)
        return list(zip(found[0].tolist(), found[1].tolist()))

    def probabilities(self, source: Sequence[str], target: Sequence[str]) -> numpy.ndarray:
        """The probability of each link: (source words, target words)."""
        features = WordPairFeatures(self.lexicon, self._stems, source, target)
        result = numpy.zeros((len(source), len(target)), dtype=numpy.float32)
        for number, weights in enumerate(self.weights):
            result = probabilities_of(weights, features, result if number else None)
        return result


class WordPairFeatures:
    """The features of all links of two sentences. Those of words are computed once for each word of the sentences."""

    def __init__(
        self, words: Lexicon, stems: Lexicon, source: Sequence[str], target: Sequence[str]
    ) -> None:
        (sources, self._rows), (targets, self._columns) = map(_distinct, (source, target))
        self._word_features = word_features(words, stems, sources, targets)
        self._position_features = position_features(len(source), len(target))

    def score(self, weights: Sequence[float]) -> numpy.ndarray:
        """The weighted sum of the features other than those of the context: (source words, target words)."""
        words = self._word_features
        by_word = sum(weight * feature for weight, feature in zip(weights, words))
        result = self._placed(numpy.asarray(by_word))
        for weight, feature in zip(weights[len(words) :], self._position_features):
            result += weight * feature
        return result

    def __iter__(self) -> Iterator[numpy.ndarray]:
        """The same features, one by one."""
        shape = len(self._rows), len(self._columns)
        distinct = 1 + self._rows.max(), 1 + self._columns.max()
        for feature in self._word_features:
            yield self._placed(numpy.broadcast_to(feature, distinct))
        for feature in self._position_features:
            yield feature.reshape(shape)

    def _placed(self, by_word: numpy.ndarray) -> numpy.ndarray:
        """The values of words, where they stand in the sentences."""
        return by_word[self._rows][:, self._columns]


def probabilities_of(
    weights: Sequence[float],
    features: WordPairFeatures,
    before: numpy.ndarray | None,
) -> numpy.ndarray:
    """The probabilities of a round, from those of the round before (None in the first)."""
    score = weights[0] + features.score(weights[1:_NUM_OWN])
    if before is not None:
        for weight, feature in zip(weights[_NUM_OWN:], context_features(before)):
            score += weight * feature
    return 1 / (1 + numpy.exp(-numpy.clip(score, -50, 50)))


def _distinct(words: Sequence[str]) -> tuple[list[str], numpy.ndarray]:
    """The words without repetition, as a lexicon has them, and the number of each word among them."""
    numbers: dict[str, int] = {}
    places = [numbers.setdefault(word, len(numbers)) for word in normalized(words)]
    return list(numbers), numpy.array(places)
