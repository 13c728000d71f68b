"""Heat maps by their data: the arrays, labels, colors and places of their parts, and the files."""

import warnings
from xml.etree import ElementTree

import numpy
import pytest

from allennlp_nef.cli.shared import save_figure
from allennlp_nef.figures.heat_maps import MAX_SIDE, MAX_WIDTH, UNKNOWN, heat_map
from allennlp_nef.figures.style import INK, drawing, shown
from tests.cli.sketch_answers import COLORS, DESCRIPTION, answer_of, random_answer

ODD_WORDS = ["$x_1$", "a$b", "_a", "\\frac{", "<b>&amp;</b>", '"', "日本語", "שלום", "مرحبا", "🙂"]


@pytest.fixture(autouse=True)
def look():
    with drawing():
        yield


def draw(*answers, **changes):
    """The figure, its maps and the axes of the color bar."""
    descriptions = [{**DESCRIPTION, "title": f"model {i}", **changes} for i in range(len(answers))]
    figure = heat_map(answers, descriptions)
    *maps, bar = figure.axes
    assert len(maps) == len(answers)
    return figure, maps, bar


def tagged(tokens, tags, gold=None):
    attention = numpy.full((1, len(tokens)), 1 / len(tokens))
    return answer_of(tokens, attention, [tags], gold)


def labels_of(axes):
    return [(label.get_text(), label.get_color()) for label in axes.get_xticklabels()]


def crosses_of(axes):
    return [(int(line.get_xdata()[0]), line.get_color()) for line in axes.lines]


def legend_of(figure):
    (legend,) = figure.legends
    colors = [handle.get_color() for handle in legend.legend_handles]
    return list(zip((text.get_text() for text in legend.get_texts()), colors))


class TestMaps:
    @pytest.mark.parametrize("change, is_said", [(0.04, True), (0.06, False)])
    def test_the_title_says_where_all_rows_are_alike(self, change, is_said):
        attention = numpy.full((3, 4), 0.25)
        attention[1, :2] += change, -change
        _, (axes,), _ = draw(answer_of(list("abcd"), attention, ["NNNN"] * 3))
        title = axes.get_title("left")
        assert title.split("\n")[0] == "model 0" and ("alike" in title) == is_said

    @pytest.mark.parametrize("words, steps", [(1, 1), (50, 5)])
    def test_the_map_has_the_numbers_of_the_trace(self, words, steps):
        answer = random_answer(words, steps)
        _, (axes,), _ = draw(answer)
        (image,) = axes.images
        assert numpy.array_equal(image.get_array(), answer["trace"]["attention"])
        # Step 1 is at the top, a cell a word and step.
        assert axes.get_xlim() == (-0.5, words - 0.5)
        assert axes.get_ylim() == (steps - 0.5, -0.5)
        names = [label.get_text() for label in axes.get_yticklabels()]
        assert names == [str(n) for n in range(1, steps + 1)]
        assert axes.get_ylabel() == "step"

    def test_each_model_has_its_own_map_colors_and_crosses(self):
        first, second = tagged("ab", "NV", gold="NP"), tagged("ab", "PP", gold="NP")
        figure, maps, _ = draw(first, second)
        assert [labels_of(axes) for axes in maps] == [
            [("a", COLORS["N"]), ("b", COLORS["V"])],
            [("a", COLORS["P"]), ("b", COLORS["P"])],
        ]
        assert [axes.get_title("left") for axes in maps] == ["model 0", "model 1"]
        assert [axes.get_ylabel() for axes in maps] == ["step", ""]
        assert [crosses_of(axes) for axes in maps] == [[(1, COLORS["P"])], [(0, COLORS["N"])]]
        assert [text for text, _ in legend_of(figure)[:-1]] == ["N", "P", "V"]


