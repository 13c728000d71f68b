"""Error spans of WMT23: read, written, as severities of characters, projected onto words, and made of words."""

import random

import pytest

from allennlp_nef.data.formats.characters import split_on_whitespace
from allennlp_nef.data.formats.error_spans import (
    GOLD_NAMES,
    ErrorSpan,
    PredictedSpan,
    format_error_spans,
    join_bad_words,
    project_onto_places,
    project_spans,
    read_error_spans,
    severities_of,
)
from allennlp_nef.data.formats.wmt_layouts import SystemInfo, format_header
from allennlp_nef.errors import DataFormatError

TEXTS = [
    (
        "Er geht,  nun.",
        [ErrorSpan(3, 7, "minor"), ErrorSpan(0, 5, "major"), ErrorSpan(14, 14, "major")],
    ),
    ("ja", []),
]


def text_of(system):
    return "".join(format_error_spans("en-de", system, i, *each) for i, each in enumerate(TEXTS))


@pytest.fixture
def path(tmp_path):
    def path(text):
        file = tmp_path / "f"
        file.write_text(text, encoding="utf-8")
        return str(file)

    return path


@pytest.mark.parametrize(
    "before, system",
    [
        (GOLD_NAMES, SystemInfo("gold", "en-de")),
        (format_header((1, 2, 3)), SystemInfo("a b", "en-de", None, (1, 2, 3))),
    ],
)
def test_what_is_written_is_read(path, before, system):
    text = before + text_of(system.name)
    assert text.endswith(f"{system.name}\t1\tja\t-1\t-1\tno-error\n")
    got, sentences = read_error_spans(path(text))
    assert got == system
    assert [(sentence.text, sentence.spans) for sentence in sentences] == TEXTS


def test_severities_are_those_of_each_character():
    got = severities_of(*TEXTS[0])
    expected = ["major"] * 3 + ["minor+major"] * 2 + ["minor"] * 2 + ["no-error"] * 7 + ["major"]
    assert got == expected
    assert severities_of(" ja ", [ErrorSpan(1, 4, "minor")]) == ["no-error", "minor", "no-error"]
    for span in ((3, 4), (4, 4)):  # in the blanks after the text
        assert severities_of(" ja ", [ErrorSpan(*span, "minor")]) == ["no-error"] * 2 + ["minor"]


def test_projection_agrees_with_a_table_of_characters():
    rng = random.Random(0)
    for _ in range(100):
        words = ["".join(rng.choices("ab,", k=rng.randint(1, 4))) for _ in range(rng.randint(1, 6))]
        text, owner = "", []
        for i, word in enumerate(words):
            blanks = " " * rng.randint(0, 2)
            text, owner = text + blanks + word, owner + [None] * len(blanks) + [i] * len(word)
        start = rng.randrange(len(text))
        end = rng.randint(start, len(text))
        expected = set(owner[start:end]) - {None}
        if not text[start:end].strip():
            begins = {owner.index(i): i for i in range(len(words))}
            expected = {next((begins[k] for k in range(end, len(text)) if k in begins), len(words))}
        tags = project_spans(text, [ErrorSpan(start, end, "major")], words)
        assert {i for i, tag in enumerate(tags) if tag == "BAD"} == expected


def row(starts="0", ends="1", severities="minor", sentence="0"):
    return f"en-de\tgold\t{sentence}\tabc\t{starts}\t{ends}\t{severities}\n"


SPAN = "expected a span within the 3 characters of the text, its start not after its end, got "


