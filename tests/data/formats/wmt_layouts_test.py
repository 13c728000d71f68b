"""The layouts of WMT16 to 23: lines of tags, and columns, read, written, recognized, and refused."""

from typing import Any

import pytest

from allennlp_nef.data.formats.tag_files import SystemInfo
from allennlp_nef.data.formats.wmt_layouts import (
    EOS,
    format_header,
    format_submission,
    read_words,
    split_tags,
    tagged_side,
)
from allennlp_nef.errors import DataFormatError

GOLD_NAMES = "lp\tgold\tsid\tmt\tmttok\ttags\n"
WORDS = [["das", "Haus\u00a0a", "<EOS>"], ["x"]]
TAGS = [["OK", "BAD", "OK"], ["BAD"]]
ROW = "en-de\ts\tmt\t0\t0\tw\tOK\n"


@pytest.fixture
def path(tmp_path):
    def path(text, name="f"):
        file = tmp_path / name
        file.write_bytes(text.encode("utf-8"))
        return str(file)

    return path


def rows(words, tags, **options):
    pairs = enumerate(zip(words, tags))
    return "".join(format_submission("a b", i, *pair, **options) + "\n" for i, pair in pairs)


@pytest.mark.parametrize(
    "text, target, eos, tags, gaps",
    [
        ("OK BAD", "A B", False, "OK BAD", None),
        ("OK OK BAD BAD OK", "A B", False, "OK BAD", "OK BAD OK"),
        ("OK OK BAD", "A B <EOS>", False, "OK OK BAD", None),
        ("OK OK BAD", "A B <EOS>", True, "OK OK BAD", None),
        ("OK OK BAD", "A B", True, "OK OK BAD", None),
        ("OK BAD OK OK OK", "A B", True, "BAD OK OK", "OK OK OK"),
        ("BAD OK OK OK OK", "A B <EOS>", True, "BAD OK OK", "BAD OK OK"),
        ("OK OK OK OK BAD", "A B", True, "OK OK BAD", "OK OK BAD"),
        ("OK BAD", "A", True, "OK BAD", None),
        ("OK OK BAD", "A", True, "OK BAD", "OK BAD"),
    ],
)
def test_the_number_of_tags_tells_the_layout(
    text: str, target: str, eos: bool, tags: str, gaps: Any
) -> None:
    words = split_tags(text, target.split(), "x:1", eos)
    assert words[:2] == (tags.split(), gaps and gaps.split())


@pytest.mark.parametrize(
    "number, target, eos, message",
    [
        (3, "A B", False, "expected 2 tags (one a target word), 5 (with gaps) or, where eos is true, 3 (with <EOS>)"),
        (2, "A B", True, "expected 3 tags (one a target word and one for <EOS>) or 5 (with gaps), as eos is true"),
        (7, "A B <EOS>", True, "expected 3 tags (one a target word and one for <EOS>) or 5 (with gaps), as eos is"),
        *(
            (number, "A B <EOS>", False, "expected 3 tags (one a target word and one for <EOS>, in which the tran")
            for number in (2, 5, 7)
        ),
    ],
)  # fmt: skip
def test_other_numbers_of_tags_are_an_error(
    number: int, target: str, eos: bool, message: str
) -> None:
    with pytest.raises(DataFormatError) as info:
        split_tags(" ".join(["OK"] * number), target.split(), "x:1", eos)
    assert str(info.value).startswith(f"x:1: {message}")
    assert str(info.value).endswith(f", got {number}")


def test_tokens_of_what_is_tagged() -> None:
    source, target, links = ["a", "b", "c"], ["A", "B"], [(0, 1), (2, 0)]
    assert tagged_side("target", source, target, links) == (target, source, links)
    assert tagged_side("source", source, target, links) == (source, target, [(1, 0), (0, 2)])
    assert tagged_side("gaps", source, target, links) == (["A", "B", EOS], source, links)
    tokens, others, linked = tagged_side("target_and_gaps", source, target, links)
    assert (tokens, others) == (["<gap>", "A", "<gap>", "B", "<gap>"], source)
    assert set(linked) == {(0, 2), (0, 3), (0, 4), (2, 0), (2, 1), (2, 2)}


