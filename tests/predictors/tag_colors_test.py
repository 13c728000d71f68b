import re

from allennlp_nef.predictors.tag_colors import BLUE, GREEN, RED, tag_colors

UPOS = "ADJ ADV INTJ NOUN PROPN VERB ADP AUX CCONJ DET NUM PART PRON SCONJ PUNCT SYM X".split()  # noqa: SIM905


def test_tags_of_the_paper_have_its_colors():
    assert tag_colors(["BAD", "OK"]) == {"BAD": RED, "OK": GREEN}
    colors = tag_colors(["O", "B-PER", "I-PER", "U-LOC", "L-PER"])
    assert list(colors.values()) == [GREEN, BLUE, RED, BLUE, RED]


def test_each_part_of_speech_has_a_color_of_its_own():
    colors = tag_colors(UPOS)
    assert list(colors) == UPOS
    assert len(set(colors.values())) == len(UPOS)


def test_other_labels_share_twelve_colors():
    labels = [f"tag{i:02}" for i in range(30)]
    colors = tag_colors(labels)
    assert list(colors) == labels
    assert all(re.fullmatch("#[0-9a-f]{6}", color) for color in colors.values())
    assert len(set(colors.values())) == 12
    assert tag_colors(labels[::-1]) == colors


def luminance(color):
    parts = [int(color[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
    return sum(weight * part for weight, part in zip((0.2126, 0.7152, 0.0722), linear))


def test_contrast_to_white_is_at_least_3():
    """As WCAG 2.1 requires between a mark and its background."""
    for label, color in tag_colors([*UPOS, "OK", "BAD", "O", "B-X", "I-X"]).items():
        assert 1.05 / (luminance(color) + 0.05) >= 3, label
