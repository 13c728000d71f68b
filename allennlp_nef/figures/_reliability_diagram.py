"""Reliability diagrams: how often words with a predicted probability of BAD are BAD."""

import textwrap
from collections.abc import Sequence

import numpy

from allennlp_nef.figures._style import BLUE, GRAY, INK, LINE, RED, StyledFigure, drawing, shown

Bins = tuple[numpy.ndarray, numpy.ndarray, numpy.ndarray]
"""For each bin: the sum of the probabilities, the number of BAD words, the number of words."""
_SERIES = (("before", GRAY, "o", "--"), ("after", BLUE, "s", "-"))


@drawing()
def reliability_plot(
    title: str,
    series: Sequence[tuple[Bins, float]],
    threshold: float | None = None,
) -> StyledFigure:
    """Draws the share of BAD words against the predicted probability of BAD, and below it the number of words in each
    bin.

    # Parameters

    title : `str`
    series : `Sequence[tuple[Bins, float]]`
        Before and after calibration, the bins and the expected calibration error (ECE).
    threshold : `float`, optional (default = `None`)
        The minimum probability of words that are tagged BAD, after calibration.
    """
    figure = StyledFigure(5.0, 6.4)
    upper, lower = figure.subplots(2, 1, sharex=True, height_ratios=[3, 1])
    upper.set_title("\n".join(textwrap.wrap(shown(title, 100), 50)))
    upper.plot([0, 1], [0, 1], color=LINE, linewidth=1, zorder=1)
    for (name, color, marker, line), ((predicted, bad, words), error) in zip(_SERIES, series):
        used = words > 0
        x, y = predicted[used] / words[used], bad[used] / words[used]
        label = f"{name}: ECE {error:.2%}"
        upper.plot(
            x, y, line, color=color, marker=marker, markersize=4.5, label=label, clip_on=False
        )
        edges = numpy.linspace(0, 1, len(words) + 1)
        lower.stairs(words, edges, color=color, linestyle=line, linewidth=1.4)
    if threshold is not None:
        upper.axvline(threshold, color=RED, linestyle=":", label=f"threshold {threshold:.3f}")
        lower.axvline(threshold, color=RED, linestyle=":")
    upper.legend(labelcolor=INK, frameon=True, edgecolor="none")
    upper.set(xlim=(0, 1), ylim=(0, 1), ylabel="share of BAD words")
    lower.set(xlabel="probability of BAD", ylabel="words", yscale="log")
    lower.yaxis.set_major_formatter("{x:g}")
    lower.yaxis.set_minor_formatter("")
    return figure
