"""The scores of tags. `conlleval_test.py` has those of chunks."""

import numpy
import pytest

from allennlp_nef.metrics.tag_scores import CHUNKS, TAGS, precision_recall_f1, ratio


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
