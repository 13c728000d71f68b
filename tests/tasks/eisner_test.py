"""Eisner's algorithm against all projective trees of short sentences."""

import itertools

import numpy
import pytest

from allennlp_nef.tasks.dependency_parsing import projective_heads

LENGTHS = [5, 1, 2, 4, 3, 5]


def trees(length):
    """All projective trees with one root, as tuples of heads."""
    for heads in itertools.product(range(length + 1), repeat=length):
        if heads.count(0) == 1 and reach_the_root(heads) and is_projective(heads):
            yield heads


def reach_the_root(heads):
    for word in range(1, len(heads) + 1):
        for _ in heads:
            word = word and heads[word - 1]
        if word:
            return False
    return True


def is_projective(heads):
    arcs = [sorted((word, head)) for word, head in enumerate(heads, 1) if head]
    crossed = any(a < c < b < d for (a, b), (c, d) in itertools.permutations(arcs, 2))
    root = heads.index(0) + 1
    return not crossed and not any(a < root < b for a, b in arcs)


def score(scores, heads):
    return sum(scores[word, head] for word, head in enumerate(heads))


@pytest.mark.parametrize("seed", range(5))
def test_the_tree_is_the_best_of_all(seed):
    scores = numpy.random.default_rng(seed).normal(size=(len(LENGTHS), 5, 6)).astype("float32")
    padded = scores.copy()
    for row, length in enumerate(LENGTHS):
        padded[row, length:] = padded[row, :, length + 1 :] = numpy.nan
        padded[row, range(5), range(1, 6)] = numpy.inf  # no word is its own head
    found = projective_heads(padded, LENGTHS).tolist()
    for row, (length, heads) in enumerate(zip(LENGTHS, found)):
        assert heads[length:] == [0] * (5 - length)
        candidates = list(trees(length))
        assert tuple(heads[:length]) in candidates
        best = max(score(scores[row], tree) for tree in candidates)
        assert score(scores[row], heads[:length]) == pytest.approx(best, abs=1e-5)


def test_one_word_is_the_root_even_if_several_would_score_higher():
    scores = numpy.zeros((1, 6, 7))
    scores[:, :, 0] = 100
    heads = projective_heads(scores, [6])[0].tolist()
    assert heads.count(0) == 1 and reach_the_root(heads) and is_projective(heads)
