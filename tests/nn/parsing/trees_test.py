"""Both algorithms against all trees of short sentences."""

import itertools

import numpy
import pytest

from allennlp_nef.data.formats.conllu import find_cycle
from allennlp_nef.models.arc_mlp_parser import spanning_tree_heads
from allennlp_nef.nn.parsing import projective_heads

LENGTHS = [5, 1, 2, 4, 3, 5]


def trees(length):
    """All trees with one root."""
    for heads in itertools.product(range(length + 1), repeat=length):
        if heads.count(0) == 1 and not find_cycle(heads):
            yield heads


def is_projective(heads):
    arcs = [sorted((word, head)) for word, head in enumerate(heads, 1) if head]
    crossed = any(a < c < b < d for (a, b), (c, d) in itertools.permutations(arcs, 2))
    root = heads.index(0) + 1
    return not crossed and not any(a < root < b for a, b in arcs)


def score(scores, heads):
    return sum(scores[word, head] for word, head in enumerate(heads))


@pytest.mark.parametrize(
    "decode, allowed",
    [(projective_heads, is_projective), (spanning_tree_heads, lambda heads: True)],
    ids=["projective", "all"],
)
@pytest.mark.parametrize("seed", range(5))
def test_the_tree_is_the_best_of_all(decode, allowed, seed):
    scores = numpy.random.default_rng(seed).normal(size=(len(LENGTHS), 5, 6)).astype("float32")
    padded = scores.copy()
    for row, length in enumerate(LENGTHS):
        padded[row, length:] = padded[row, :, length + 1 :] = numpy.nan
        padded[row, range(5), range(1, 6)] = numpy.inf  # no word is its own head
    for row, (length, heads) in enumerate(zip(LENGTHS, decode(padded, LENGTHS).tolist())):
        assert heads[length:] == [0] * (5 - length)
        found = tuple(heads[:length])
        candidates = [heads for heads in trees(length) if allowed(heads)]
        assert found in candidates
        best = max(score(scores[row], heads) for heads in candidates)
        assert score(scores[row], found) == pytest.approx(best, abs=1e-5)


def test_all_trees_have_one_root_even_where_roots_have_the_best_scores():
    scores = numpy.zeros((1, 6, 7))
    scores[:, :, 0] = 100
    for decode in (projective_heads, spanning_tree_heads):
        heads = decode(scores, [6])[0].tolist()
        assert heads.count(0) == 1 and not find_cycle(heads)
