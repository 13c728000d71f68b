"""The colors of tags, in plots and on the page."""

from collections.abc import Iterable

from allennlp_nef.data.chunks import OUTSIDE, are_chunk_tags, split_tag

GRAY = "#6b7280"
_FIXED = {
    "OK": "#2e8b57",
    "BAD": "#cc3311",
    "minor": "#b7791f",
    "major": "#cc3311",
    OUTSIDE: GRAY,
    # universal parts of speech: strong colors for open classes, similar hues for similar classes
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
# for the first word of a chunk, and for its other words
_HUES = [
    ("#174ea6", "#4a86e8"),
    ("#1b6b3a", "#3d9a63"),
    ("#a62a12", "#dd5a3c"),
    ("#5b2e91", "#9567cf"),
    ("#7a5410", "#a87a26"),
    ("#0b5c55", "#2a9187"),
    ("#8c2470", "#c65aa6"),
]
_TYPES = ["PER", "LOC", "ORG", "MISC"]  # always the first hues


def tag_colors(labels: Iterable[str]) -> dict[str, str]:
    """Returns a color, as in "#2e8b57", for each label.

    OK, BAD, severities and universal parts of speech have fixed colors. Chunk tags have the hue of their type, darker
    for the first word of a chunk. Other types and labels share the colors, in alphabetical order.
    """
    labels = list(labels)
    if are_chunk_tags(labels):
        split = {label: split_tag(label) for label in labels if label != OUTSIDE}
        types = [*_TYPES, *sorted({kind for _, kind in split.values()} - set(_TYPES))]
        hues = {kind: _HUES[i % len(_HUES)] for i, kind in enumerate(types)}
        chunks = {label: hues[kind][prefix in "IEL"] for label, (prefix, kind) in split.items()}
        return {label: chunks.get(label, GRAY) for label in labels}
    shared = [color for color in dict.fromkeys(_FIXED.values()) if color != GRAY]
    others = sorted(set(labels) - set(_FIXED))
    colors = {label: shared[i % len(shared)] for i, label in enumerate(others)}
    return {label: _FIXED.get(label) or colors[label] for label in labels}
