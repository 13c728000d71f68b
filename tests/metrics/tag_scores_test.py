import warnings

import numpy
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from seqeval.metrics import f1_score, precision_score, recall_score
from sklearn.metrics import matthews_corrcoef

from allennlp_nef.data.formats.chunks import Chunk, encode_chunks
from allennlp_nef.metrics.significance import compare
from allennlp_nef.metrics.tag_scores import (
    CHUNKS,
    TAGS,
    WORD_QE,
    TypeCounts,
    word_qe_score_arrays,
    word_qe_scores,
)
from tests.oracles import conlleval

TYPES = ["PER", "LOC", "X-Y"]
ANY_TAGS = st.sampled_from(["O", "O"] + [f"{prefix}-{kind}" for prefix in "BI" for kind in TYPES])
PAIRS = st.lists(st.lists(st.tuples(ANY_TAGS, ANY_TAGS), min_size=1, max_size=8), max_size=6)


def halves(pairs):
    """Gold and predicted tags of sentences of pairs."""
    return [[[pair[side] for pair in sentence] for sentence in pairs] for side in (0, 1)]


@st.composite
def chunked(draw, max_tokens=10):
    """The length of a sentence, and chunks in it twice."""
    length = draw(st.integers(1, max_tokens))
    both = []
    for _ in range(2):
        chunks, position = [], 0
        while position < length:
            end = min(length, position + draw(st.integers(1, 3)))
            if draw(st.booleans()):
                chunks.append(Chunk(position, end, draw(st.sampled_from(TYPES))))
            position = end
        both.append(chunks)
    return length, both


class TestChunks:
    @given(PAIRS)
    def test_counts_are_those_of_conlleval(self, pairs):
        """Whatever the sequences, ill-formed ones included."""
        counts = CHUNKS.count(*halves(pairs))
        tokens, hits, types = conlleval(pairs)
        assert {kind: list(values) for kind, values in counts.types.items()} == types
        totals = counts.sentences.sum(0).tolist()
        assert totals[3:] == [hits, tokens]
        assert totals[:3] == [sum(values[i] for values in types.values()) for i in range(3)]

    @given(st.lists(chunked(), min_size=1, max_size=5))
    def test_scores_are_those_of_seqeval(self, sentences):
        """On well-formed sequences, where the two mean the same."""
        gold, predicted = (
            [encode_chunks(chunks[side], length, "BIO") for length, chunks in sentences]
            for side in (0, 1)
        )
        scores = CHUNKS.scores(CHUNKS.count(gold, predicted).sentences.sum(0))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # no chunks
            for name, function in (
                ("precision", precision_score),
                ("recall", recall_score),
                ("f1", f1_score),
            ):
                expected = function(gold, predicted, zero_division=0)
                assert scores[f"{name}-overall"] == pytest.approx(expected)

    @given(st.lists(chunked(), min_size=1, max_size=5))
    def test_bioul_scores_as_bio(self, sentences):
        schemes = {}
        for scheme in ("BIO", "BIOUL"):
            gold, predicted = (
                [encode_chunks(chunks[side], length, scheme) for length, chunks in sentences]
                for side in (0, 1)
            )
            schemes[scheme] = (gold, predicted)
        expected = CHUNKS.count(*schemes["BIO"])
        for gold, predicted in (
            schemes["BIOUL"],
            (schemes["BIO"][0], schemes["BIOUL"][1]),
            (schemes["BIOUL"][0], schemes["BIO"][1]),
        ):
            counts = CHUNKS.count(gold, predicted)
            assert counts.sentences.tolist() == expected.sentences.tolist()
            assert counts.types == expected.types


class TestTypeCounts:
    def test_percentages_round_as_in_the_script(self):
        """100 * 1 / 32 is 3.125 exactly, and printed as 3.12; 100 * 23 / 160 = 14.375 as 14.38."""
        assert [f"{value:.2f}" for value in TypeCounts(1, 32, 1).precision_recall_f1(100)[:2]] == [
            "3.12",
            "100.00",
        ]
        assert f"{TypeCounts(23, 160, 23).precision_recall_f1(100)[0]:.2f}" == "14.38"


