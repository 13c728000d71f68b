"""The scores of tags, against conlleval and seqeval."""

import warnings

import numpy
import pytest
from hypothesis import given
from hypothesis import strategies as st
from seqeval.metrics import f1_score, precision_score, recall_score

from allennlp_nef.data.chunks import Chunk, encode_chunks
from allennlp_nef.metrics.tag_scores import CHUNKS, TAGS, precision_recall_f1, ratio
from tests.oracles import conlleval

TYPES = ["PER", "LOC", "X-Y"]
ANY_TAG = st.sampled_from(["O", "O", *(f"{prefix}-{kind}" for prefix in "BI" for kind in TYPES)])
PAIRS = st.lists(st.lists(st.tuples(ANY_TAG, ANY_TAG), min_size=1, max_size=8), max_size=6)


@st.composite
def chunked(draw):
    """The length of a sentence, and twice some chunks in it."""
    length, both = draw(st.integers(1, 10)), []
    for _ in range(2):
        chunks, position = [], 0
        while position < length:
            end = min(length, position + draw(st.integers(1, 3)))
            if draw(st.booleans()):
                chunks.append(Chunk(position, end, draw(st.sampled_from(TYPES))))
            position = end
        both.append(chunks)
    return length, both


def encoded(sentences, scheme):
    """The gold and the predicted tags of sentences of `chunked`."""
    return [
        [encode_chunks(both[side], length, scheme) for length, both in sentences] for side in (0, 1)
    ]


class TestChunks:
    @given(PAIRS)
    def test_counts_are_those_of_conlleval(self, pairs):
        """For any sequences, also ill-formed ones."""
        gold, predicted = ([[p[side] for p in pair] for pair in pairs] for side in (0, 1))
        counts = CHUNKS.count(gold, predicted)
        tokens, hits, types = conlleval(pairs)
        assert {kind: list(values) for kind, values in counts.types.items()} == types
        totals = counts.sentences.sum(0).tolist()
        assert totals[3:] == [hits, tokens]
        assert totals[:3] == [sum(values[i] for values in types.values()) for i in range(3)]

    @given(st.lists(chunked(), min_size=1, max_size=5))
    def test_scores_are_those_of_seqeval(self, sentences):
        """On well-formed sequences, for which the two agree."""
        gold, predicted = encoded(sentences, "BIO")
        scores = CHUNKS.scores(CHUNKS.count(gold, predicted).sentences.sum(0))
        functions = {"precision": precision_score, "recall": recall_score, "f1": f1_score}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # no chunks
            for name, function in functions.items():
                expected = function(gold, predicted, zero_division=0)
                assert scores[f"{name}-overall"] == pytest.approx(expected)

    @given(st.lists(chunked(), min_size=1, max_size=5))
    def test_bioul_scores_as_bio(self, sentences):
        bio, bioul = encoded(sentences, "BIO"), encoded(sentences, "BIOUL")
        expected = CHUNKS.count(*bio)
        for gold, predicted in (bioul, (bio[0], bioul[1]), (bioul[0], bio[1])):
            counts = CHUNKS.count(gold, predicted)
            assert counts.sentences.tolist() == expected.sentences.tolist()
            assert counts.types == expected.types


def test_tags_are_counted_one_by_one():
    gold, predicted = [["N", "V", "N"], ["A"]], [["N", "N", "N"], ["V"]]
    counts = TAGS.count(gold, predicted)
    assert counts.sentences.tolist() == [[2, 3], [0, 1]]
    assert counts.types == {"A": (0, 0, 1), "N": (2, 3, 2), "V": (0, 1, 1)}
    assert TAGS.scores(counts.sentences.sum(0)) == {"accuracy": 0.5}
    assert TAGS.scores(numpy.zeros((3, 2)))["accuracy"].tolist() == [0, 0, 0]


def test_a_ratio_with_denominator_0_is_0():
    assert ratio(1, 0) == 0
    assert ratio(numpy.array([1, 2]), numpy.array([0, 4])).tolist() == [0, 0.5]
    assert precision_recall_f1(1, 2, 4) == pytest.approx((0.5, 0.25, 1 / 3))


@pytest.mark.parametrize("scorer", [CHUNKS, TAGS], ids=["chunks", "tags"])
@pytest.mark.parametrize("predicted", [[["O", "O"]], [["O"], ["B-A"]]])
def test_different_numbers_of_tags_are_errors(scorer, predicted):
    with pytest.raises(ValueError):
        scorer.count([["O", "B-A"], ["O"]], predicted)
