"""The plot of `plot-steps`."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from allennlp_nef.commands.calibration.step_table import SCORES
from allennlp_nef.figures.style import INK, LINE, literal, shown
from allennlp_nef.predictors.tag_colors import BLUE, GREEN, RED

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_SERIES = (
    ("fixed", BLUE, "o", "-"),
    ("confident", GREEN, "s", "--"),
    ("settled", RED, "^", ":"),
    ("learned", INK, "D", "-."),
)


def steps_plot(results: Mapping[str, Any]) -> "Figure":
    """The score over the mean steps, and over the time of a sentence. Call it, and save it, within `drawing`."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure: Any = Figure(figsize=(9, 3.6))
    FigureCanvasAgg(figure)
    left, right = figure.subplots(1, 2, sharey=True)
    full = next(row for row in results["rows"] if row["halting"] is None)
    for axes, name, label in (
        (left, "mean_steps", "mean steps"),
        (right, "milliseconds", "milliseconds a sentence"),
    ):
        axes.axhline(100 * full["score"], color=LINE, linewidth=1, zorder=1)
        for kind, color, marker, line in _SERIES:
            rows = [row for row in results["rows"] if (row["halting"] or {}).get("type") == kind]
            rows.sort(key=lambda row: row[name])
            axes.plot(
                [row[name] for row in rows],
                [100 * row["score"] for row in rows],
                **{"color": color, "marker": marker, "linestyle": line, "markersize": 4.5},
                label=kind,
            )
        point = {"marker": "*", "markersize": 10, "linestyle": "none", "label": "all steps"}
        axes.plot([full[name]], [100 * full["score"]], color=INK, **point)
        axes.set_xlabel(label)
        axes.set_xlim(left=0)
    left.set_ylabel(f"{SCORES[results['score']]} %")
    left.legend(loc="lower right", labelcolor=INK)
    literal(left.set_title(shown(results["title"], 60)))
    figure.subplots_adjust(left=0.08, right=0.98, top=0.9, bottom=0.14, wspace=0.08)
    return figure
