import re

from allennlp_nef.models.tag_colours import BLUE, GREEN, RED, tag_colours

UPOS = "ADJ ADV INTJ NOUN PROPN VERB ADP AUX CCONJ DET NUM PART PRON SCONJ PUNCT SYM X".split()  # noqa: SIM905


def test_as_in_the_paper():
    assert tag_colours(["BAD", "OK"]) == {"BAD": RED, "OK": GREEN}
    colours = tag_colours(["O", "B-PER", "I-PER", "U-LOC", "L-PER"])
    assert list(colours.values()) == [GREEN, BLUE, RED, BLUE, RED]


def test_each_part_of_speech_has_its_own():
    colours = tag_colours(UPOS)
    assert list(colours) == UPOS
    assert len(set(colours.values())) == len(UPOS)


def test_other_labels():
    labels = [f"tag{i:02}" for i in range(30)]
    colours = tag_colours(labels)
    assert list(colours) == labels
    assert all(re.fullmatch("#[0-9a-f]{6}", colour) for colour in colours.values())
    assert len(set(colours.values())) == 12
    assert tag_colours(labels[::-1]) == colours


def luminance(colour):
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
    return sum(weight * part for weight, part in zip((0.2126, 0.7152, 0.0722), linear))


def test_they_can_be_told_from_white():
    """WCAG 2.1 asks for a contrast of 3 between a mark and its ground."""
    for label, colour in tag_colours([*UPOS, "OK", "BAD", "O", "B-X", "I-X"]).items():
        assert 1.05 / (luminance(colour) + 0.05) >= 3, label
