"""A word aligner that needs nothing but NumPy: what it knows of words, how it links them, and how it learns to."""

from collections import Counter
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import NamedTuple

import numpy

from allennlp_nef.errors import DataFormatError

MAX_LENGTH = 100
"""Characters of a word that count; what follows is cut off."""
MAX_PAIRS = 250_000
"""Pairs of words that are stored: the most frequent ones. A million sentences have more."""
STEM_LENGTH = 4
MIN_TRANSLATED = 0.05
"""Of the words of two languages, the share that has a known translation in its sentence; other languages have less."""


class AlignedPair(NamedTuple):
    """A sentence and its translation, with their alignment."""

    source: Sequence[str]
    target: Sequence[str]
    links: Sequence[tuple[int, int]]
    """Pairs (source index, target index), from 0."""


class Lexicon:
    """How often words occur in aligned sentences, and how often they are linked to each other.

    # Parameters

    source, target : `dict[str, int]`
        The tokens of each word.
    links : `dict[str, dict[str, int]]`
        The links of each source word with each target word.
    """

    def __init__(
        self, source: dict[str, int], target: dict[str, int], links: dict[str, dict[str, int]]
    ) -> None:
        self.source = source
        self.target = target
        self.links = links
        self._source_links = {word: sum(others.values()) for word, others in links.items()}
        self._target_links: dict[str, int] = {}
        for others in links.values():
            for word, count in others.items():
                self._target_links[word] = self._target_links.get(word, 0) + count

    @classmethod
    def of(cls, pairs: Iterable[AlignedPair]) -> "Lexicon":
        """Counts the words, in lower case."""
        source: Counter[str] = Counter()
        target: Counter[str] = Counter()
        links: Counter[tuple[str, str]] = Counter()
        for pair in pairs:
            sources, targets = normalized(pair.source), normalized(pair.target)
            source.update(sources)
            target.update(targets)
            links.update((sources[i], targets[j]) for i, j in pair.links)
        most = sorted(links.items(), key=lambda item: (-item[1], item[0]))[:MAX_PAIRS]
        return cls(source, target, _by_source(most))

    def stems(self) -> "Lexicon":
        """The same counts for the first letters of words, to know something of rare words."""
        links: Counter[tuple[str, str]] = Counter()
        for word, others in self.links.items():
            for other, count in others.items():
                links[word[:STEM_LENGTH], other[:STEM_LENGTH]] += count
        source: Counter[str] = Counter()
        target: Counter[str] = Counter()
        for stems, counts in ((source, self.source), (target, self.target)):
            for word, count in counts.items():
                stems[word[:STEM_LENGTH]] += count
        return Lexicon(source, target, _by_source(links.items()))

    def counts(self, sources: Sequence[str], targets: Sequence[str]) -> tuple[numpy.ndarray, ...]:
        """Of words: the tokens (sources, 1) and (1, targets), and the links (sources, targets)."""
        places: dict[str, list[int]] = {}
        for column, word in enumerate(targets):
            places.setdefault(word, []).append(column)
        links = numpy.zeros((len(sources), len(targets)), dtype=numpy.float32)
        for row, word in enumerate(sources):
            known = self.links.get(word, {})
            for other in known.keys() & places.keys():
                links[row, places[other]] = known[other]
        return _row(self.source, sources)[:, None], _row(self.target, targets)[None], links

    def fertilities(
        self, sources: Sequence[str], targets: Sequence[str]
    ) -> tuple[numpy.ndarray, ...]:
        """How many links words have in all: (sources, 1) and (1, targets)."""
        return _row(self._source_links, sources)[:, None], _row(self._target_links, targets)[None]


def normalized(words: Iterable[str]) -> list[str]:
    """The words as a lexicon has them."""
    return [word[:MAX_LENGTH].lower() for word in words]


def _by_source(counts: Iterable[tuple[tuple[str, str], int]]) -> dict[str, dict[str, int]]:
    links: dict[str, dict[str, int]] = {}
    for (word, other), count in counts:
        links.setdefault(word, {})[other] = count
    return links


def _row(counts: dict[str, int], words: Sequence[str]) -> numpy.ndarray:
    return numpy.array([counts.get(word, 0) for word in words], dtype=numpy.float32)


def translated_words(
    known: Mapping[str, Container[str]], source: Sequence[str], target: Sequence[str]
) -> tuple[int, int]:
    """How many different target words have a known translation in their sentence, and how many there are.

    It tells whether words are of the languages of a lexicon. Words that are equal on both sides, such as names, and
    those without letters do not count: other languages share them.

    # Parameters

    known : `Mapping[str, Container[str]]`
        The translations of each source word, in lower case.
    source, target : `Sequence[str]`
        Words.
    """
    sources, targets = (
        {word.lower() for word in side if any(map(str.isalpha, word))} for side in (source, target)
    )
    translated = sum(
        any(word in known.get(other, ()) for other in sources - {word}) for word in targets
    )
    return translated, len(targets)


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
        self.weights = list(map(list, weights))
        self.threshold = threshold
        self._stems = lexicon.stems()

    def align(self, source: Sequence[str], target: Sequence[str]) -> list[tuple[int, int]]:
        """The links, as pairs (source index, target index), from 0 and sorted."""
        links = numpy.argwhere(self.probabilities(source, target) >= self.threshold)
        return [(i, j) for i, j in links.tolist()]

    def probabilities(self, source: Sequence[str], target: Sequence[str]) -> numpy.ndarray:
        """The probability of each link: (source words, target words)."""
        result = numpy.zeros((len(source), len(target)), dtype=numpy.float32)
        if not result.size:
            return result
        features = WordPairFeatures(self.lexicon, self._stems, source, target)
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


# Learning

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
    own = numpy.concatenate([_rows(pair) for pair in features])
    rounds: list[list[float]] = []
    tables: list[numpy.ndarray] = []
    for number in range(NUM_ROUNDS):
        table = own
        if number:
            context = numpy.concatenate([_rows(context_features(probs)) for probs in tables])
            table = numpy.concatenate([own, context], 1)
        rounds.append(_regression(table, labels))
        before: list[numpy.ndarray | None] = [*tables] or [None] * len(features)
        tables = [probabilities_of(rounds[-1], *pair) for pair in zip(features, before)]
    return rounds, _best_threshold(numpy.concatenate([t.ravel() for t in tables]), labels)


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
