import time

import numpy
import pytest

from allennlp_nef.data.aligners import AlignedPair, learn_aligner
from allennlp_nef.data.aligners.lexical_aligner import (
    NUM_CONTEXT_FEATURES,
    NUM_POSITION_FEATURES,
    NUM_WORD_FEATURES,
    Lexicon,
    context_features,
    position_features,
    word_features,
)
from allennlp_nef.data.formats import read_examples
from allennlp_nef.errors import DataFormatError


def pairs_of(prefix, number=None):
    examples = list(read_examples(prefix))[:number]
    return [AlignedPair(e.source, e.target, e.alignments) for e in examples]


def f1_of(aligner, pairs):
    right = found = gold = 0
    for pair in pairs:
        links = set(aligner.align(pair.source, pair.target))
        right, found, gold = (
            right + len(links & set(pair.links)),
            found + len(links),
            gold + len(set(pair.links)),
        )
    return 2 * right / (found + gold)


@pytest.fixture(scope="module")
def train(root):
    return pairs_of(root / "fixtures" / "qe" / "train", 300)


@pytest.fixture(scope="module")
def aligner(train):
    return learn_aligner(train)


def test_links_of_other_sentences_are_found(aligner, root):
    assert f1_of(aligner, pairs_of(root / "fixtures" / "qe" / "dev")) > 0.9


def test_the_same_sentences_give_the_same_aligner(aligner, train):
    again = learn_aligner(iter(train))
    assert (again.weights, again.threshold) == (aligner.weights, aligner.threshold)
    assert again.lexicon.links == aligner.lexicon.links


def test_names_that_were_never_seen_are_linked_by_their_letters(aligner):
    links = aligner.align(
        ["the", "Zyxwort", "sees", "1984", "."], ["der", "Zyxwort", "sieht", "1984", "."]
    )
    assert {(1, 1), (3, 3), (4, 4)} <= set(links)


def test_links_are_sorted_pairs_of_integers(aligner):
    links = aligner.align(["a", "cup", "."], [".", "Tasse", "eine"])
    assert links and links == sorted(links)
    assert all(type(index) is int for link in links for index in link)


@pytest.mark.parametrize(
    "source, target", [("a", "eine"), ("a", "x y z"), ("\ud800 \x00 " + "x" * 10**6, "y")]
)
def test_short_and_unusual_sentences_are_aligned(aligner, source, target):
    source, target = source.split(), target.split()
    assert aligner.probabilities(source, target).shape == (len(source), len(target))
    for i, j in aligner.align(source, target):
        assert i < len(source) and j < len(target)


def test_long_sentences_take_less_than_two_seconds(aligner, train):
    source, target = (
        [word for pair in train for word in side(pair)][:1000]
        for side in (lambda pair: pair.source, lambda pair: pair.target)
    )
    start = time.perf_counter()
    aligner.align(source, target)
    assert time.perf_counter() - start < 2


def test_sentences_without_links_teach_nothing(train, aligner):
    unaligned = [pair._replace(links=[]) for pair in train[:50]]
    assert learn_aligner(unaligned + train).lexicon.links == aligner.lexicon.links


@pytest.mark.parametrize("number", [0, 19])
def test_too_few_sentences_are_an_error(train, number):
    with pytest.raises(DataFormatError, match=f"at least 20 sentence pairs .* got {number}$"):
        learn_aligner(train[:number])


def test_links_of_all_words_are_an_error():
    with pytest.raises(DataFormatError, match="expected words that are not linked"):
        learn_aligner([AlignedPair(["a"], ["b"], [(0, 0)])] * 30)


class TestLexicon:
    PAIRS = [
        AlignedPair(["The", "houses"], ["die", "Häuser", "die"], [(0, 0), (0, 2), (1, 1)]),
        AlignedPair(["the", "house"], ["das", "Haus"], [(0, 0), (1, 1)]),
    ]

    def test_words_and_links_are_counted_in_lower_case(self):
        lexicon = Lexicon.of(self.PAIRS)
        assert lexicon.source == {"the": 2, "houses": 1, "house": 1}
        assert lexicon.links["the"] == {"die": 2, "das": 1}
        sources, targets, links = lexicon.counts(["house", "the", "a"], ["die", "haus", "die"])
        assert sources.tolist() == [[1], [2], [0]]
        assert targets.tolist() == [[2, 1, 2]]
        assert links.tolist() == [[0, 1, 0], [2, 0, 2], [0, 0, 0]]
        assert [each.tolist() for each in lexicon.fertilities(["the"], ["die", "x"])] == [
            [[3]],
            [[2, 0]],
        ]

    def test_stems_add_up_what_begins_alike(self):
        stems = Lexicon.of(self.PAIRS).stems()
        assert stems.source["hous"] == 2
        assert stems.links["hous"] == {"häus": 1, "haus": 1}


class TestFeatures:
    def test_numbers_are_those_that_weights_are_stored_for(self):
        lexicon = Lexicon.of(TestLexicon.PAIRS)
        assert len(word_features(lexicon, lexicon.stems(), ["a"], ["b"])) == NUM_WORD_FEATURES
        assert len(position_features(2, 3)) == NUM_POSITION_FEATURES
        assert len(context_features(numpy.full((2, 3), 0.5))) == NUM_CONTEXT_FEATURES

    @pytest.mark.parametrize("shape", [(1, 1), (1, 4), (3, 1), (2, 2), (4, 5)])
    def test_context_features_are_those_of_a_slow_version(self, shape):
        table = numpy.random.default_rng(0).random(shape)

        def at(i, j):
            inside = 0 <= i < shape[0] and 0 <= j < shape[1]
            return table[i, j] if inside else 0

        for i, j in numpy.ndindex(*shape):
            row = max((table[i, k] for k in range(shape[1]) if k != j), default=0)
            column = max((table[k, j] for k in range(shape[0]) if k != i), default=0)
            steps = [(1, 1), (-1, -1), (1, 0), (-1, 0), (0, 1), (0, -1), (2, 2), (-2, -2)]
            near = [(1, 2), (2, 1), (-1, -2), (-2, -1)]
            expected = [
                numpy.log((table[i, j] + 1e-3) / (1 - table[i, j] + 1e-3)),
                row,
                column,
                table[i, j] - max(row, column),
                *(at(i - a, j - b) for a, b in steps),
                sum(at(i - a, j - b) for a, b in near),
            ]
            found = [feature[i, j] for feature in context_features(table)]
            numpy.testing.assert_allclose(found, expected)
