"""Figures of files, and comparisons of systems by their mean scores."""

import numpy
import pytest

from allennlp_nef.qe.file_figures import compare_systems, figures_of, row_of
from tests.qe.review_answers import answer


def rows_of(*answers):
    return numpy.array([row_of(each) for each in answers])


def test_figures_leave_out_segments_without_a_score():
    answers = [{"error": "there is no translation"}, answer("b c", 0.1, 0.7)]
    figures = figures_of(rows_of(*answers))
    assert (figures["sentences"], figures["scored"], figures["words"]) == (2, 1, 2)
    assert (figures["flagged_sentences"], figures["flagged_words"]) == (1, 1)
    assert figures["threshold"] == answers[1]["threshold"] and figures["mean_hter"] is None
    assert figures["mean_expected_bad_share"] == pytest.approx(0.4)
    assert figures_of(rows_of(answers[0]))["mean_expected_bad_share"] is None


def test_systems_are_compared_over_the_segments_that_all_have_scores_for():
    generator = numpy.random.default_rng(7)
    values = generator.uniform(0, 0.8, 200)
    systems = (values + 0.1, values, values + numpy.tile([0.01, -0.0098], 100))
    tables = [
        rows_of(*({**answer("b", 0.1), "hter": value} for value in system)) for system in systems
    ]
    tables[0][0] = numpy.nan
    worst, best, similar = compare_systems(tables)
    assert {each["score"] for each in (worst, best, similar)} == {"hter"}
    assert worst["compared"] == 199 and best["p_value"] is None
    assert worst["mean"] - best["mean"] == pytest.approx(0.1)
    assert worst["p_value"] == pytest.approx(1 / 1001) and similar["p_value"] > 0.05
    # The interval of a mean of many values is that of a normal distribution.
    error = 1.96 * values[1:].std() / 199**0.5
    assert best["low"] == pytest.approx(best["mean"] - error, abs=0.004)
    assert best["high"] == pytest.approx(best["mean"] + error, abs=0.004)


def test_systems_without_hter_are_compared_by_their_bad_share():
    tables = [rows_of({**answer("b", 0.1), "hter": 0.5}), rows_of(answer("b", 0.2))]
    assert [each["mean"] for each in compare_systems(tables)] == pytest.approx([0.1, 0.2])
