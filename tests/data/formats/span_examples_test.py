"""Sentences with tags from files of error spans, and error spans of tagged words."""

import pytest

from allennlp_nef.data.formats.error_spans import (
    GOLD_NAMES,
    ErrorSpan,
    project_onto_places,
    project_spans,
)
from allennlp_nef.data.formats.span_examples import (
    PredictedSpan,
    join_bad_words,
    read_span_examples,
)
from allennlp_nef.data.formats.words import SplitText, find_words, split_on_whitespace
from allennlp_nef.errors import DataFormatError

DEV = "mt_system\tdoc_id\tseg_id\tannotator_id\tsource\ttarget\tstart_ids\tend_ids\terrors\n"


def dev_row(source="so it is", target="so  ist es", spans="4 6 10\t9 7 10\tminor major major"):
    return f"A\td\t0\tx\t{source}\t{target}\t{spans}\n"


@pytest.fixture
def write(tmp_path):
    def write(name, text):
        (tmp_path / name).write_text(text, encoding="utf-8")
        return str(tmp_path / name)

    return write


def test_words_have_the_more_severe_error_that_touches_them():
    spans = [ErrorSpan(1, 5, "major"), ErrorSpan(0, 9, "minor"), ErrorSpan(9, 9, "minor")]
    words = ["ab", "cde", "f"]
    assert project_spans("ab cde  f", spans, words, True) == ["major", "major", "minor", "minor"]
    assert project_spans("ab cde  f", spans, words) == ["BAD"] * 4


@pytest.mark.parametrize(
    "span, message",
    [
        (ErrorSpan(2, 4, "minor"), "spans: expected a span within the 3 characters .*, got 2 to 4"),
        (ErrorSpan(5, 5, "minor"), "spans: expected a span within the 3 characters .*, got 5 to 5"),
        (ErrorSpan(2, 1, "minor"), "spans: expected a span within the 3 characters .*, got 2 to 1"),
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


def test_development_data_become_sentences(write):
    path = write("a.tsv", DEV + dev_row() + dev_row("yes", "ja", "-1\t-1\tno-error"))
    first, second = read_span_examples(path, severities=True)
    assert (first.source, first.target) == (["so", "it", "is"], ["so", "ist", "es"])
    assert first.tags == ["OK", "major", "minor"]
    assert (first.text, first.offsets) == ("so  ist es", [(0, 2), (4, 7), (8, 10)])
    assert first.spans == [(4, 9, "minor"), (6, 7, "major"), (10, 10, "major")]
    assert (second.tags, second.spans, second.line) == (["OK"], [], 3)
    assert next(read_span_examples(path)).tags == ["OK", "BAD", "BAD"]


def test_omission_at_the_end_is_the_tag_of_eos(write):
    path = write("a.tsv", DEV + dev_row())
    (sentence,) = read_span_examples(path, severities=True, eos=True)
    assert sentence.target == ["so", "ist", "es", "<EOS>"]
    assert sentence.tags == ["OK", "major", "minor", "major"]


def test_source_alignments_and_splits_can_be_given(write):
    gold = write("gold.tsv", GOLD_NAMES + "en-de\tgold\t0\tja!\t2\t3\tmajor\n")
    source, links = write("a.src", "yes!\n"), write("a.align", "1-1\n")

    def split(text):
        words = [text[:-1], text[-1]]
        return SplitText(text, words, find_words(text, words))

    (sentence,) = read_span_examples(gold, source, links, split, split)
    assert (sentence.source, sentence.target) == (["yes", "!"], ["ja", "!"])
    assert (sentence.tags, sentence.alignments) == (["OK", "BAD"], [(1, 1)])
    (sentence,) = read_span_examples(gold, source)
    assert (sentence.target, sentence.tags) == (["ja!"], ["BAD"])


SPAN = "expected a span within the 10 characters of the text, its start not after its end, got "


@pytest.mark.parametrize(
    "row, message",
    [
        (dev_row(spans="0\t11\tminor"), SPAN + "0 to 11"),
        (dev_row(spans="3\t2\tminor"), SPAN + "3 to 2"),
        (dev_row(spans="0\t1\tcritical"), "expected a severity, minor or major, got 'critical'"),
        (dev_row(target=" ", spans="-1\t-1\tno-error"), "expected target words, got none"),
        (dev_row(source=" "), "expected source words, got none"),
        (dev_row(source="a <EOS>"), "source: expected no <EOS> in the source, got it as word 2"),
        (dev_row(target="so <EOS> ist"), "target: expected <EOS> only after the last word, got"),
    ],
)
def test_bad_rows_are_errors_with_their_line(write, row, message):
    path = write("a.tsv", DEV + dev_row() + row)
    with pytest.raises(DataFormatError) as error:
        list(read_span_examples(path))
    assert str(error.value).startswith(f"{path}:3: {message}")


def test_byte_order_marks_within_files_are_part_of_words(write):
    path = write("a.tsv", "\ufeff" + DEV + dev_row() + "\ufeff" + dev_row(source="\ufeff yes"))
    first, second = read_span_examples(path)
    assert second.source == ["\ufeff", "yes"]
    assert second.target == first.target


def test_columns_in_another_order_are_an_error(write):
    path = write("a.tsv", DEV.replace("source\ttarget", "target\tsource") + dev_row())
    with pytest.raises(DataFormatError, match=r"a.tsv:1: expected the columns .*, got target as "):
        list(read_span_examples(path))


def test_spans_can_be_clipped(write, caplog):
    path = write("a.tsv", DEV + dev_row(spans="8\t11\tminor"))
    assert next(read_span_examples(path, clip_spans=True)).tags == ["OK", "OK", "BAD"]
    assert "the span 8 to 11 is cut at 10" in caplog.text


def test_source_is_needed_and_has_a_line_for_each_sentence(write):
    gold = write("gold.tsv", GOLD_NAMES + "en-de\tgold\t0\tja\t-1\t-1\tno-error\n")
    with pytest.raises(DataFormatError, match=r"gold.tsv:2: expected a file with source sentences"):
        list(read_span_examples(gold))
    with pytest.raises(DataFormatError, match=r"a.src: expected 1 lines, one for each .*, got 2$"):
        list(read_span_examples(gold, write("a.src", "yes\nno\n")))
    with pytest.raises(DataFormatError, match=r"b.src:1: expected source words, got none"):
        list(read_span_examples(gold, write("b.src", "\n")))


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
