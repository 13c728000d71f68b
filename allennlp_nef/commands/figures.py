"""What all figures share: text that stays text, a look of their own, files that come out the same each time."""

import unicodedata
import warnings
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Iterator, List, NamedTuple, Sequence

from allennlp_nef.commands.output_files import writing

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

INK, SOFT, LINE = "#1c1e26", "#5a6070", "#d6d9e3"
DPI = 150  # of PNG files
FORMATS = ("png", "svg")
_LOOK = {
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
# Scripts that matplotlib's own font lacks, where the system has a font for them.
_FONTS = (
    *("Noto Sans", "Noto Sans CJK SC", "Noto Sans CJK JP", "Noto Sans Arabic", "Noto Sans Hebrew"),
    *("Noto Sans Devanagari", "Noto Emoji", "Arial Unicode MS", "Microsoft YaHei"),
)
# What is not in XML, nor in UTF-8.
_CONTROL = ("Cc", "Cs")
_NO_CHARACTERS = "\ufffe\uffff"


class Sides(NamedTuple):
    """Lengths in inches."""

    left: float
    right: float
    above: float
    below: float


@contextmanager
def drawing() -> Iterator[None]:
    """Figures are made and saved within it: in our look, whatever the user's matplotlibrc says."""
    from matplotlib import style
    from matplotlib.font_manager import fontManager

    installed = {font.name for font in fontManager.ttflist}
    fonts = ["DejaVu Sans", *(name for name in _FONTS if name in installed)]
    with warnings.catch_warnings(), style.context(["default", {**_LOOK, "font.family": fonts}]):
        # The PNG shows a box for such a letter; the SVG has the letter.
        warnings.filterwarnings("ignore", r"Glyph \d+ .* missing from ", UserWarning)
        warnings.filterwarnings(
            "ignore", r"Matplotlib currently does not support \w+ natively", UserWarning
        )
        yield


def literal(text: Any) -> Any:
    """A matplotlib `Text` that shows `$`, `_` and `\\` as they are."""
    text.set_parse_math(False)
    return text


def shown(word: str, most: int = 24) -> str:
    """A word as it stands in a figure: cut to `most` characters, what cannot be printed as escapes."""
    word = word if len(word) <= most else word[: most - 1] + "\u2026"
    return printable(word)


def printable(text: str) -> str:
    """A text on one line; what cannot be printed as escapes."""
    return "".join(map(_printable, text))


def overhang(axes: "Axes") -> Sides:
    """How far labels and titles reach beyond axes."""
    figure: Any = axes.figure
    inner: Any = axes.get_window_extent()
    outer: Any = axes.get_tightbbox(figure.canvas.get_renderer())
    sides = (inner.x0 - outer.x0, outer.x1 - inner.x1, outer.y1 - inner.y1, inner.y0 - outer.y0)
    return Sides(*(side / figure.dpi for side in sides))


def place(axes: "Axes", left: float, bottom: float, width: float, height: float) -> None:
    """Puts axes somewhere in their figure, which has its size; in inches."""
    figure: Any = axes.figure
    across, up = figure.get_size_inches()
    axes.set_position((left / across, bottom / up, width / across, height / up))


def save(figure: "Figure", stem: Path, formats: Sequence[str]) -> List[Path]:
    """Writes a figure to `stem` with each format as its ending: "png", "svg"."""
    paths = [stem.with_name(f"{stem.name}.{ending}") for ending in formats]
    for path, ending in zip(paths, formats):
        # Without the date.
        metadata = {"Date": None} if ending == "svg" else None
        with writing(path) as draft:
            figure.savefig(str(draft), format=ending, dpi=DPI, metadata=metadata)
    return paths


def _printable(letter: str) -> str:
    if unicodedata.category(letter) in _CONTROL or letter in _NO_CHARACTERS:
        return letter.encode("unicode_escape").decode("ascii")
    return letter
