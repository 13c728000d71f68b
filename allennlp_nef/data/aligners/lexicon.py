from collections import Counter
from collections.abc import Container, Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy

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
        return Lexicon(_stemmed(self.source), _stemmed(self.target), _by_source(links.items()))

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


def _stemmed(counts: dict[str, int]) -> dict[str, int]:
    stems: Counter[str] = Counter()
    for word, count in counts.items():
        stems[word[:STEM_LENGTH]] += count
    return stems


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
    found = sum(any(word in known.get(other, ()) for other in sources - {word}) for word in targets)
    return found, len(targets)
