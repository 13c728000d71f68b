"""Figures of files."""

import numpy
import pytest

from allennlp_nef.qe.review.summary import row_of, summary_of
from tests.qe.review.answers import answer


def rows_of(*answers):
    return numpy.array([row_of(each) for each in answers])


def test_figures_leave_out_segments_without_a_score():
    answers = [{"error": "empty translation"}, answer("b c", 0.1, 0.7)]
    figures = summary_of(rows_of(*answers))
    assert (figures["sentences"], figures["scored"], figures["words"]) == (2, 1, 2)
    assert (figures["flagged_sentences"], figures["flagged_words"]) == (1, 1)
    assert figures["threshold"] == answers[1]["threshold"] and figures["mean_hter"] is None
    assert figures["mean_expected_bad_share"] == pytest.approx(0.4)
    assert summary_of(rows_of(answers[0]))["mean_expected_bad_share"] is None


def test_probable_critical_errors_are_counted():
    values = [(0.2, 0.5), (0.5, 0.5), (0.45, 0.4)]
    names = ("critical_error_probability", "critical_error_threshold")
    answers = [answer("b", 0.1, **dict(zip(names, each))) for each in values]
    figures = summary_of(rows_of(*answers, {"error": "empty translation"}))
    assert figures["critical_sentences"] == 2
    assert figures["mean_critical_error_probability"] == pytest.approx(1.15 / 3)
    assert summary_of(rows_of(answer("b", 0.1)))["critical_sentences"] is None