@pytest.mark.parametrize(
    "text, message",
    [
        (row("0", "4"), "2: " + SPAN + "0 to 4 (the option clip_spans accepts it)"),
        (row("2", "1"), "2: " + SPAN + "2 to 1 (the option clip_spans accepts it)"),
        (row("0 1", "1"), "2: expected as many starts as ends and severities, got 2, 1 and 1"),
        (row("-1", "1"), "2: expected a start and an end, integers from 0, got '-1 1'"),
        (row("0", 5000 * "9"), "2: expected a start and an end, integers from 0, got '0 99"),
        (row("-1 0", "-1 1", "no-error minor"), "2: expected a start and an end, integers from 0"),
        (row() + row(), "3: expected the sentence 1, got '0'"),
        (
            row() + row(sentence="1").replace("en-de", "x"),
            "3: expected the lp 'en-de', as in line 2, got 'x'",
        ),
        (row() + "x\n", "3: expected lp, gold, sid, mt, start_id, end_id and error, separated by"),
    ],
)
def test_bad_spans_are_an_error_with_their_line(path, text, message):
    file = path(GOLD_NAMES + text)
    with pytest.raises(DataFormatError) as error:
        read_error_spans(file)
    assert str(error.value).startswith(f"{file}:{message}")


def test_spans_can_be_clipped_with_a_warning(path, caplog):
    file = path(GOLD_NAMES + row("1 2 5", "9 1 5", "minor major minor"))
    (sentence,) = read_error_spans(file, clip_spans=True)[1]
    assert sentence.spans == [(1, 3, "minor")]
    assert [record.getMessage() for record in caplog.records] == [
        f"{file}:2: the span 1 to 9 is cut at 3.",
        f"{file}:2: the span 2 to 1 is left out.",
        f"{file}:2: the span 5 to 5 is left out.",
    ]


def test_words_have_the_more_severe_error_that_touches_them():
    spans = [ErrorSpan(1, 5, "major"), ErrorSpan(0, 9, "minor"), ErrorSpan(9, 9, "minor")]
    words = ["ab", "cde", "f"]
    assert project_spans("ab cde  f", spans, words, True) == ["major", "major", "minor", "minor"]
    assert project_spans("ab cde  f", spans, words) == ["BAD"] * 4


@pytest.mark.parametrize(
    "span, message",
    [
        (ErrorSpan(2, 4, "minor"), "spans: expected a span within the 3 characters .*, got 2 to 4"),
        (ErrorSpan(0, 1, "Major"), "spans: expected a severity, minor or major, got 'Major'"),
    ],
)
def test_spans_that_cannot_be_projected_are_errors(span, message):
    with pytest.raises(DataFormatError, match=message):
        project_spans("a b", [span], ["a", "b"])


def test_span_of_characters_of_no_word_is_an_omission():
    assert project_spans("a \x00 b", [ErrorSpan(2, 3, "minor")], ["a", "\x00", "b"])[1] == "BAD"
    offsets = [(0, 1), (4, 5)]
    assert project_onto_places("a \x00 b", [ErrorSpan(2, 3, "minor")], offsets) == [
        "OK",
        "BAD",
        "OK",
    ]


class TestJoinBadWords:
    TEXT = split_on_whitespace("Er  geht nun .")

    def spans(self, severities, offsets=None):
        split = self.TEXT if offsets is None else self.TEXT._replace(offsets=offsets)
        return join_bad_words(split, severities, [0.5, 0.7, 0.9, 0.1, 0.3])

    def test_adjacent_words_are_one_span(self):
        assert self.spans(["major", "major", None, "major"]) == [
            PredictedSpan(0, 8, "Er  geht", "major", 0.6),
            PredictedSpan(13, 14, ".", "major", 0.1),
        ]
        assert self.spans([None] * 4) == []

    def test_another_severity_begins_a_span(self):
        got = [span[:4] for span in self.spans(["minor", "major", "major", None])]
        assert got == [(0, 2, "Er", "minor"), (4, 12, "geht nun", "major")]

    def test_eos_is_an_empty_span_of_its_own(self):
        offsets = [*self.TEXT.offsets, (14, 14)]
        got = self.spans([None, None, None, "major", "major"], offsets)
        assert got == [(13, 14, ".", "major", 0.1), (14, 14, "", "major", 0.3)]