class TestWrongTags:
    def test_crosses_have_the_color_of_the_gold_tag(self):
        figure, (axes,), _ = draw(tagged("abcd", "NVNV", gold="NPX" + "V"))
        assert crosses_of(axes) == [(1, COLORS["P"]), (2, UNKNOWN)]
        assert legend_of(figure) == [
            *(("N", COLORS["N"]), ("P", COLORS["P"]), ("V", COLORS["V"]), ("X", UNKNOWN)),
            ("wrong, in the\ncolor of the gold tag", UNKNOWN),
        ]

    def test_tags_of_one_color_share_an_entry_and_are_written_below_their_words(self):
        one = "#000001"
        colors = {"B-A": one, "B-B": one, "O": "#000002", "_": "#000003"}
        answer = tagged("abcd", ["O", "B-B", "B-A", "_"])
        figure, (axes,), _ = draw(answer, colours=colors)
        assert legend_of(figure) == [("B-A, B-B", one), ("O", "#000002"), ("_", "#000003")]
        below = [(text.get_text(), text.get_color(), text.xy[0]) for text in axes.texts]
        assert below == [("B-B", one, 1), ("B-A", one, 2)]


class TestPlaces:
    @pytest.mark.parametrize("words, steps, models", [(1, 1, 3), (50, 50, 1), (50, 5, 3)])
    def test_nothing_overlaps_or_is_cut(self, words, steps, models):
        answers = [random_answer(words, steps, seed) for seed in range(models)]
        for answer in answers:
            answer["tokens"][-1] = "Donaudampfschifffahrtsgesellschaft"
        figure, maps, bar = draw(*answers, title="NEF-F csoftmax, N = 5 (a folder)")
        renderer = figure.canvas.get_renderer()
        boxes = [axes.get_tightbbox(renderer) for axes in (*maps, bar)]
        boxes.append(figure.legends[0].get_window_extent(renderer))
        for box in boxes:
            assert 0 <= box.x0 < box.x1 <= figure.bbox.width
            assert 0 <= box.y0 < box.y1 <= figure.bbox.height
        is_stacked = maps[-1].get_window_extent().y1 < maps[0].get_window_extent().y0
        assert is_stacked == (words * models > 50 and models > 1)
        assert is_stacked or figure.get_size_inches()[0] < MAX_WIDTH + 5
        for one, other in zip(boxes[: models - 1], boxes[1:models]):
            assert one.y0 > other.y1 if is_stacked else one.x1 < other.x0
        # The last words may lean over the bar, which begins below them.
        assert maps[-1].get_window_extent().x1 < boxes[-2].x0
        assert bar.get_window_extent().y1 <= maps[0].get_window_extent().y1 + 0.5
        assert boxes[-2].x1 < boxes[-1].x0
        titles = [axes._left_title.get_window_extent(renderer) for axes in maps]
        for axes, title in zip(maps, titles):
            assert is_stacked or title.y0 == pytest.approx(titles[0].y0, abs=0.5)
            for label in axes.get_xticklabels():
                assert label.get_window_extent(renderer).y1 < title.y0

    def test_a_map_of_many_words_has_the_largest_size_and_fewer_labels(self):
        answer = random_answer(400, 400)
        figure, (axes,), _ = draw(answer)
        assert numpy.array_equal(axes.images[0].get_array(), answer["trace"]["attention"])
        assert axes.get_window_extent().width / figure.dpi == pytest.approx(MAX_SIDE)
        assert [text for text, _ in labels_of(axes)] == answer["tokens"][::3]
        assert [label.get_text() for label in axes.get_yticklabels()][:2] == ["1", "4"]