class TestTags:
    def test_counts_of_small_examples(self):
        gold, predicted = [["N", "V", "N"], ["A"]], [["N", "N", "N"], ["V"]]
        counts = TAGS.count(gold, predicted)
        assert counts.sentences.tolist() == [[2, 3], [0, 1]]
        assert counts.types == {"A": (0, 0, 1), "N": (2, 3, 2), "V": (0, 1, 1)}
        assert TAGS.scores(counts.sentences.sum(0)) == {"accuracy": 0.5}
        assert TAGS.scores(numpy.zeros((3, 2)))["accuracy"].tolist() == [0, 0, 0]


class TestWordQe:
    GOLD = ["BAD", "OK", "OK", "BAD", "OK"]
    PREDICTED = ["BAD", "BAD", "OK", "OK", "OK"]

    def test_counts_of_small_examples(self):
        """F1-BAD = 2 * 1 / (2 + 2), F1-OK = 2 * 2 / (3 + 3), MCC = (1 * 2 - 1 * 1) / sqrt(2 * 2 * 3 * 3)."""
        counts = WORD_QE.count(
            [self.GOLD[:2], self.GOLD[2:]], [self.PREDICTED[:2], self.PREDICTED[2:]]
        )
        assert counts.sentences.tolist() == [[1, 0, 1, 0], [0, 1, 0, 2]]
        assert counts.types == {"BAD": (1, 2, 2), "OK": (2, 3, 3)}
        scores = WORD_QE.scores(counts.sentences.sum(0))
        assert scores["f1_bad"] == pytest.approx(0.5)
        assert scores["f1_ok"] == pytest.approx(2 / 3)
        assert scores["f1_mult"] == pytest.approx(1 / 3)
        assert scores["mcc"] == pytest.approx(1 / 6)
        assert scores["mcc"] == pytest.approx(matthews_corrcoef(self.GOLD, self.PREDICTED))
        assert scores["accuracy"] == pytest.approx(0.6)

    def test_arrays_have_the_scores_of_each_matrix(self):
        counts = numpy.random.default_rng(0).integers(0, 4, (3, 50, 4))
        arrays = word_qe_score_arrays(counts)
        for place in numpy.ndindex(3, 50):
            scores = {name: array[place] for name, array in arrays.items()}
            assert scores == word_qe_scores(counts[place])


@pytest.mark.parametrize("scorer", [CHUNKS, TAGS, WORD_QE], ids=["chunks", "tags", "word_qe"])
class TestAnyScorer:
    TAGS_OF = {WORD_QE: ["OK", "OK", "BAD"]}

    def systems(self, scorer):
        """Gold tags, those of a good system and of a bad one: 40 sentences."""
        generator = numpy.random.default_rng(1)
        tags = self.TAGS_OF.get(scorer, ["O", "B-A", "I-A", "B-B"])
        gold = generator.choice(tags, (40, 6))
        noise = generator.choice(tags, (40, 6))
        return [gold.tolist()] + [
            numpy.where(generator.random((40, 6)) < share, noise, gold).tolist()
            for share in (0.1, 0.5)
        ]

    def test_a_better_system_is_significantly_better(self, scorer):
        gold, good, bad = self.systems(scorer)
        first, second = (scorer.count(gold, tags).sentences for tags in (good, bad))
        for name in scorer.main:

            def score(counts, name=name):
                return scorer.scores(counts)[name]

            result = compare(first, second, score, trials=200)
            totals = [float(score(counts.sum(0))) for counts in (first, second)]
            assert result.difference == pytest.approx(totals[0] - totals[1])
            assert result.p_value < 0.05
            assert result.low > 0
            swapped = compare(second, first, score, trials=200)
            assert swapped.difference == pytest.approx(-result.difference)
            assert compare(first, first, score, trials=50) == (0, 1, 0, 0, None)

    @settings(max_examples=20)
    @given(drop=st.integers(0, 39), whole=st.booleans())
    def test_different_lengths_are_refused(self, scorer, drop, whole):
        gold, other, _ = self.systems(scorer)
        other[drop : drop + 1] = [] if whole else [other[drop][1:]]
        with pytest.raises(ValueError, match="as many"):
            scorer.count(gold, other)
