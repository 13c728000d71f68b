import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from allennlp_nef.data.affixes import CASES, affix_namespaces, case_of


@pytest.mark.parametrize(
    "case, words",
    [
        ("lower", ["a", "word", "jean-paul", "l'", "straße", "ñandú", "e\u0301te\u0301", "d.c."]),
        ("upper", ["EU", "U.S.", "ÉTÉ", "GROSSE", "E\u0301TE\u0301", "AT&T", "ΕΕ"]),
        (
            "capitalized",
            ["A", "É", "E\u0301", "A.", "Word", "Éte\u0301", "Mc-", "\u01c5ep", "Ünder"],
        ),
        ("mixed", ["McDonald", "iPhone", "eBay", "Jean-Paul", "O'Neill", "'Tis", "aB", "ABc"]),
        ("number", ["1", "1,000.5", "-3", "10%", "1\xa0000", "١٢", "(2)", "²"]),
        ("alphanumeric", ["A4", "1st", "mp3", "2中", "x-1", "1990s"]),
        (
            "other",
            [
                "",
                ".",
                "--",
                "...",
                "\u4e2d\u6587",
                "\u0639\u0631\u0628\u064a",
                "\U00020000",
                "\U0001f600",
            ],
        ),
    ],
)
def test_case_of_a_word(case, words):
    assert {word: case_of(word) for word in words} == dict.fromkeys(words, case)


def test_there_are_seven_cases():
    assert len(CASES) == len(set(CASES)) == 7


@settings(deadline=None, derandomize=True)
@given(st.text())
def test_any_text_has_a_case(word):
    assert case_of(word) in CASES


def test_each_length_and_side_has_a_namespace():
    prefixes, suffixes = affix_namespaces("x", 3)
    assert prefixes == ["x_prefix_1", "x_prefix_2", "x_prefix_3"]
    assert suffixes == ["x_suffix_1", "x_suffix_2", "x_suffix_3"]
