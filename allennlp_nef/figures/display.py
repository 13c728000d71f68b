"""Figures for notebooks and browsers, and the page that replays the steps, as one file that needs no network."""

import io
import json
from collections.abc import Mapping, Sequence
from functools import partial
from html import escape
from string import Template
from typing import TYPE_CHECKING, Any, NamedTuple

from allennlp_nef.figures.heat_maps import heat_map
from allennlp_nef.figures.style import check_installed, drawing
from allennlp_nef.resources import folders

if TYPE_CHECKING:
    from matplotlib.figure import Figure


DEMO = folders()["demo"]
SCRIPTS = ("elements.js", "heat_map.js", "quality.js", "replay.js", "standalone.js")
REVIEW_SCRIPTS = ("elements.js", "quality.js", "review.js")
TITLE = "Tagging, step by step"

# The Content-Security-Policy keeps the page from the network, so it is not read from a file that may change.
_PAGE = Template(
    """<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; \
script-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'">
    <title>$title</title>
    <link rel="icon" href="data:,">
    <style>
$style
    </style>
  </head>
  <body>
    <noscript><p class="error">This page needs JavaScript.</p></noscript>
    <script type="application/json" id="page-data">$data</script>
$scripts
  </body>
</html>
"""
)


def page_of(models: Sequence[Mapping[str, Any]]) -> str:
    """
    The page that replays how models tagged sentences, in HTML.

    # Parameters

    models : `Sequence[Mapping[str, Any]]`
        For each model the `description` of its predictor, and its `sentences`: the answers of the predictor with
        `trace`, and with `gold`, the gold tags or None. All models have the same sentences.
    """
    return document_of(TITLE, {"models": models}, SCRIPTS)


def document_of(title: str, content: Mapping[str, Any], scripts: Sequence[str]) -> str:
    """A page in HTML that needs no other file: the style of the demo page, data, and scripts that show them.

    # Parameters

    content : `Mapping[str, Any]`
        A JSON object. The scripts find it in the element `page-data`.
    scripts : `Sequence[str]`
        The names of files of the demo page.
    """
    data = json.dumps(content, separators=(",", ":"))
    for letter in "<>&":  # no markup
        data = data.replace(letter, f"\\u{ord(letter):04x}")
    return _PAGE.substitute(
        title=escape(title),
        style=_inline("style.css", "</style"),
        data=data,
        scripts="\n".join(
            "    <script>\n" + _inline(name, "</script") + "\n    </script>" for name in scripts
        ),
    )


def _inline(name: str, end: str) -> str:
    """The text of a file. Raises a `ValueError` where it has the end tag of the element that it is put into."""
    text = (DEMO / name).read_text(encoding="utf-8")
    if end in text.lower() or "<!--" in text:
        raise ValueError(f"{DEMO / name}: expected text without {end} and <!--")
    return text


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
