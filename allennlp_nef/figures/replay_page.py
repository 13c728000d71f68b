"""The page that replays the steps of taggers, as one file that needs no other file and no network."""

import json
from collections.abc import Mapping, Sequence
from string import Template
from typing import Any

from allennlp_nef.resources import folders

DEMO = folders()["demo"]
SCRIPTS = ("elements.js", "heat_map.js", "quality.js", "replay.js", "standalone.js")
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
    <script type="application/json" id="replay-data">$data</script>
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
    return _PAGE.substitute(
        title=TITLE,
        style=_inline("style.css", "</style"),
        data=_as_script({"models": models}),
        scripts="\n".join(
            "    <script>\n" + _inline(name, "</script") + "\n    </script>" for name in SCRIPTS
        ),
    )


def _inline(name: str, end: str) -> str:
    """The text of a file. Raises a `ValueError` where it has the end tag of the element that it is put into."""
    text = (DEMO / name).read_text(encoding="utf-8")
    if end in text.lower() or "<!--" in text:
        raise ValueError(f"{DEMO / name}: expected text without {end} and <!--")
    return text


def _as_script(data: Any) -> str:
    """JSON in ASCII without the characters of markup."""
    text = json.dumps(data, separators=(",", ":"))
    for letter in "<>&":
        text = text.replace(letter, f"\\u{ord(letter):04x}")
    return text