class TestWords:
    @pytest.mark.parametrize(
        "word, expected",
        [
            ("a" * 25, "a" * 23 + "…"),
            ("a\x00\x85\ud800\uffff", "a\\x00\\x85\\ud800\\uffff"),
            ("a\u00a0b\u200d\\", "a\u00a0b\u200d\\"),
        ],
    )
    def test_words_are_cut_and_escaped(self, word, expected):
        assert shown(word) == expected

    def test_odd_words_are_drawn_as_text_without_warnings(self, tmp_path):
        words = [*ODD_WORDS, "\ud800", "\x01", "x" * 30]
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            with drawing():
                figure, (axes,), _ = draw(tagged(words, "N" * len(words)), title="$a$ _b")
                png, svg = save_figure(figure, tmp_path / "sentence.1", ["png", "svg"])
        assert not caught
        assert [text for text, _ in labels_of(axes)] == [shown(word) for word in words]
        assert not any(label.get_parse_math() for label in axes.get_xticklabels())
        texts = texts_of(svg)
        assert set(map(shown, words)) <= texts
        assert "$a$ _b" in texts


class TestFiles:
    def test_the_same_figure_gives_the_same_files(self, tmp_path):
        for name in "ab":
            save_figure(draw(random_answer(5, 5))[0], tmp_path / name, ["png", "svg"])
        for ending in ("png", "svg"):
            first, second = ((tmp_path / f"{name}.{ending}").read_bytes() for name in "ab")
            assert first == second

    def test_the_users_settings_do_not_change_the_figure(self, tmp_path):
        import matplotlib

        expected = draw(random_answer(3, 3))[0].get_size_inches()
        with (
            matplotlib.rc_context({"text.usetex": True, "font.size": 30, "svg.fonttype": "path"}),
            drawing(),
        ):
            figure, _, _ = draw(random_answer(3, 3))
            (svg,) = save_figure(figure, tmp_path / "map", ["svg"])
        assert figure.get_size_inches() == pytest.approx(expected)
        assert "word2" in texts_of(svg)


def texts_of(svg):
    root = ElementTree.parse(str(svg)).getroot()
    assert root.tag == "{http://www.w3.org/2000/svg}svg"
    return {"".join(element.itertext()).strip() for element in root.iter(root.tag[:-3] + "text")}


class TestOtherTraces:
    def test_a_map_of_layers_shows_probabilities(self):
        """Of label attention: the probabilities of the tags."""
        answer = random_answer(4, 3)
        probabilities = answer["trace"]["attention"]
        answer["trace"].update(attention=None, provisional_probabilities=probabilities)
        _, (axes,), bar = draw(answer)
        assert numpy.array_equal(axes.images[0].get_array(), probabilities)
        assert bar.get_ylabel() == "probability"

    def test_rows_of_self_attention_are_named_by_words(self):
        answer = random_answer(3, 3)
        trace = {"attention": answer["trace"]["attention"], "gates": [0.5, 0.25, 0.75]}
        answer["trace"], answer["tokens"] = trace, ["a$b$", "_", "c" * 20]
        _, (axes,), bar = draw(answer)
        assert numpy.array_equal(axes.images[0].get_array(), trace["attention"])
        names = [label.get_text() for label in axes.get_yticklabels()]
        assert names == ["a$b$", "_", "c" * 11 + "\u2026"]
        assert bar.get_ylabel() == "attention"


class TestSaliency:
    def test_rows_are_predictions_and_words_may_have_no_tag(self):
        answer, others = random_answer(3, 2), random_answer(4, 3, labeled=False)
        others["tags"] = [None] * 4
        others["trace"] = {
            "attention": others["trace"]["attention"],
            "predictions": answer["tokens"],
        }
        figure, (_, axes), bar = draw(answer, others)
        assert numpy.array_equal(axes.images[0].get_array(), others["trace"]["attention"])
        assert [label.get_text() for label in axes.get_yticklabels()] == answer["tokens"]
        assert {color for _, color in labels_of(axes)} == {INK}
        assert bar.get_ylabel() == "attention or saliency"
        texts = [text for text, _ in legend_of(figure)]
        assert [t for t in texts if len(t) == 1] == sorted(
            {*answer["tags"], *answer["gold"]} & set("NVP")
        )
