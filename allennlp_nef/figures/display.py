import io
from collections.abc import Mapping
from functools import partial
from html import escape
from typing import TYPE_CHECKING, Any, NamedTuple

from allennlp_nef.figures.heat_maps import heat_map
from allennlp_nef.figures.replay_page import page_of
from allennlp_nef.figures.style import check_installed, drawing

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_HEIGHT, _ROW, _MAX_HEIGHT = 650, 30, 950  # of the page in a notebook, in pixels; it scrolls


class Display(NamedTuple):
    """A sentence and its trace, as a notebook shows them."""

    answer: Mapping[str, Any]
    """The answer of the predictor, with `trace`."""
    description: Mapping[str, Any]
    """The description of the predictor, without examples."""

    def plot(self) -> "Figure":
        """The heat map of the sentence. Raises `UserError` where matplotlib is not installed."""
        check_installed()
        with drawing():
            figure: Any = heat_map([{**self.answer, "gold": None}], [self.description])
        # A notebook shows figures that pyplot did not make by this method alone.
        figure._repr_png_ = partial(_png_of, figure)
        return figure

    def html(self) -> str:
        """The page that replays the steps, as an element of another page.

        It is a document of its own without the rights of the page around it, so that neither changes the other.
        """
        page = page_of([{"description": self.description, "sentences": [self.answer]}])
        trace = self.answer["trace"]
        rows = len(trace["attention"] or trace["provisional_tags"])
        height = min(_HEIGHT + _ROW * rows, _MAX_HEIGHT)
        return (
            f'<iframe title="Replay of the {escape(self.description["step_name"])}s" sandbox="allow-scripts" '
            f'style="width: 100%; height: {height}px; border: 0; resize: vertical" srcdoc="{escape(page)}"></iframe>'
        )


def _png_of(figure: Any) -> bytes:
    file = io.BytesIO()
    with drawing():
        figure.savefig(file, format="png")
    return file.getvalue()
