"""The colors of tags, in plots and on the page."""

from collections.abc import Iterable

from allennlp_nef.data.formats.chunks import split_tag
from allennlp_nef.figures.style import GRAY, GREEN, RED

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
# Of each hue, the color of the first word of a chunk and that of its other words.
_HUES = {
    "PER": ("#174ea6", "#4a86e8"),
    "LOC": ("#1b6b3a", "#3d9a63"),
    "ORG": ("#a62a12", "#dd5a3c"),
    "MISC": ("#5b2e91", "#9567cf"),
    # No type has a blank in its name.
    " brown": ("#7a5410", "#a87a26"),
    " teal": ("#0b5c55", "#2a9187"),
    " pink": ("#8c2470", "#c65aa6"),
}
_OTHERS = ("NOUN", "VERB", "ADJ", "ADP", "ADV", "PRON", "AUX", "PROPN", "CCONJ", "NUM", "PART", "X")


def tag_colors(labels: Iterable[str]) -> dict[str, str]:
    """A color, as in "#2e8b57", for each of the labels, in their order.

    OK is green, BAD and major are red, minor is brown. Chunk tags (BIO, BIOUL) have the hue of their type, such as blue
    for PER; the first word of a chunk is darker than the others. O is gray. Types other than PER, LOC, ORG and MISC
    share the hues that are left, in alphabetical order. Universal parts of speech have a color each. Other labels share
    twelve colors, in alphabetical order.
    """
    labels = list(labels)
    colors = {}
    chunk_tags = {label: split_tag(label) for label in labels if _is_chunk_tag(label)}
    types = {name for _, name in chunk_tags.values() if name}
    free = [hue for name, hue in _HUES.items() if name not in types]
    others_by_name = enumerate(sorted(types - _HUES.keys()))
    hues = {**_HUES, **{name: free[i % len(free)] for i, name in others_by_name}}
    for label in labels:
        if label in _FIXED:
            colors[label] = _FIXED[label]
        elif label in chunk_tags:
            prefix, name = chunk_tags[label]
            colors[label] = GRAY if prefix == "O" else hues[name][prefix in "IEL"]
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
