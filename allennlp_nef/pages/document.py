"""Single-file HTML pages that replay sentences, and frames for notebooks."""

import json
from collections.abc import Mapping, Sequence
from html import escape
from string import Template
from typing import Any

from allennlp_nef.resources import folders

# The policy lets the page run its own scripts, and nothing else: it cannot reach the network.
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
    <script>
$scripts
    </script>
  </body>
</html>
"""
)
_HEIGHT, _ROW_HEIGHT, _MAX_HEIGHT = 650, 30, 950  # of a replay in a notebook, in pixels


def page_of(description: Mapping[str, Any], sentences: Sequence[Mapping[str, Any]]) -> str:
    """Builds an HTML page that replays how a model tagged sentences.

    # Parameters

    description : `Mapping[str, Any]`
        The description of the predictor.
    sentences : `Sequence[Mapping[str, Any]]`
        Its answers with `trace`. An answer may have `gold`, the gold tags or None.
    """
    scripts = ("elements.js", "heat_map.js", "quality.js", "replay.js", "replay_page.js")
    content = {"description": description, "sentences": sentences}
    return document_of("Tagging, step by step", content, scripts)


def document_of(title: str, content: Mapping[str, Any], scripts: Sequence[str]) -> str:
    """Builds a self-contained HTML page from the style sheet, some scripts, and a JSON object.

    The scripts, files in `pages/`, find the object in the element `page-data`.
    """
    pages = folders()["pages"]
    data = json.dumps(content, separators=(",", ":"))
    for character in "<>&":  # text that looks like markup stays text
        data = data.replace(character, f"\\u{ord(character):04x}")
    return _PAGE.substitute(
        title=escape(title),
        style=(pages / "style.css").read_text(encoding="utf-8"),
        data=data,
        scripts="\n".join((pages / name).read_text(encoding="utf-8") for name in scripts),
    )


def frame_of(answer: Mapping[str, Any], description: Mapping[str, Any]) -> str:
    """Returns the HTML element that replays a sentence in a notebook, in a separate frame so that styles do not mix.

    `answer` is the answer of a predictor with its `trace`, and `description` describes that predictor.
    """
    page = page_of(description, [answer])
    height = min(_HEIGHT + _ROW_HEIGHT * len(answer["trace"]["attention"]), _MAX_HEIGHT)
    return (
        f'<iframe title="Replay" sandbox="allow-scripts" style="width: 100%; height: {height}px; border: 0; '
        f'resize: vertical" srcdoc="{escape(page)}"></iframe>'
    )
