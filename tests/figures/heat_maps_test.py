"""Heat maps by what they consist of: arrays, labels, colors, places, and the text in SVG files."""

import io
import warnings
from xml.etree import ElementTree

import numpy
import pytest

pytest.importorskip("matplotlib", reason="needs the extra plot")

from matplotlib.backends.backend_agg import FigureCanvasAgg

from allennlp_nef.figures._heat_maps import heat_map
from allennlp_nef.figures._style import INK, shown
from tests.figures.answers import COLORS, DESCRIPTION, random_answer, tagged

ODD_WORDS = ["$x_1$", "a$b", "_a", "\\frac{", "<b>&amp;</b>", '"', "日本語", "שלום", "مرحبا", "🙂"]


def draw(answer, **changes):
    """The figure and its map."""
    figure = heat_map(answer, {**DESCRIPTION, **changes})
    (axes,) = (axes for axes in figure.axes if axes.get_ylabel() != "attention")
    return figure, axes


def texts_of(labels):
    return [label.get_text() for label in labels]


def tags_below(axes):
    (below,) = (child for child in axes.child_axes if child.get_xticklabels())
    return below.get_xticklabels()


def svg_texts(figure):
    file = io.StringIO()
    figure.savefig(file, format="svg", metadata={"Date": None})
    root = ElementTree.fromstring(file.getvalue())
    texts = {
        "".join(each.itertext()).strip() for each in root.iter("{http://www.w3.org/2000/svg}text")
    }
    return texts, file.getvalue()


@pytest.mark.parametrize("words, steps, every", [(1, 1, 1), (5, 5, 1), (40, 5, 1), (300, 5, 3)])
def test_the_map_has_the_numbers_of_the_trace(words, steps, every):
    """A map of many words has fewer labels."""
    answer = random_answer(words, steps)
    figure, axes = draw(answer)
    assert max(figure.get_size_inches()) < 40
    assert numpy.array_equal(axes.images[0].get_array(), answer["trace"]["attention"])
    # Step 1 is at the top.
    assert (axes.get_xlim(), axes.get_ylim()) == ((-0.5, words - 0.5), (steps - 0.5, -0.5))
    assert texts_of(axes.get_yticklabels()) == [str(n) for n in range(1, steps + 1, every)]
    assert texts_of(axes.get_xticklabels()) == answer["tokens"][::every]
    assert axes.get_ylabel() == "step"


def test_words_and_tags_have_the_color_of_the_predicted_tag():
    _, axes = draw(tagged("abc", "NVX", gold="NPX"))
    colors = [COLORS["N"], COLORS["V"], INK]
    for labels in (axes.get_xticklabels(), tags_below(axes)):
        assert [label.get_color() for label in labels] == colors
    assert texts_of(tags_below(axes)) == ["N", "V ≠ P", "X"]
    assert axes.get_title("left") == DESCRIPTION["title"]


@pytest.mark.parametrize("gold", [None, [None, "N", None]])
def test_words_without_a_gold_tag_are_not_wrong(gold):
    _, axes = draw(tagged("abc", "NNV", gold=gold))
    assert texts_of(tags_below(axes)) == ["N", "N", "V"]
    (below,) = (child for child in axes.child_axes if child.get_xticklabels())
    assert not below.get_xlabel()


def test_rows_of_self_attention_are_named_by_words():
    answer = random_answer(3, 3)
    answer["tokens"] = ["a$b$", "_", "c" * 20]
    _, axes = draw(answer, step_name="word")
    assert texts_of(axes.get_yticklabels()) == ["a$b$", "_", "c" * 11 + "…"]


@pytest.mark.parametrize("words, steps", [(1, 1), (5, 5), (40, 5), (50, 50)])
def test_nothing_overlaps(words, steps):
    answer = random_answer(words, steps)
    answer["tokens"][-1] = "Donaudampfschifffahrtsgesellschaft"
    figure, axes = draw(answer)
    FigureCanvasAgg(figure).draw()
    (bar,) = (axes for axes in figure.axes if axes.get_ylabel() == "attention")
    box = axes.get_window_extent()
    assert box.height / steps == pytest.approx(box.width / words)
    assert box.x1 < bar.get_window_extent().x0
    title = axes._left_title.get_window_extent()
    assert all(label.get_window_extent().y1 < title.y0 for label in axes.get_xticklabels())


def test_odd_words_are_drawn_as_text_without_warnings():
    words = [*ODD_WORDS, "\ud800", "\x01", "x" * 30]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        figure, axes = draw(tagged(words, "N" * len(words)), title="$a$ _b")
        texts, _ = svg_texts(figure)
        png = figure._repr_png_()
    assert not caught
    assert texts_of(axes.get_xticklabels()) == [shown(word) for word in words]
    assert {*map(shown, words), "$a$ _b"} <= texts
    assert png.startswith(b"\x89PNG\r\n")


def test_characters_without_a_font_are_one_warning_that_names_their_script(caplog):
    answer = tagged(["\U00010600\U00010601", "a"], ["N", "V"])
    _ = draw(answer)[0]._repr_png_()
    (record,) = caplog.records
    assert "LINEAR" in record.message


def test_the_same_figure_gives_the_same_file_whatever_the_users_settings():
    import matplotlib

    _, expected = svg_texts(draw(random_answer(3, 3))[0])
    with matplotlib.rc_context({"text.usetex": True, "font.size": 30, "svg.fonttype": "path"}):
        _, text = svg_texts(draw(random_answer(3, 3))[0])
    assert text == expected
