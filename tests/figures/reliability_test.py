"""Reliability diagrams against the bins they show."""

import io

import numpy
import pytest

pytest.importorskip("matplotlib", reason="needs the extra plot")

from allennlp_nef.figures._reliability_diagram import reliability_plot


def test_the_diagram_shows_the_means_of_bins_with_words():
    words = numpy.array([10.0, 0.0, 20.0, 5.0])
    before = (numpy.array([1.0, 0.0, 12.0, 4.5]), numpy.array([2.0, 0.0, 10.0, 5.0]), words)
    after = (numpy.array([2.0, 0.0, 10.0, 5.0]), numpy.array([2.0, 0.0, 10.0, 5.0]), words)
    figure = reliability_plot("runs/$a_b on dev", [(before, 0.1), (after, 0.0)], 0.25)
    upper, lower = figure.axes
    _, first, second, line = upper.lines
    assert first.get_xdata() == pytest.approx([0.1, 0.6, 0.9])
    assert first.get_ydata() == pytest.approx([0.2, 0.5, 1.0])
    assert second.get_xdata() == pytest.approx(second.get_ydata())
    assert list(line.get_xdata()) == [0.25, 0.25]
    labels = [text.get_text() for text in upper.get_legend().get_texts()]
    assert labels == ["before: ECE 10.00%", "after: ECE 0.00%", "threshold 0.250"]
    assert list(lower.patches[0].get_data().values) == list(words)
    file = io.StringIO()
    figure.savefig(file, format="svg")
    assert "runs/$a_b on dev" in file.getvalue() and "mathdefault" not in file.getvalue()
