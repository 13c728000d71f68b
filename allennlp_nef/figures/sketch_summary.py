"""The summary of what the steps of a tagger attend to, over a corpus, and its plot."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy

from allennlp_nef.figures.style import (
    GREEN,
    INK,
    LINE,
    RED,
    SOFT,
    literal,
    new_figure,
    overhang,
    place,
    shown,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

ENDS = (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 20, 50)
"""The last step of each row of a summary; one more row has all later steps."""
NAMES = [*map(str, ENDS[:10]), "11-20", "21-50", "51+"]


class SketchSummary:
    """Counts over the sentences that are added for a model. `results` gives the numbers."""

    def __init__(self, title: str, archive: str) -> None:
        self._title, self._archive = title, archive
        self._sentences = self._labeled = self._max_steps = 0
        # For each kind of tag and each tag: words, sentences that look there first, attention of the first step.
        self._first: dict[str, dict[str, Any]] = {
            kind: defaultdict(lambda: numpy.zeros(3)) for kind in ("gold", "predicted")
        }
        # For each row: words that settle there, how many of them are right, words that are right after its last step.
        self._settling = numpy.zeros((len(NAMES), 3))
        # For each row: wrong words, attention on them, right words, attention on them, steps, and the sum over the
        # steps of the share of wrong words.
        self._attention = numpy.zeros((len(NAMES), 6))

    def add(self, answer: Mapping[str, Any]) -> None:
        """Counts a sentence: the answer of a predictor with `trace`, and with `gold`: the gold tags or None."""
        trace, gold = answer["trace"], answer["gold"]
        attention = numpy.array(trace["attention"])  # (steps, words)
        self._sentences += 1
        self._labeled += gold is not None
        self._max_steps = max(self._max_steps, len(attention))
        first = attention[0].argmax()
        for kind, tags in (("gold", gold), ("predicted", answer["tags"])):
            for i, tag in enumerate(tags or ()):
                self._first[kind][tag] += (1, i == first, attention[0, i])

        rows = _rows(trace["settled_at"])
        settled = [numpy.bincount(rows, minlength=len(NAMES))]
        if gold is not None:
            tags = numpy.array(trace["provisional_tags"], dtype=object)
            is_right = tags == numpy.array(gold, dtype=object)  # (steps, words)
            settled.append(numpy.bincount(rows, is_right[-1], minlength=len(NAMES)))
            # A sentence with fewer steps keeps its last tags.
            last = numpy.minimum([*ENDS, len(tags)], len(tags)) - 1
            settled.append(is_right[last].sum(1))
            self._add_attention(attention[1:], ~is_right[:-1])
        self._settling[:, : len(settled)] += numpy.stack(settled, 1)

    def _add_attention(self, attention: numpy.ndarray, is_wrong: numpy.ndarray) -> None:
        """Counts the attention of steps, and whether the tags were wrong before them; both are (steps, words)."""
        columns = (
            *(is_wrong.sum(1), (attention * is_wrong).sum(1)),
            *((~is_wrong).sum(1), (attention * ~is_wrong).sum(1)),
            *(numpy.ones(len(attention)), is_wrong.mean(1)),
        )
        # The first of these steps is the second one of the sentence.
        numpy.add.at(
            self._attention, _rows(numpy.arange(len(attention)) + 2), numpy.stack(columns, 1)
        )

    def results(self) -> dict[str, Any]:
        """
        The numbers as a JSON object. Shares and accuracies are fractions of 1, or None where they are of nothing.

        `has_gold` tells whether all sentences have gold tags. If not, there are no accuracies, and
        `attention_on_wrong` is None.

        - `first_step` has a row for each tag (the gold tag, or the predicted one where there are no gold tags), the
          most frequent first. `words` and `word_share` count the words with this tag. `sentences` and `sentence_share`
          count the sentences whose largest attention at step 1 is on such a word. `attention_share` is the share of
          such words in all attention at step 1. (Martins & Kreutzer, EMNLP 2017: 57% of English test sentences look at
          a verb.)
        - `settling` has a row for each step or range of steps. `words` and `word_share` count the words whose tag
          changed last at this step; a tag that never changes counts for step 1. `accuracy` is that of these words.
          `accuracy_after` is that of all words after this step, or after the last step of the range; a sentence with
          fewer steps keeps its last tags.
        - `attention_on_wrong` has a row for each step from the second one, and a row for all of them. `wrong` and
          `right` count the words whose tag was wrong or right after the step before. `attention_wrong` and
          `attention_right` are the mean attention that these words get at this step. `share_on_wrong` is the share of
          attention that goes to wrong words, and `even_share` what it would be if all words of a sentence got the same.
        """
        has_gold = self._labeled == self._sentences
        words, right, after = self._settling.T
        total = words.sum()
        return {
            "title": self._title,
            "archive": self._archive,
            "sentences": self._sentences,
            "words": int(total),
            "has_gold": has_gold,
            "accuracy": _ratio(after[-1], total) if has_gold else None,
            "first_step": self._first_step("gold" if has_gold else "predicted"),
            "settling": [
                {
                    "step": NAMES[row],
                    "words": int(words[row]),
                    "word_share": _ratio(words[row], total),
                    "accuracy": _ratio(right[row], words[row]) if has_gold else None,
                    "accuracy_after": _ratio(after[row], total) if has_gold else None,
                }
                for row in range(self._num_rows())
            ],
            "attention_on_wrong": self._attention_on_wrong() if has_gold else None,
        }

    def _num_rows(self) -> int:
        return int(_rows([self._max_steps])[0]) + 1

    def _first_step(self, kind: str) -> list[dict[str, Any]]:
        counts = self._first[kind]
        words, sentences, attention = sum(counts.values(), numpy.zeros(3))
        ordered = sorted(counts, key=lambda tag: (*-counts[tag][[1, 0]], tag))
        return [
            {
                "tag": tag,
                "words": int(counts[tag][0]),
                "word_share": _ratio(counts[tag][0], words),
                "sentences": int(counts[tag][1]),
                "sentence_share": _ratio(counts[tag][1], sentences),
                "attention_share": _ratio(counts[tag][2], attention),
            }
            for tag in ordered
        ]

    def _attention_on_wrong(self) -> list[dict[str, Any]]:
        used = self._attention[1 : self._num_rows()]
        rows, names = [*used, used.sum(0)], [*NAMES[1 : self._num_rows()], "all"]
        return [
            {
                "step": name,
                "wrong": int(wrong),
                "right": int(right),
                "attention_wrong": _ratio(on_wrong, wrong),
                "attention_right": _ratio(on_right, right),
                "share_on_wrong": _ratio(on_wrong, on_wrong + on_right),
                "even_share": _ratio(even, steps),
            }
            for name, (wrong, on_wrong, right, on_right, steps, even) in zip(names, rows)
        ]


def _rows(steps: Any) -> numpy.ndarray:
    """The row of each step. Steps count from 1."""
    return numpy.searchsorted(ENDS, steps)


def _ratio(part: float, whole: float) -> float | None:
    return float(part / whole) if whole else None


MAX_TAGS = 24
"""How many tags the first panel has at most; the table has all of them."""

# In inches.
_WIDTH, _MIN_HEIGHT, _TAG = 3.5, 1.9, 0.19
_MARGIN, _TITLE, _ABOVE, _BELOW, _GAP = 0.2, 0.3, 0.6, 0.6, 0.85
_DOT: dict[str, Any] = {"marker": "o", "markersize": 4.5, "clip_on": False, "zorder": 3}
_TICK: dict[str, Any] = {"marker": "|", "markersize": 10, "markeredgewidth": 1.8, "clip_on": False}


def summary_plot(
    summaries: Sequence[Mapping[str, Any]], colors: Sequence[Mapping[str, str]]
) -> "Figure":
    """The plot: a row for each model, a panel for each table.

    It takes the `SketchSummary.results` of each model, and the colors of its tags. There is no third panel where there
    are no gold tags.
    """
    num_panels = 3 if any(summary["has_gold"] for summary in summaries) else 2
    tags = max(min(len(summary["first_step"]), MAX_TAGS) for summary in summaries)
    height = max(_MIN_HEIGHT, _TAG * tags)
    row_height = _TITLE + _ABOVE + height + _BELOW
    figure = new_figure(10, _MARGIN + row_height * len(summaries))
    rows = []
    for summary, tag_colors in zip(summaries, colors):
        axes = [figure.add_axes((0, 0, 1, 1)) for _ in range(num_panels)]
        _first_step(axes[0], summary, tag_colors)
        _settling(axes[1], summary)
        if summary["has_gold"]:
            _attention_on_wrong(axes[2], summary["attention_on_wrong"])
        for panel in axes[3 if summary["has_gold"] else 2 :]:
            panel.set_visible(False)
        rows.append(axes)
    # A panel has the same scale in all rows.
    first, *_, last = zip(*rows)
    for axes in first:
        axes.set_xlim(0, max(other.get_xlim()[1] for other in first))
    for axes in last:
        axes.set_ylim(0, max(other.get_ylim()[1] for other in last))

    left = _MARGIN + max(overhang(axes[0]).left for axes in rows)
    width = left + num_panels * (_WIDTH + _GAP) - _GAP + _MARGIN
    figure.set_size_inches(width, figure.get_size_inches()[1])
    for number, (axes, summary) in enumerate(zip(rows, summaries), 1):
        bottom = row_height * (len(rows) - number) + _BELOW
        for i, panel in enumerate(axes):
            place(panel, left + i * (_WIDTH + _GAP), bottom, _WIDTH, height)
        y = (bottom + height + _ABOVE) / figure.get_size_inches()[1]
        title = figure.text(_MARGIN / width, y, summary["title"], weight="bold", size=12)
        literal(title).set_verticalalignment("bottom")
    return figure


def _first_step(axes: "Axes", summary: Mapping[str, Any], colors: Mapping[str, str]) -> None:
    rows = summary["first_step"][:MAX_TAGS]
    places = range(len(rows))
    bar_colors = [colors.get(row["tag"], INK) for row in rows]
    axes.barh(places, _percent(rows, "sentence_share"), color=bar_colors, height=0.7)
    axes.barh(0, 0, color=SOFT, label="sentences that look there")  # for the legend
    axes.plot(
        _percent(rows, "word_share"),
        places,
        **_TICK,
        color=INK,
        linestyle="none",
        label="all words",
    )
    axes.set_yticks(places, [shown(row["tag"]) for row in rows])
    for label in axes.get_yticklabels():
        literal(label)
    axes.set_ylim(max(len(rows), 5) - 0.4, -0.6)
    axes.tick_params(axis="y", length=0)
    axes.set_xlabel("%")
    kind = "gold" if summary["has_gold"] else "predicted"
    _head(axes, f"Where step 1 looks most, by {kind} tag")


def _settling(axes: "Axes", summary: Mapping[str, Any]) -> None:
    rows = summary["settling"]
    places = _steps(axes, rows)
    axes.bar(places, _percent(rows, "word_share"), color=LINE, label="words")
    if summary["has_gold"]:
        accuracy, after = _percent(rows, "accuracy"), _percent(rows, "accuracy_after")
        axes.plot(places, accuracy, **_DOT, linestyle="none", color=INK, label="their accuracy")
        axes.plot(places, after, **_DOT, color=GREEN, label="accuracy of all words")
    axes.set_ylim(0, 100)
    _head(axes, "When the tags of words settle")


def _attention_on_wrong(axes: "Axes", rows: Sequence[Mapping[str, Any]]) -> None:
    rows = rows[:-1]  # the last row is of all steps
    places = _steps(axes, rows)
    on_wrong, even = _percent(rows, "share_on_wrong"), _percent(rows, "even_share")
    axes.plot(places, on_wrong, **_DOT, color=RED, label="attention on them")
    axes.plot(places, even, **_DOT, color=SOFT, linestyle="--", label="if it were even")
    axes.set_ylim(0, 1.1 * max([1.0, *on_wrong, *even]))
    _head(axes, "Attention on words that were wrong so far")


def _steps(axes: "Axes", rows: Sequence[Mapping[str, Any]]) -> Sequence[int]:
    """Labels both axes, and returns the x coordinates of the steps."""
    labels = [row["step"].replace("-", "\u2013\n") for row in rows]
    axes.set_xticks(range(len(rows)), labels)
    axes.set_xlim(-0.6, len(rows) - 0.4)
    axes.set_xlabel("step")
    axes.set_ylabel("%")
    return range(len(rows))


def _head(axes: "Axes", title: str) -> None:
    axes.set_title(title, pad=25)
    axes.legend(
        loc="lower left",
        bbox_to_anchor=(0, 1),
        ncol=3,
        fontsize=8,
        borderaxespad=0.6,
        borderpad=0.1,
        handlelength=1.5,
        columnspacing=1.2,
    )


def _percent(rows: Sequence[Mapping[str, Any]], name: str) -> list[float]:
    return [float("nan") if row[name] is None else 100 * row[name] for row in rows]
