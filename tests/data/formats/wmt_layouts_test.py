"""Lines of tags in the layouts of WMT16 to 23, and the writers of columns. `tag_files_test` reads what they write."""

from typing import Any

import pytest

from allennlp_nef.data.formats.wmt_layouts import (
    EOS,
    format_header,
    format_submission,
    split_tags,
    tagged_side,
)
from allennlp_nef.errors import DataFormatError


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


@pytest.mark.parametrize(
    "write, message",
    [
        (lambda: format_header((1,)), "header: expected two or three integers of at least 0"),
        (lambda: format_header((1, -2, 1)), r"got \[1, -2, 1\]"),
        (lambda: format_submission("m", 0, ["A"], ["OK"], ""), "language_pair: expected text with"),
        (lambda: format_submission("m", 0, ["A"], ["OK"], "a", "x"), "kind: expected mt, gap, so"),
    ],
)
def test_what_cannot_be_read_back_is_not_written(write, message):
    with pytest.raises(DataFormatError, match=message):
        write()
