"""The places of the parts of a figure of heat maps."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from allennlp_nef.figures.style import DPI, Sides, place

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