@pytest.mark.parametrize(
    "method, words, tags, message",
    [
        ("a\tb", ["A"], ["OK"], "method: expected text without tabs and line ends, got 'a\\\\tb'"),
        ("a\n", ["A"], ["OK"], "method: expected"),
        ("", ["A"], ["OK"], "method: expected"),
        ("m", ["A\r"], ["OK"], "word: expected"),
        ("m", ["A", "B"], ["OK"], "got 2 words and 1 tags"),
        ("m", [], [], "got 0 words and 0 tags"),
        ("m", ["A"], ["ok"], "expected OK or BAD, got 'ok'"),
    ],
)
def test_submission_refuses_bad_words_and_tags(
    method: str, words: list[str], tags: list[str], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        format_submission(method, 0, words, tags)


@pytest.mark.parametrize("kind", ["mt", "gap", "source"])
@pytest.mark.parametrize("header", [(), (10**10, 2), (10**10, 2, 3)])
def test_what_is_written_in_seven_columns_is_read(path, kind, header):
    text = (format_header(header) if header else "") + rows(
        WORDS, TAGS, language_pair="en-de", kind=kind
    )
    assert text.splitlines()[len(header)] == f"en-de\ta b\t{kind}\t0\t0\tdas\tOK"
    system, sentences = read_words(path(text.replace(f"\t{kind}\t", f"\t{kind.upper()}\t")))
    assert system == SystemInfo("a b", "en-de", kind, header)
    assert [sentence.words for sentence in sentences] == WORDS
    assert [sentence.tags for sentence in sentences] == TAGS
    first = len(header) + 1
    assert [s.lines for s in sentences] == [[first, first + 1, first + 2], [first + 3]]


KNOWN = "expected a layout that is known (WMT16 to 19: 5 columns; WMT20 to 22 gold: 7 columns; "


@pytest.mark.parametrize(
    "text, message",
    [
        ("a\tb\n", "1: " + KNOWN),
        ("1\n" + ROW, "2: " + KNOWN),
        ("1\n2\n3\n4\n" + ROW, "WMT22 and 23 submission: 7 columns, after 3 header lines; "),
        ("x\ty\tz\ta\tb\tc\n", "got 6 columns after 0 header lines"),
        ("1\n2.2 GB\n" + ROW, "2: expected parameters, an integer, got '2.2 GB'"),
        (ROW + "en-de\ts\n", "2: expected language pair, system, kind, sentence, word index, word"),
        (
            ROW + "de-en\ts\tmt\t0\t1\tw\tOK\n",
            "2: expected the language pair 'en-de', as in line 1, got 'de-en'",
        ),
        (ROW + "en-de\tt\tmt\t0\t1\tw\tOK\n", "2: expected the system 's', as in line 1, got 't'"),
        (
            ROW + "en-de\ts\tgap\t1\t0\tw\tOK\n",
            "2: expected the kind 'mt', as in line 1, got 'gap'",
        ),
        (ROW.replace("mt", "tgt"), "1: expected the kind mt, gap, source, got 'tgt'"),
        (
            ROW + "en-de\ts\tmt\t2\t0\tw\tOK\n",
            "2: expected the sentence and word 0 1 or 1 0, got '2 0'",
        ),
        (ROW.replace("OK", "ok"), "1: expected OK or BAD, got 'ok' as tag 1"),
        (GOLD_NAMES, "1: expected at least one row, got none"),
        (GOLD_NAMES + "a\tg\t1\tx\tx\tOK\n", "2: expected the sentence 0, got '1'"),
        (GOLD_NAMES + "a\tg\t0\tx\tx y\tOK\n", "2: expected 2 tags, one a word, got 1"),
        (
            GOLD_NAMES + "a\tg\t0\tx\tx\tOK\nb\tg\t1\tx\tx\tOK\n",
            "3: expected the lp 'a', as in line 2, got 'b'",
        ),
    ],
)
def test_other_files_are_an_error_with_its_line(path, text, message):
    file = path(text)
    with pytest.raises(DataFormatError) as error:
        read_words(file)
    assert str(error.value).startswith(f"{file}:")
    assert message in str(error.value)


@pytest.mark.parametrize(
    "write, message",
    [
        (lambda: format_header((1,)), "header: expected two or three integers of at least 0"),
        (lambda: format_header((1, -2, 1)), r"got \[1, -2, 1\]"),
        (lambda: rows(WORDS, TAGS, language_pair=""), "language_pair: expected text without tabs"),
        (lambda: rows(WORDS, TAGS, language_pair="a", kind="x"), "kind: expected mt, gap, source"),
    ],
)
def test_what_cannot_be_read_back_is_not_written(write, message):
    with pytest.raises(DataFormatError, match=message):
        write()
