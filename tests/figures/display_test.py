"""A trace in a notebook."""

import json

import numpy
import pytest

from allennlp_nef.modules.traces import FusionTrace
from tests.figures.replay_page_test import Page

SOURCE = ["the", "</script><script>alert(1)</script>", "house"]
TARGET = ["das", "&quot;'><img", "$Haus$"]


@pytest.fixture(scope="module")
def predictor(archive_path, predictor_of):
    return predictor_of(archive_path, "word_qe")


def test_the_plot_is_the_heat_map_of_the_sentence(predictor):
    trace = predictor.trace(SOURCE, TARGET)
    figure = trace.plot()
    axes, bar = figure.axes
    assert [label.get_text() for label in axes.get_xticklabels()] == TARGET
    assert [label.get_text() for label in axes.get_yticklabels()] == ["1", "2", "3"]
    assert (axes.get_ylabel(), bar.get_ylabel()) == ("step", "attention")
    assert axes.get_title("left").split("\n")[0] == predictor.description()["title"]
    assert numpy.allclose(axes.images[0].get_array(), trace.attention, atol=1e-6)
    assert figure._repr_png_().startswith(b"\x89PNG\r\n")


def test_the_html_is_a_frame_with_the_page_of_the_answer(predictor):
    frames = Page(predictor.trace(SOURCE, TARGET)._repr_html_())
    ((tag, attributes, text),) = frames.elements
    assert (tag, attributes["sandbox"], text) == ("iframe", "allow-scripts", "")
    assert "src" not in attributes
    page = Page(attributes["srcdoc"])
    assert not page.of("img")
    (data,) = [text for attrs, text in page.of("script") if attrs.get("id") == "page-data"]
    (model,) = json.loads(data)["models"]
    request = {"source": SOURCE, "target": TARGET, "trace": True}
    assert model["sentences"] == [json.loads(json.dumps(predictor.predict_json(request)))]
    assert model["description"] == {**predictor.description(), "examples": None}


def test_a_trace_without_the_answer_of_a_predictor_is_shown_as_text():
    trace = FusionTrace(["a"], ["O"], None, None)
    assert trace._repr_html_() is None
    with pytest.raises(
        ValueError, match="plot: expected the trace of a predictor, got one without"
    ):
        trace.plot()
