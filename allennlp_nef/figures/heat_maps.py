"""Heat maps of attention, and the places of their parts."""

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy

from allennlp_nef.figures.style import (
    DPI,
    INK,
    LINE,
    Sides,
    literal,
    new_figure,
    overhang,
    place,
    shown,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# In inches.
MAX_WIDTH = 20.0  # of maps side by side; wider ones stand below each other
_MARGIN, _GAP, _BAR_WIDTH, _BAR_HEIGHT, _BAR_LABELS = 0.15, 0.35, 0.14, 1.4, 0.65


class Panel(NamedTuple):
    axes: "Axes"
    size: tuple[float, float]
    """Width and height of the map, in inches."""
    overhang: Sides
    """How far the labels of the map reach beyond it."""


def arrange(figure: "Figure", panels: Sequence[Panel], bar: "Axes", legend: Any) -> None:
    """Sets the size of the figure, and the place of each part in it."""
    renderer = figure.canvas.get_renderer()  # type: ignore[attr-defined]
    extent = legend.get_window_extent(renderer)
    legend_width, legend_height = extent.width / DPI, extent.height / DPI
    right = panels[-1].overhang.right
    # The words above the map and its title may reach over the color bar.
    widths = [p.overhang.left + p.size[0] + p.overhang.right + _GAP for p in panels]
    is_stacked = sum(widths) > MAX_WIDTH
    bar_x = _MARGIN + (max(widths) if is_stacked else sum(widths)) - right
    width = bar_x + max(_BAR_WIDTH + _BAR_LABELS + legend_width, right - _GAP) + _MARGIN
    above = max(panel.overhang.above for panel in panels)
    below = max(panel.size[1] + panel.overhang.below for panel in panels)
    row = above + below + _GAP
    rows = len(panels) if is_stacked else 1
    height = 2 * _MARGIN + rows * row - _GAP
    height = max(height, 2 * _MARGIN + above + max(_BAR_HEIGHT + 0.1, legend_height))
    figure.set_size_inches(width, height)

    top = height - _MARGIN - above
    left = max(panel.overhang.left for panel in panels)
    x = _MARGIN
    for number, panel in enumerate(panels):
        if is_stacked:
            place(panel.axes, _MARGIN + left, top - number * row - panel.size[1], *panel.size)
        else:
            x += panel.overhang.left
            place(panel.axes, x, top - panel.size[1], *panel.size)
            x += panel.size[0] + panel.overhang.right + _GAP
    place(bar, bar_x, top - _BAR_HEIGHT, _BAR_WIDTH, _BAR_HEIGHT)
    corner = (bar_x + _BAR_WIDTH + _BAR_LABELS, top)
    legend.set_bbox_to_anchor(corner, figure.dpi_scale_trans)


CELL = 0.28
MAX_SIDE = 28.0  # of a map; with more words or steps the cells are smaller, and only some of them have labels
_MIN_LABEL_DISTANCE = 0.2

SCALE = ("#ffffff", "#4338ca", "#17124f")
"""The colors of attention 0, 0.25 and 1."""
TICKS = (0, 0.05, 0.2, 0.5, 1)
"""Of the color bar."""
ALIKE = 0.05
"""Where two rows differ by less than this in every column, the title says that they are alike; as on the page."""
UNKNOWN = INK
"""The color of gold tags that the model does not know."""
_CROSS_STYLE: dict[str, Any] = {
    "linestyle": "none",
    "marker": "x",
    "markersize": 4,
    "markeredgewidth": 1.2,
}
_PAD, _PAD_WITH_CROSSES = 4, 10  # between the map and the words above it, in points


def color_scale() -> Any:
    """The `ScalarMappable` of all maps, from attention 0 to 1.

    It goes by the square root, so that small weights can be seen.
    """
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import LinearSegmentedColormap, PowerNorm

    colors = LinearSegmentedColormap.from_list("attention", SCALE)
    return ScalarMappable(PowerNorm(0.5, vmin=0, vmax=1), colors)


def heat_map(
    answers: Sequence[Mapping[str, Any]], descriptions: Sequence[Mapping[str, Any]]
) -> "Figure":
    """The heat maps of one sentence, one for each model, side by side.

    The first row is at the top. A word has the color of its predicted tag. Tags that share a color are written below
    the map. A cross below a word marks a wrong tag; it has the color of the gold tag.

    # Parameters

    answers : `Sequence[Mapping[str, Any]]`
        The answer of each model's predictor, with `trace`, and with `gold`: the gold tags or None. In a trace with
        `predictions`, the names of the rows, `attention` is saliency. Words without a tag have None in `tags`.
    descriptions : `Sequence[Mapping[str, Any]]`
        The description of each model's predictor: `title`, `colours`, `step_name`.
    """
    figure = new_figure(10, 10, DPI)
    pad = _PAD_WITH_CROSSES if any(any(_wrong(answer)) for answer in answers) else _PAD
    # All maps have the same words, but may have different numbers of rows.
    longest = max(max(numpy.shape(_weights(answer))) for answer in answers)
    cell = min(CELL, MAX_SIDE / longest)
    names = [description["step_name"] for description in descriptions]
    # The name of the rows is written once where adjacent maps have the same one.
    names = [name if name != before else "" for name, before in zip(names, ["", *names])]
    panels = [_panel(figure, *one, cell, pad) for one in zip(answers, descriptions, names)]
    bar = figure.add_axes((0, 0, 0.1, 0.1), label="attention")
    label = " or ".join(dict.fromkeys(map(_kind, answers)))
    color_bar = figure.colorbar(color_scale(), cax=bar, ticks=TICKS, label=label)
    color_bar.ax.set_yticklabels([f"{tick:g}" for tick in TICKS])
    color_bar.outline.set_edgecolor(LINE)
    legend = _legend(figure, answers, descriptions)
    arrange(figure, panels, bar, legend)
    return figure


def _panel(
    figure: "Figure",
    answer: Mapping[str, Any],
    description: Mapping[str, Any],
    row_name: str,
    cell: float,
    pad: float,
) -> Panel:
    from matplotlib.transforms import ScaledTranslation

    weights = numpy.array(_weights(answer))
    steps, words = weights.shape
    size = (words * cell, steps * cell)
    scale = color_scale()
    axes = figure.add_axes((0.1, 0.1, *(size / figure.get_size_inches())))
    axes.imshow(weights, cmap=scale.cmap, norm=scale.norm, aspect="auto", interpolation="none")
    if cell == CELL:
        axes.set_xticks(numpy.arange(1, words) - 0.5, minor=True)
        axes.set_yticks(numpy.arange(1, steps) - 0.5, minor=True)
        axes.grid(True, which="minor", color=LINE, linewidth=0.5)
    axes.tick_params(which="both", length=0)
    for spine in axes.spines.values():
        spine.set(visible=True, linewidth=0.5)

    every = int(numpy.ceil(_MIN_LABEL_DISTANCE / cell))
    rows = range(0, steps, every)
    trace, colors = answer["trace"], description["colours"]
    names = trace.get("predictions") or (
        answer["tokens"] if "gates" in trace else range(1, steps + 1)
    )
    max_length = 24 if "predictions" in trace else 12
    axes.set_yticks(rows, [shown(str(names[n]), max_length) for n in rows])
    for label in axes.get_yticklabels():
        literal(label)
    axes.set_ylabel(row_name)
    if not trace["attention"]:
        _label_cells(axes, trace["provisional_tags"], colors)
    _label_words(axes, answer, colors, every, pad)
    _label_tags(axes, answer, colors, every)
    # x in words, y in heights of the map, 4 points above it.
    above_map: Any = axes.get_xaxis_transform()
    above_map += ScaledTranslation(0, 4 / 72, figure.dpi_scale_trans)
    for index in numpy.flatnonzero(_wrong(answer)):
        color = colors.get(answer["gold"][index], UNKNOWN)
        axes.plot(index, 1, **_CROSS_STYLE, color=color, clip_on=False, transform=above_map)
    axes.set_xlim(-0.5, words - 0.5)
    above = (overhang(axes).above + 0.1) / size[1]
    title = description["title"]
    if trace["attention"] and steps > 1 and numpy.ptp(weights, axis=0).max() < ALIKE:
        title += f"\nall rows alike: they differ by less than {ALIKE:g}"
    literal(axes.set_title(title, y=1 + above, pad=0))
    return Panel(axes, size, overhang(axes))


def _label_cells(axes: "Axes", tags: Sequence[Sequence[str]], colors: Mapping[str, str]) -> None:
    """Draws a stripe at the foot of each cell, in the color of its tag."""
    from matplotlib.collections import LineCollection

    cells = [(n + 0.4, i, tag) for n, row in enumerate(tags) for i, tag in enumerate(row)]
    lines = [((i - 0.5, y), (i + 0.5, y)) for y, i, _ in cells]
    line_colors = [colors[tag] for _, _, tag in cells]
    axes.add_collection(LineCollection(lines, colors=line_colors, linewidths=3, capstyle="butt"))


def _label_words(
    axes: "Axes", answer: Mapping[str, Any], colors: Mapping[str, str], every: int, pad: float
) -> None:
    shown_at = range(0, len(answer["tokens"]), every)
    axes.xaxis.tick_top()
    axes.set_xticks(shown_at, [shown(answer["tokens"][i]) for i in shown_at])
    axes.tick_params(axis="x", which="major", pad=pad, length=0)
    for i, label in zip(shown_at, axes.get_xticklabels()):
        literal(label).set(
            color=colors.get(answer["tags"][i], INK), rotation=45, rotation_mode="anchor"
        )
        label.set(horizontalalignment="left", verticalalignment="center")


def _label_tags(
    axes: "Axes", answer: Mapping[str, Any], colors: Mapping[str, str], every: int
) -> None:
    """Writes tags that share their color below the map. The tag O is never written."""
    shared = [color for color, count in Counter(colors.values()).items() if count > 1]
    for i in range(0, len(answer["tokens"]), every):
        tag = answer["tags"][i]
        if colors.get(tag) in shared and tag != "O":
            label = axes.annotate(
                shown(tag, 12),
                (i, 0),
                (3, -4),
                xycoords=axes.get_xaxis_transform(),
                textcoords="offset points",
                color=colors[tag],
                fontsize=7,
                rotation=45,
                rotation_mode="anchor",
                horizontalalignment="right",
                verticalalignment="top",
            )
            literal(label)


def _legend(
    figure: "Figure",
    answers: Sequence[Mapping[str, Any]],
    descriptions: Sequence[Mapping[str, Any]],
) -> Any:
    """The legend: for each color the tags of the sentence that have it, and the meaning of a cross."""
    from matplotlib.lines import Line2D

    tags: dict[str, list[str]] = {}
    known = {tag: color for one in descriptions for tag, color in one["colours"].items()}
    for answer, description in zip(answers, descriptions):
        trace = answer["trace"]
        wrong = [gold for gold, is_wrong in zip(answer["gold"] or (), _wrong(answer)) if is_wrong]
        rows = [] if trace["attention"] else trace["provisional_tags"]
        for tag in sorted({*filter(None, answer["tags"]), *wrong, *chain.from_iterable(rows)}):
            color = description["colours"].get(tag) or known.get(tag, UNKNOWN)
            same_color = tags.setdefault(color, [])
            if tag not in same_color:
                same_color.append(tag)
    ordered = sorted(tags.items(), key=lambda item: item[1])
    handles = [
        Line2D([], [], color=color, linestyle="none", marker="s", markersize=6)
        for color, _ in ordered
    ]
    texts = [", ".join(map(shown, names)) for _, names in ordered]
    if any(any(_wrong(answer)) for answer in answers):
        handles.append(Line2D([], [], color=INK, **_CROSS_STYLE))
        texts.append("wrong, in the\ncolor of the gold tag")
    legend = figure.legend(
        handles,
        [" "] * len(handles),  # matplotlib would leave out what begins with "_"
        loc="upper left",
        bbox_transform=figure.dpi_scale_trans,
        borderpad=0,
        borderaxespad=0,
        handlelength=1,
        handletextpad=0.4,
    )
    for text, label in zip(legend.get_texts(), texts):
        literal(text).set_text(label)
    return legend


def _kind(answer: Mapping[str, Any]) -> str:
    """What the numbers of a map are."""
    if "predictions" in answer["trace"]:
        return "saliency"
    return "attention" if answer["trace"]["attention"] else "probability"


def _weights(answer: Mapping[str, Any]) -> Any:
    """The numbers that a map shows: rows x words."""
    trace = answer["trace"]
    return trace["attention"] or trace["provisional_probabilities"]


def _wrong(answer: Mapping[str, Any]) -> list[bool]:
    """Whether the tag of each word is known to be wrong."""
    gold = answer["gold"] or answer["tags"]
    return [tag != right for tag, right in zip(answer["tags"], gold)]
