"""Sentences, and `allennlp-nef`, for the tests of corpora."""

import pytest

from tests.console.conftest import console  # noqa: F401

FRENCH = ["Les", "enfants", "peuvent", "livrer", "des", "tables", ".", "Anna", "habite", "Rome"]
ENGLISH = ["the", "doctors", "see", "three", "cups"]


@pytest.fixture(scope="session")
def sentences():
    """`sentences(count)`: lists of 1 to 9 words, in an order that is not that of their lengths."""
    words = FRENCH + ENGLISH

    def make(count):
        return [
            [words[(i * 7 + j) % len(words)] for j in range(1 + i * 5 % 9)] for i in range(count)
        ]

    return make
