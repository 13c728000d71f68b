"""Plots of the tables of `SketchSummary`."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from allennlp_nef.figures.style import INK, LINE, SOFT, literal, overhang, place, shown
from allennlp_nef.predictors.tag_colors import GREEN, RED

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MAX_TAGS = 24
"""How many tags the first panel has at most; the table has all of them."""

# In inches.
_WIDTH, _MIN_HEIGHT, _TAG = 3.5, 1.9, 0.19
_MARGIN, _TITLE, _ABOVE, _BELOW, _GAP = 0.2, 0.3, 0.6, 0.6, 0.85
_DOT: dict[str, Any] = {"marker": "o", "markersize": 4.5, "clip_on": False, "zorder": 3}
_TICK: dict[str, Any] = {
    **{"linestyle": "none", "marker": "|", "markersize": 10, "markeredgewidth": 1.8},
    **{"color": INK, "clip_on": False},
}


def summary_plot(
    summaries: Sequence[Mapping[str, Any]], colors: Sequence[Mapping[str, str]]
) -> "Figure":
    """The plot: a row for each model, a panel for each table. Call it, and save the figure, within `drawing`.

    There is no third panel where there are no gold tags.

    # Parameters

    summaries : `Sequence[Mapping[str, Any]]`
        `SketchSummary.results` of each model.
    colors : `Sequence[Mapping[str, str]]`
        The colors of the tags, for each model.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    num_panels = 3 if any(summary["has_gold"] for summary in summaries) else 2
    tags = max(min(len(summary["first_step"]), MAX_TAGS) for summary in summaries)
    height = max(_MIN_HEIGHT, _TAG * tags)
    row_height = _TITLE + _ABOVE + height + _BELOW
    figure = Figure(figsize=(10, _MARGIN + row_height * len(summaries)))
    FigureCanvasAgg(figure)
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
    _share_scales(rows)

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


def _share_scales(rows: Sequence[Sequence["Axes"]]) -> None:
    """Gives a panel the same scale in all rows."""
    columns = list(zip(*rows))
    for axes in columns[0]:
        axes.set_xlim(0, max(other.get_xlim()[1] for other in columns[0]))
    for axes in columns[-1]:
        axes.set_ylim(0, max(other.get_ylim()[1] for other in columns[-1]))


def _first_step(axes: "Axes", summary: Mapping[str, Any], colors: Mapping[str, str]) -> None:
    rows = summary["first_step"][:MAX_TAGS]
    places = range(len(rows))
    bar_colors = [colors.get(row["tag"], INK) for row in rows]
    axes.barh(places, _percent(rows, "sentence_share"), color=bar_colors, height=0.7)
    axes.barh(0, 0, color=SOFT, label="sentences that look there")  # for the legend
    axes.plot(_percent(rows, "word_share"), places, **_TICK, label="all words")
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
