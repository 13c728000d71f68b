"""What all figures share: the style, and the drawing of text as it stands."""

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

from allennlp_nef.errors import needing, printable

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

INK, SOFT, LINE = "#1c1e26", "#5a6070", "#d6d9e3"
GREEN, RED, BLUE, GRAY = "#2e8b57", "#cc3311", "#1f6fd0", "#6b7280"
DPI = 150  # of PNG files
_STYLE = {
    "font.size": 9,
    "text.color": INK,
    "text.usetex": False,
    "axes.titlesize": 10,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.labelcolor": SOFT,
    "axes.edgecolor": LINE,
    "axes.linewidth": 0.8,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "xtick.color": LINE,
    "ytick.color": LINE,
    "xtick.labelcolor": SOFT,
    "ytick.labelcolor": SOFT,
    "legend.frameon": False,
    "svg.fonttype": "none",  # letters, not their outlines
    "svg.hashsalt": "allennlp_nef",
}
# For scripts that matplotlib's own font lacks; those of them that the system has are used.
_FONTS = (
    *("Noto Sans", "Noto Sans CJK SC", "Noto Sans CJK JP", "Noto Sans Arabic", "Noto Sans Hebrew"),
    *("Noto Sans Devanagari", "Noto Emoji", "Arial Unicode MS", "Microsoft YaHei"),
)


class Sides(NamedTuple):
    """A length for each side, in inches."""

    left: float
    right: float
    above: float
    below: float


def check_installed() -> None:
    """Raises a `UserError` where matplotlib is missing."""
    with needing("plot", "plots"):
        import matplotlib  # noqa: F401


@contextmanager
def drawing() -> Iterator[None]:
    """Draw and save figures within this context: it sets their style, whatever the user's matplotlibrc says."""
    from matplotlib import style
    from matplotlib.font_manager import fontManager

    installed = {font.name for font in fontManager.ttflist}
    fonts = ["DejaVu Sans", *(name for name in _FONTS if name in installed)]
    with warnings.catch_warnings(), style.context(["default", {**_STYLE, "font.family": fonts}]):
        # A letter that no font has is a box in the PNG; the SVG has the letter itself.
        warnings.filterwarnings("ignore", r"Glyph \d+ .* missing from ", UserWarning)
        warnings.filterwarnings(
            "ignore", r"Matplotlib currently does not support \w+ natively", UserWarning
        )
        yield


def new_figure(width: float, height: float, dpi: float | None = None) -> "Figure":
    """A figure that no window shows, of a size in inches. Make it, and save it, within `drawing`."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), dpi=dpi)
    FigureCanvasAgg(figure)
    return figure


def literal(text: Any) -> Any:
    """Makes a matplotlib `Text` show `$`, `_` and `\\` as they are, and returns it."""
    text.set_parse_math(False)
    return text


def shown(word: str, max_length: int = 24) -> str:
    """A word as a figure shows it: cut to `max_length` characters, with escapes for what cannot be printed."""
    word = word if len(word) <= max_length else word[: max_length - 1] + "\u2026"
    return printable(word)


def overhang(axes: "Axes") -> Sides:
    """How far the labels and the title of axes reach beyond them, on each side."""
    figure: Any = axes.figure
    inner: Any = axes.get_window_extent()
    outer: Any = axes.get_tightbbox(figure.canvas.get_renderer())
    sides = (inner.x0 - outer.x0, outer.x1 - inner.x1, outer.y1 - inner.y1, inner.y0 - outer.y0)
    return Sides(*(side / figure.dpi for side in sides))


def place(axes: "Axes", left: float, bottom: float, width: float, height: float) -> None:
    """Moves axes to a place in their figure, in inches. The figure must have its final size."""
    figure: Any = axes.figure
    figure_width, figure_height = figure.get_size_inches()
    bounds = (left / figure_width, bottom / figure_height)
    axes.set_position((*bounds, width / figure_width, height / figure_height))
