"""The style of all figures. This is the only module that imports matplotlib, which the `plot` extra installs."""

import io
import logging
import re
import unicodedata
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from allennlp_nef.errors import require_extra

with require_extra("plot", "a plot"):
    from matplotlib import style
    from matplotlib.colors import LinearSegmentedColormap, PowerNorm
    from matplotlib.figure import Figure
    from matplotlib.font_manager import fontManager

logger = logging.getLogger(__name__)

INK, SOFT, LINE = "#1c1e26", "#5a6070", "#d6d9e3"

# Attention from 0 to 1. The scale follows the square root, to make small weights visible.
ATTENTION_COLORS = LinearSegmentedColormap.from_list("attention", ["#ffffff", "#4338ca", "#17124f"])
ATTENTION_SCALE = PowerNorm(0.5, vmin=0, vmax=1)

# The first font that has a character draws it; fonts that are not installed are skipped.
_FONTS = (
    *("DejaVu Sans", "Noto Sans", "Noto Sans CJK SC", "WenQuanYi Micro Hei", "Microsoft YaHei"),
    *("Noto Sans Arabic", "Noto Sans Hebrew", "Noto Sans Devanagari", "Arial Unicode MS"),
)
_STYLE = {
    "font.size": 9,
    "text.color": INK,
    "text.parse_math": False,  # words may have a "$"
    "axes.titlesize": 10,
    "axes.titlelocation": "left",
    "axes.labelcolor": SOFT,
    "axes.edgecolor": LINE,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "xtick.color": LINE,
    "ytick.color": LINE,
    "xtick.labelcolor": SOFT,
    "ytick.labelcolor": SOFT,
    "legend.frameon": False,
    "savefig.dpi": 150,
    "savefig.bbox": "tight",
    "svg.fonttype": "none",  # text stays text
    "svg.hashsalt": "allennlp_nef",  # the same figure gives the same file
}


@contextmanager
def drawing() -> Iterator[None]:
    """Sets the style of figures, regardless of the user's matplotlibrc. Also works as a decorator."""
    installed = {font.name for font in fontManager.ttflist}
    fonts = [name for name in _FONTS if name in installed]
    styled = style.context(["default", {**_STYLE, "font.family": fonts}])
    with styled, warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield
    missing = set()
    for each in caught:
        glyph = re.match(r"Glyph (\d+) .* missing from ", str(each.message))
        if glyph is None:
            warnings.warn_explicit(each.message, each.category, each.filename, each.lineno)
        else:
            missing.add(chr(int(glyph[1])))
    if missing:
        scripts = sorted({unicodedata.name(each, "OTHER").split()[0] for each in missing})
        logger.warning(
            "No installed font has characters of %s, so boxes are drawn. Install a font, such as the package "
            "fonts-noto-cjk for Chinese, Japanese and Korean, or fonts-noto-core for other scripts.",
            ", ".join(scripts),
        )


class StyledFigure(Figure):
    """A figure that is saved in the style of `drawing` and that notebooks can display without pyplot."""

    def __init__(self, width: float, height: float) -> None:
        super().__init__(figsize=(width, height), layout="constrained")

    @drawing()
    def savefig(self, *args: Any, **kwargs: Any) -> None:
        super().savefig(*args, **kwargs)

    def _repr_png_(self) -> bytes:
        file = io.BytesIO()
        self.savefig(file, format="png")
        return file.getvalue()


def shown(text: str, max_length: int = 24) -> str:
    """Returns a word or a tag as a figure shows it: cut to a length, without characters that SVG does not allow."""
    text = text if len(text) <= max_length else text[: max_length - 1] + "\u2026"
    return re.sub("[\x00-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]", "\ufffd", text)
