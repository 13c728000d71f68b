"""Summaries against a slow count of their own, and their tables and plots against their numbers."""

import json

import numpy
import pytest

from allennlp_nef.figures.sketch_summary import MAX_TAGS, NAMES, SketchSummary, summary_plot
from allennlp_nef.figures.style import drawing
from tests.cli.sketch_answers import COLORS, random_answer


def results_of(answers):
    summary = SketchSummary("NEF-F csoftmax, N = 5", "run/model.tar.gz")
    for answer in answers:
        summary.add(answer)
    return summary.results()


def name_of(step):
    return str(step) if step <= 10 else "11-20" if step <= 20 else "21-50" if step <= 50 else "51+"


def steps_of(name):
    """The first and the last step of a row."""
    low, _, high = name.replace("51+", f"51-{10**9}").partition("-")
    return int(low), int(high or low)


def mean(values):
    values = list(values)
    return sum(values) / len(values) if values else None


def expected(answers):
    """The same, a word at a time."""
    labeled = all(answer["gold"] is not None for answer in answers)
    words = []
    for answer in answers:
        trace = answer["trace"]
        first = max(
            range(len(answer["tokens"])), key=lambda i, row=trace["attention"][0]: (row[i], -i)
        )
        for i, _ in enumerate(answer["tokens"]):
            words.append(
                {
                    "tag": (answer["gold"] or answer["tags"])[i] if labeled else answer["tags"][i],
                    "gold": answer["gold"][i] if answer["gold"] else None,
                    "is_first": i == first,
                    "settled": trace["settled_at"][i],
                    "attention": [row[i] for row in trace["attention"]],
                    "tags": [row[i] for row in trace["provisional_tags"]],
                }
            )
    first_step = []
    for tag in sorted({word["tag"] for word in words}):
        own = [word for word in words if word["tag"] == tag]
        first_step.append(
            {
                "tag": tag,
                "words": len(own),
                "word_share": len(own) / len(words),
                "sentences": sum(word["is_first"] for word in own),
                "sentence_share": sum(word["is_first"] for word in own) / len(answers),
                "attention_share": sum(word["attention"][0] for word in own)
                / sum(word["attention"][0] for word in words),
            }
        )
    first_step.sort(key=lambda row: (-row["sentences"], -row["words"], row["tag"]))
    most = max(len(word["tags"]) for word in words)
    names = list(dict.fromkeys(map(name_of, range(1, most + 1))))
    settling = []
    for name in names:
        own = [word for word in words if name_of(word["settled"]) == name]
        row = {"step": name, "words": len(own), "word_share": len(own) / len(words)}
        row["accuracy"] = row["accuracy_after"] = None
        if labeled:
            last = steps_of(name)[1]
            row["accuracy"] = mean(word["tags"][-1] == word["gold"] for word in own)
            row["accuracy_after"] = mean(
                (word["tags"][:last])[-1] == word["gold"] for word in words
            )
        settling.append(row)
    return first_step, settling, wrong_words(answers, names) if labeled else None


def wrong_words(answers, names):
    rows = []
    for name in [*names[1:], "all"]:
        low, high = (2, 10**9) if name == "all" else steps_of(name)
        on_wrong, on_right, even = [], [], []
        for answer in answers:
            trace = answer["trace"]
            for step in range(2, len(trace["attention"]) + 1):
                if low <= step <= high:
                    before = trace["provisional_tags"][step - 2]
                    for weight, tag, gold in zip(
                        trace["attention"][step - 1], before, answer["gold"]
                    ):
                        (on_right if tag == gold else on_wrong).append(weight)
                    even.append(mean(tag != gold for tag, gold in zip(before, answer["gold"])))
        total = sum(on_wrong) + sum(on_right)
        rows.append(
            {
                "step": name,
                "wrong": len(on_wrong),
                "right": len(on_right),
                "attention_wrong": mean(on_wrong),
                "attention_right": mean(on_right),
                "share_on_wrong": sum(on_wrong) / total if total else None,
                "even_share": mean(even),
            }
        )
    return rows


def assert_rows(got, wanted):
    assert len(got) == len(wanted)
    for row, other in zip(got, wanted):
        assert row == pytest.approx(other, nan_ok=False)


CORPORA = {
    "five steps": [random_answer(5 + i, 5, i) for i in range(8)],
    "one word": [random_answer(1, 1)],
    "as many steps as words": [
        random_answer(n, n, n) for n in (1, 2, 5, 10, 11, 20, 21, 50, 51, 60)
    ],
    "no gold": [random_answer(4, 3, i, labeled=False) for i in range(3)],
    "gold for some": [random_answer(4, 3, i, labeled=i > 0) for i in range(3)],
}


