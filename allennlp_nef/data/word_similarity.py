"""How alike the words of two sentences are. This module needs nothing but NumPy."""

from collections.abc import Sequence

import numpy

PREFIX_LENGTH = 4
SAME, SAME_PREFIX = 2, 1


def similarity_matrix(target: Sequence[str], source: Sequence[str]) -> numpy.ndarray:
    """The similarity of each target word to each source word: 8-bit integers, (target words, source words).

    2 = the same word, 1 = words of at least four characters with the same first four, 0 = other words; case does not
    count. Such words are names, numbers, punctuation, cognates, and words that were left untranslated.
    """
    numbers: dict[str, int] = {}
    target_words, target_prefixes = _numbered(target, numbers)
    source_words, source_prefixes = _numbered(source, numbers)
    matrix = numpy.zeros((len(target), len(source)), dtype=numpy.int8)
    matrix[target_prefixes[:, None] == source_prefixes] = SAME_PREFIX
    matrix[target_words[:, None] == source_words] = SAME
    return matrix


def _numbered(words: Sequence[str], numbers: dict[str, int]) -> tuple[numpy.ndarray, numpy.ndarray]:
    """The number of each word, and that of its prefix; for a shorter word, the number of the word."""
    lower = [word.lower() for word in words]
    # No word has a blank in it.
    prefixes = [
        f"{word[:PREFIX_LENGTH]} " if len(word) >= PREFIX_LENGTH else word for word in lower
    ]
    columns = (
        numpy.array([numbers.setdefault(text, len(numbers)) for text in texts])
        for texts in (lower, prefixes)
    )
    return next(columns), next(columns)
