import re
from colorsys import rgb_to_hsv

from allennlp_nef.figures.tag_colors import GRAY, tag_colors

TYPES = ["PER", "LOC", "ORG", "MISC", "date", "law", "time"]
UPOS = "ADJ ADV INTJ NOUN PROPN VERB ADP AUX CCONJ DET NUM PART PRON SCONJ PUNCT SYM X".split()  # noqa: SIM905


def test_tags_of_chunks_have_the_hue_of_their_type():
    types = ["PER", "LOC", "date", "law", "time"]
    colors = tag_colors(["O", *(f"{prefix}-{name}" for name in types for prefix in "BIUL")])
    assert colors["O"] == GRAY
    pairs = [(colors[f"B-{name}"], colors[f"I-{name}"]) for name in types]
    assert len({color for pair in pairs for color in pair}) == 10
    for name, pair in zip(types, pairs):
        first, other = map(hue, pair)
        assert min(abs(first - other), 1 - abs(first - other)) < 0.03
        assert luminance(pair[0]) < luminance(pair[1])
        assert (colors[f"U-{name}"], colors[f"L-{name}"]) == pair
    assert tag_colors(["B-PER"])["B-PER"] == colors["B-PER"]


def hue(color):
    return rgb_to_hsv(*(int(color[i : i + 2], 16) / 255 for i in (1, 3, 5)))[0]


def test_other_labels_share_the_colors():
    labels = [f"tag{i:02}" for i in range(30)]
    colors = tag_colors(labels)
    assert list(colors) == labels
    assert all(re.fullmatch("#[0-9a-f]{6}", color) for color in colors.values())
    assert len(set(colors.values())) >= 12
    assert tag_colors(labels[::-1]) == colors


def luminance(color):
    parts = [int(color[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
    return sum(weight * part for weight, part in zip((0.2126, 0.7152, 0.0722), linear))


def test_contrast_to_white_is_at_least_3():
    """As WCAG 2.1 requires between a mark and its background."""
    for label, color in tag_colors(
        [*UPOS, "OK", "BAD", "O", *(f"{p}-{x}" for p in "BI" for x in TYPES)]
    ).items():
        assert 1.05 / (luminance(color) + 0.05) >= 3, label


def test_types_may_be_called_as_hues_are():
    types = ["PER", "LOC", "ORG", "MISC", "brown", "teal", "pink", "X"]
    assert len(set(tag_colors([f"B-{name}" for name in types]).values())) == 7
