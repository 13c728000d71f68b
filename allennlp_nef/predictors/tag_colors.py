"""The colors of tags, in plots and on the page."""

from typing import Dict, Iterable

from allennlp_nef.data.formats.chunks import split_tag

GREEN, RED, BLUE, GRAY = "#2e8b57", "#cc3311", "#1f6fd0", "#6b7280"

_FIXED = {
    "OK": GREEN,
    "BAD": RED,
    "minor": "#b7791f",
    "major": RED,
    # Universal parts of speech: strong colors for open classes, similar hues for similar ones.
    "NOUN": "#1f6fd0",
    "PROPN": "#0b3d91",
    "PRON": "#2b8fb5",
    "VERB": "#cc3311",
    "AUX": "#d2603f",
    "ADJ": "#2e8b57",
    "DET": "#6a8700",
    "NUM": "#0f766e",
    "ADV": "#b7791f",
    "ADP": "#7b4bb7",
    "SCONJ": "#b03a8c",
    "CCONJ": "#d0609f",
    "PART": "#8d6e63",
    "INTJ": "#a16207",
    "PUNCT": GRAY,
    "SYM": "#7d8aa0",
    "X": "#475569",
}
# The first word of a chunk, its other words, and words outside: as in Figure 3 of Martins & Kreutzer (2017).
_CHUNKS = {"B": BLUE, "U": BLUE, "S": BLUE, "I": RED, "E": RED, "L": RED, "O": GREEN}
_OTHERS = ("NOUN", "VERB", "ADJ", "ADP", "ADV", "PRON", "AUX", "PROPN", "CCONJ", "NUM", "PART", "X")


def tag_colors(labels: Iterable[str]) -> Dict[str, str]:
    """A color, as in "#2e8b57", for each of the labels, in their order.

    OK is green, BAD and major are red, minor is brown. Of chunk tags (BIO, BIOUL), the first word of a chunk is blue,
    the others are red, O is green. Universal parts of speech have a color each. Other labels share twelve colors, in
    alphabetical order.
    """
    labels = list(labels)
    colors = {}
    for label in labels:
        if label in _FIXED:
            colors[label] = _FIXED[label]
        elif _is_chunk_tag(label):
            colors[label] = _CHUNKS[label[0]]
    others = sorted(set(labels) - set(colors))
    for i, label in enumerate(others):
        colors[label] = _FIXED[_OTHERS[i % len(_OTHERS)]]
    return {label: colors[label] for label in labels}


def _is_chunk_tag(label: str) -> bool:
    try:
        split_tag(label)
    except ValueError:
        return False
    return True
