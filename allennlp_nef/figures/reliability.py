"""A reliability plot: how often what has a probability happens. And one of risk against coverage."""

import textwrap
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy

from allennlp_nef.figures.style import BLUE, GRAY, INK, LINE, RED, SOFT, literal, new_figure, shown

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_WIDTH, _HEIGHT = 5.0, 6.4  # in inches
_TITLE = 46
"""The characters of a line of the title. Two lines have room."""
_SERIES = (("before", GRAY, "o", "--"), ("after", BLUE, "s", "-"))


def reliability_plot(
    title: str,
    series: Sequence[tuple[numpy.ndarray, float]],
    threshold: float | None,
    is_word_qe: bool,
    acceptance: Mapping[str, Any] | None = None,
) -> "Figure":
    """The plot, and beside it, if translations are accepted, the share of these that have errors.

    # Parameters

    title : `str`
    series : `Sequence[tuple[numpy.ndarray, float]]`
        Before and after calibration, the `calibration_bins` of `allennlp_nef.metrics.calibration`, and their error.
    threshold : `float`
        Of the probability of BAD, after calibration; None where there is none.
    is_word_qe : `bool`
        Whether the probabilities are those of BAD, and not of the predicted tags.
    acceptance : `Mapping[str, Any]`, optional (default = `None`)
        The numbers of `allennlp_nef.calibration.acceptance.acceptance_of`.
    """
    columns = 1 if acceptance is None else 2
    figure: Any = new_figure(columns * _WIDTH, _HEIGHT)
    left, right = 0.65 / figure.get_figwidth(), 1 - 0.25 / figure.get_figwidth()
    grid = figure.add_gridspec(
        2,
        columns,
        height_ratios=[3, 1],
        hspace=0.12,
        wspace=0.24,
        **{"left": left, "right": right, "top": 0.93, "bottom": 0.08},
    )
    upper = figure.add_subplot(grid[0, 0])
    lower = figure.add_subplot(grid[1, 0], sharex=upper)
    upper.tick_params(labelbottom=False)
    lines = textwrap.wrap(
        shown(title, 2 * _TITLE), _TITLE, break_on_hyphens=False, max_lines=2, placeholder="\u2026"
    )
    literal(upper.set_title("\n".join(lines)))
    upper.plot([0, 1], [0, 1], color=LINE, linewidth=1, zorder=1)
    for (name, color, marker, line), (bins, error) in zip(_SERIES, series):
        confidence, right, count = bins
        has_words = count > 0
        x, y = (sums[has_words] / count[has_words] for sums in (confidence, right))
        look = {"color": color, "linestyle": line, "label": f"{name}: ECE {100 * error:.2f}%"}
        upper.plot(x, y, marker=marker, markersize=4.5, clip_on=False, **look)
        edges = numpy.linspace(0, 1, len(count) + 1)
        lower.stairs(count, edges, color=color, linestyle=line, linewidth=1.4)
    if threshold is not None:
        threshold_style = {"color": RED, "linewidth": 1, "linestyle": ":"}
        for axes in (upper, lower):
            axes.axvline(threshold, **threshold_style)
        upper.plot([], [], **threshold_style, label=f"threshold {threshold:.3f}")
    upper.legend(loc="best", labelcolor=INK, frameon=True, edgecolor="none")
    upper.set(xlim=(0, 1), ylim=(0, 1))
    upper.set_ylabel("share of BAD words" if is_word_qe else "share of words with the right tag")
    what = "BAD" if is_word_qe else "the predicted tag"
    lower.set(xlabel=f"probability of {what}", ylabel="words", yscale="log")
    lower.tick_params(colors=SOFT, which="both")
    figure.align_ylabels()
    if acceptance is not None:
        _risk_coverage(figure.add_subplot(grid[:, 1]), acceptance)
    return figure


def _risk_coverage(axes: Any, acceptance: Mapping[str, Any]) -> None:
    """The risk of accepting translations, against how many are accepted, with the interval of each."""
    rows = acceptance["coverage"]
    x = [row["share"] for row in rows]
    low, high = zip(*(row["precision_interval"] for row in rows))
    literal(axes.set_title("accepted without a review"))
    axes.fill_between(
        x,
        [1 - precision for precision in high],
        [1 - precision for precision in low],
        color=BLUE,
        alpha=0.15,
        linewidth=0,
        label="other data, 95%",
    )
    axes.plot(x, [1 - row["precision"] for row in rows], color=BLUE, label="these data")
    axes.axhline(
        1 - acceptance["error_free_share"],
        color=GRAY,
        linewidth=1,
        linestyle="--",
        label="at random",
    )
    share, risk = acceptance["share"], 1 - acceptance["precision"]
    label = f"threshold {acceptance['threshold']:.3f}"
    axes.plot([share], [risk], color=RED, marker="o", linestyle="", clip_on=False, label=label)
    axes.set(xlim=(0, 1), ylim=(0, 1))
    axes.set_xlabel("coverage: share of translations that are accepted")
    axes.set_ylabel("risk: share of these that have errors")
    axes.legend(loc="best", labelcolor=INK, frameon=True, edgecolor="none")