class TestNumbers:
    @pytest.mark.parametrize("answers", CORPORA.values(), ids=CORPORA)
    def test_numbers_are_those_of_a_slow_count(self, answers):
        results = results_of(answers)
        first_step, settling, on_wrong = expected(answers)
        assert_rows(results["first_step"], first_step)
        assert_rows(results["settling"], settling)
        if on_wrong is None:
            assert results["attention_on_wrong"] is results["accuracy"] is None
            assert not results["has_gold"]
        else:
            assert_rows(results["attention_on_wrong"], on_wrong)
            assert results["has_gold"]
            assert results["accuracy"] == pytest.approx(settling[-1]["accuracy_after"])
        assert results["sentences"] == len(answers)
        assert results["words"] == sum(len(answer["tokens"]) for answer in answers)
        assert json.loads(json.dumps(results)) == results


def lines_of(axes):
    return {line.get_label(): list(line.get_ydata()) for line in axes.lines}


def values(rows, name):
    return [numpy.nan if row[name] is None else 100 * row[name] for row in rows]


class TestPlot:
    def draw(self, *summaries):
        with drawing():
            return summary_plot(summaries, [COLORS] * len(summaries))

    @pytest.mark.parametrize("name", ["as many steps as words", "no gold"])
    def test_the_plot_has_the_numbers_of_the_json(self, name):
        results = results_of(CORPORA[name])
        panels = self.draw(results).axes
        assert len(panels) == (3 if results["has_gold"] else 2)
        first, settling, *on_wrong = panels
        rows = results["first_step"]
        bars = first.patches[: len(rows)]
        assert [bar.get_width() for bar in bars] == pytest.approx(values(rows, "sentence_share"))
        (ticks,) = first.lines
        assert list(ticks.get_xdata()) == pytest.approx(values(rows, "word_share"))
        assert [label.get_text() for label in first.get_yticklabels()] == [
            row["tag"] for row in rows
        ]

        rows = results["settling"]
        bars = [bar.get_height() for bar in settling.patches]
        assert bars == pytest.approx(values(rows, "word_share"))
        steps = [label.get_text().replace("–\n", "-") for label in settling.get_xticklabels()]
        assert steps == [row["step"] for row in rows]
        assert steps == NAMES[: len(steps)]
        if results["has_gold"]:
            lines = lines_of(settling)
            assert lines["their accuracy"] == pytest.approx(values(rows, "accuracy"), nan_ok=True)
            assert lines["accuracy of all words"] == pytest.approx(values(rows, "accuracy_after"))
            rows = results["attention_on_wrong"][:-1]
            lines = lines_of(on_wrong[0])
            assert lines["attention on them"] == pytest.approx(values(rows, "share_on_wrong"))
            assert lines["if it were even"] == pytest.approx(values(rows, "even_share"))
        else:
            assert not settling.lines

    def test_each_model_has_a_row_on_the_same_scales(self):
        corpora = [CORPORA[name] for name in ("five steps", "one word", "as many steps as words")]
        figure = self.draw(*map(results_of, corpora))
        assert len(figure.axes) == 9
        for column in range(3):
            panels = figure.axes[column::3]
            limits = {panel.get_ylim() if column else panel.get_xlim() for panel in panels}
            assert len(limits) == 1
            tops = [panel.get_window_extent().y1 for panel in panels]
            assert tops == sorted(tops, reverse=True)

    def test_nothing_overlaps_or_is_cut(self):
        labels = ["NOUN", "a" * 40, "$x$", "_y", *(f"tag{i}" for i in range(30))]
        answers = [random_answer(60, 60, seed, labels=labels) for seed in range(2)]
        results = results_of(answers)
        assert len(results["first_step"]) > MAX_TAGS
        figure = self.draw(results, results)
        renderer = figure.canvas.get_renderer()
        boxes = [axes.get_tightbbox(renderer) for axes in figure.axes]
        boxes += [text.get_window_extent(renderer) for text in figure.texts]
        for i, box in enumerate(boxes):
            assert 0 <= box.x0 < box.x1 <= figure.bbox.width
            assert 0 <= box.y0 < box.y1 <= figure.bbox.height
            assert not any(box.overlaps(other) for other in boxes[:i])
        assert len(figure.axes[0].get_yticklabels()) == MAX_TAGS
