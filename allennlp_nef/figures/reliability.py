"""A reliability plot: how often what has a probability happens."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy

from allennlp_nef.figures.style import BLUE, GRAY, INK, LINE, RED, SOFT, literal, new_figure, shown

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_WIDTH, _HEIGHT = 5.0, 6.4  # in inches
_SERIES = (("before", GRAY, "o", "--"), ("after", BLUE, "s", "-"))


def reliability_plot(
    title: str,
    series: Sequence[tuple[numpy.ndarray, float]],
    threshold: float | None,
    is_word_qe: bool,
) -> "Figure":
    """The plot.

    # Parameters

    title : `str`
    series : `Sequence[tuple[numpy.ndarray, float]]`
        Before and after calibration, the `calibration_bins` of `allennlp_nef.metrics.calibration`, and their error.
    threshold : `float`
        Of the probability of BAD, after calibration; None where there is none.
    is_word_qe : `bool`
        Whether the probabilities are those of BAD, and not of the predicted tags.
    """
    figure: Any = new_figure(_WIDTH, _HEIGHT)
    upper, lower = figure.subplots(
        2, 1, sharex=True, gridspec_kw={"height_ratios": [3, 1], "hspace": 0.12}
    )
    literal(upper.set_title(shown(title, 70)))
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
        of_threshold = {"color": RED, "linewidth": 1, "linestyle": ":"}
        for axes in (upper, lower):
            axes.axvline(threshold, **of_threshold)
        upper.plot([], [], **of_threshold, label=f"threshold {threshold:.3f}")
    upper.legend(loc="best", labelcolor=INK, frameon=True, edgecolor="none")
    upper.set(xlim=(0, 1), ylim=(0, 1))
    upper.set_ylabel("share of BAD words" if is_word_qe else "share of words with the right tag")
    what = "BAD" if is_word_qe else "the predicted tag"
    lower.set(xlabel=f"probability of {what}", ylabel="words", yscale="log")
    lower.tick_params(colors=SOFT, which="both")
    figure.subplots_adjust(left=0.13, right=0.95, top=0.94, bottom=0.08)
    figure.align_ylabels()
    return figure
