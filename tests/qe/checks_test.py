"""The checks of translations: what they find, and what they must not find."""

import pytest

from allennlp_nef.qe.checks import CHECKS, check

# The kind, the source, the target, and what is marked in the target.
FOUND = [
    ("number", "It costs 1,000 euros.", "Es kostet 1.500 Euro.", "1.500"),
    ("number", "The 2019 report", "Der Bericht von 2018", "2018"),
    ("number", "It weighs 1.5 kg.", "Es wiegt 15 kg.", "15"),
    ("number", "१२३ किताबें", "124 books", "124"),
    ("number", "超1000万千瓦", "more than 20 million kilowatts", "20"),
    ("number", "Call 4711 now", "Rufen Sie jetzt an", ""),
    ("number", "F-35, 12 planes", "F-35, 21 Flugzeuge", "21"),
    ("number", "In 2012", "Im Jahr " + 40 * "1", 40 * "1"),
    ("untranslated", "The house is red.", "The house is red.", "The house is red."),
    ("untranslated", "这座房子是红色的。", "这座房子是红色的。", "这座房子是红色的。"),
    ("untranslated", "घर लाल रंग का है", "घर लाल रंग का है", "घर लाल रंग का है"),
    (
        "untranslated",
        "He said that we leave it as it is today.",
        "Er sagte, dass we leave it as it is heute.",
        "we leave it as it is",
    ),
    ("untranslated", "罗斯贝数越小", "The smaller the Rossby 数", "数"),
    ("repetition", "the house", "das Haus Haus", "Haus"),
    ("repetition", "We saw the dog.", "Wir sahen den Hund den Hund.", "den Hund"),
    ("repetition", "no", "nein nein nein nein", "nein nein nein"),
    ("repetition", "our house", "我们的我们的房子", "我们的"),
    ("length", "It is late.", "", ""),
    ("length", "It is late.", " ", ""),
    ("length", "He went to the shop and bought a lot of bread.", "Er.", ""),
    ("length", "Yes", "Ja, " * 20, None),
    ("placeholder", "Hello {name}", "Hallo {nom}", "{nom}"),
    ("placeholder", "%1$s of %2$s", "%1$s von %1$s", "%1$s"),
    ("placeholder", "<b>Save</b>", "<b>Sichern", ""),
    ("placeholder", "A &amp; B", "A & B", ""),
    ("blanks", "the house", "das  Haus", "  "),
    ("brackets", "a house (red)", "ein Haus (rot", "("),
    ("brackets", "a house (red)", "ein Haus rot）", "）"),
]
RIGHT = [
    # numbers
    ("It costs 1,000.50 euros.", "Es kostet 1.000,50 Euro."),
    ("1,000 or 1000", "1.000 oder 1 000"),
    ("1 000 000 people", "1.000.000 Menschen"),
    ("1,00,000 rupees", "100.000 Rupien"),
    ("१९९५ में ४२ लोग", "42 people in 1995"),
    ("١٢٣ كتاب", "123 books"),
    ("１２３冊", "123 books"),
    ("確診達417.6万例，１万１０００店舗", "4.176 million cases, 11,000 shops"),
    ("50 लाख", "5 million"),
    ("May 3, 2020", "3.5.2020"),
    ("24.07.2020", "July 24, 2020"),
    ("2020-07-24", "7/24/2020"),
    ("2020年7月24日15时50分", "15:50 on July 24, 2020"),
    ("at 5:30 p.m.", "um 17.30 Uhr"),
    ("15.50 Uhr", "15:50"),
    ("5 dogs and 1,000 cats", "fünf Hunde und tausend Katzen"),
    ("twenty-one dogs", "21 Hunde"),
    ("the 1990s", "die 90er"),
    ("Open %1$s", "%1$s öffnen"),
    ("version 2.10.1 of Python 3", "Version 2.10.1 von Python 3"),
    # copies
    ("Visual Studio Code", "Visual Studio Code"),
    ("OK", "OK"),
    ("Dr. Jane Smith, New York", "Dr. Jane Smith, New York"),
    ("for (int i = 0; i < n; i++)", "for (int i = 0; i < n; i++)"),
    ("https://example.org/the/red/house", "https://example.org/the/red/house"),
    ("info@example.org", "info@example.org"),
    ("Run `git push origin main now`.", "Führen Sie `git push origin main now` aus."),
    ("Play Ori and the Will of the Wisps", "Spiele Ori and the Will of the Wisps"),
    ("鈴木さん", "Mr. Suzuki (鈴木)"),
    ("the α-helix", "die α-Helix"),
    # repetitions
    ("very very good", "sehr sehr gut"),
    ("the man who helps her", "der Mann, der der Frau hilft"),
    ("I know that that is", "je sais que c'est"),
    ("5 5 5", "5 5 5"),
    ("C.C.D.", "C . C . D ."),
    ("mum", "妈妈"),
    ("bit by bit", "そろそろ"),
    ("Yes, yes.", "Ja, ja."),
    # length
    ("Hi", "Guten Tag"),
    ("汉密尔顿", "Hamilton"),
    ("a", ""),
    # placeholders and tags
    ('<a title="house">x</a>', '<a title="Haus">x</a>'),
    ("5 % of a < b and c > d", "5 % der a < b und c > d"),
    ("{0} of {1}", "{1}: {0}"),
    # blanks and brackets
    ("George Washington", "乔治   ·   华盛顿"),
    ("a  b", "a  b"),
    ("1) house :-)", "1. Haus"),
    ("a) house", "a) Haus"),
    ("house (red)", "房子（红）"),
    ("unpaired ) here", "hier ) offen"),
]


def marked(target, finding):
    return target[finding.start : finding.end]


@pytest.mark.parametrize(("kind", "source", "target", "expected"), FOUND)
def test_mistakes_are_found_at_their_place(kind, source, target, expected):
    findings = [finding for finding in check(source, target) if finding.kind == kind]
    assert findings and all(finding.message for finding in findings)
    if expected is not None:
        assert expected in [marked(target, finding) for finding in findings]


@pytest.mark.parametrize(("source", "target"), RIGHT)
def test_what_is_right_is_not_marked(source, target):
    assert [f for f in check(source, target) if f.kind != "length" or target] == []


def test_each_kind_has_cases_and_findings_are_sorted():
    assert {kind for kind, *_ in FOUND} == {*CHECKS}
    findings = check("see {a} 1999", "sieh  {b} 1998 1998 (")
    assert [finding.kind for finding in findings][:2] == ["blanks", "placeholder"]
    assert [f.start for f in findings] == sorted(f.start for f in findings)


@pytest.mark.parametrize(
    "text",
    [
        "9" * 5000,
        "1,000," * 500,
        "<a " * 2000,
        "{" * 5000,
        "a " * 900,
        "x" * 100_000,
        "\n" * 100_000,
    ],
)
def test_long_texts_are_checked(text):
    check(text, text)
    check(text, f"x {text}")
