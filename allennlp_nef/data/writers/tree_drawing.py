"""Drawings of dependency trees, by spaCy's displaCy."""

from html import escape
from typing import TYPE_CHECKING

from allennlp_nef.data.writers.prediction import Prediction
from allennlp_nef.errors import needing

if TYPE_CHECKING:
    from allennlp_nef.data.dataset_readers import ConlluTreesReader


def write_svg(reader: "ConlluTreesReader", prediction: Prediction) -> str:
    """A drawing of the tree as an SVG element on one line. The root is the word without an arc to it."""
    with needing("trees", "svg"):
        from spacy.displacy import DependencyRenderer

    # displaCy escapes the words, and not the rest.
    tags = map(escape, prediction.tags)
    words = [{"text": word, "tag": tag} for word, tag in zip(prediction.tokens, tags)]
    arcs = []
    answer = prediction.answer
    for word, (head, label) in enumerate(zip(answer["heads"], answer["labels"])):
        if head:
            start, end = sorted((word, head - 1))
            side = "left" if word == start else "right"
            arcs.append({"start": start, "end": end, "label": escape(label), "dir": side})
    renderer = DependencyRenderer({"compact": True, "distance": 110})
    drawing = renderer.render_svg(f"tree-{prediction.number}", words, arcs)
    return " ".join(drawing.split()) + "\n"
