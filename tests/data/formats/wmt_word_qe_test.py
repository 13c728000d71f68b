import os
import re
from pathlib import Path

import pytest

from allennlp_nef.data.formats.wmt_word_qe import (
    DataFormatError,
    format_submission,
    format_tags,
    read_examples,
)

SOURCE, TARGET, TAGS, LINKS, SOURCE_TAGS = "src", "mt", "tags", "src-mt.alignments", "source_tags"


def good_files() -> dict[str, str]:
    """Three sentences with tags of words and gaps, the last one without alignment."""
    return {
        SOURCE: "a b\nc d e\nf\n",
        TARGET: "A B\nC D\nF\n",
        TAGS: "OK OK BAD BAD OK\nBAD OK OK BAD OK\nOK BAD OK\n",
        LINKS: "0-0 1-1\n2-0 0-1\n\n",
        SOURCE_TAGS: "OK OK\nOK BAD OK\nBAD\n",
    }


def write(folder: Path, files: dict[str, str | bytes]) -> str:
    for ending, content in files.items():
        data = content.encode("utf-8") if isinstance(content, str) else content
        (folder / f"x.{ending}").write_bytes(data)
    return str(folder / "x")


def replace_line(text: str, number: int, line: str) -> str:
    lines = text.split("\n")
    lines[number - 1] = line
    return "\n".join(lines)


def error_of(prefix: str) -> str:
    with pytest.raises(DataFormatError) as info:
        list(read_examples(prefix))
    assert isinstance(info.value, ValueError)
    return str(info.value)


def test_reads_words_and_gaps(tmp_path: Path) -> None:
    first, second, third = read_examples(write(tmp_path, good_files()))
    assert first[:7] == (
        ["a", "b"], ["A", "B"], [(0, 0), (1, 1)], ["OK", "BAD"], ["OK", "BAD", "OK"], ["OK", "OK"], 1
    )  # fmt: skip
    assert second.tags == ["OK", "BAD"]
    assert second.gap_tags == ["BAD", "OK", "OK"]
    assert second.alignments == [(2, 0), (0, 1)]
    assert second.source_tags == ["OK", "BAD", "OK"]
    assert second.tags_of("target_and_gaps") == ["BAD", "OK", "OK", "BAD", "OK"]
    assert (third.alignments, third.tags, third.line) == ([], ["BAD"], 3)


def test_reads_words_alone(tmp_path: Path) -> None:
    files = {**good_files(), TAGS: "OK BAD\nBAD OK\nBAD\n"}
    examples = list(read_examples(write(tmp_path, files)))
    assert [example.tags for example in examples] == [["OK", "BAD"], ["BAD", "OK"], ["BAD"]]
    assert {example.gap_tags for example in examples} == {None}


def test_lines_of_different_layouts_are_an_error(tmp_path: Path) -> None:
    prefix = write(tmp_path, {**good_files(), TAGS: "OK BAD\nOK OK\nOK BAD OK\n"})
    assert error_of(prefix) == (
        f"{prefix}.tags:3: expected n tags (one a target word), as in {prefix}.tags:1, got 2n+1 tags (with gaps)"
    )


def test_hter_is_read_on_request(tmp_path: Path) -> None:
    files = {**good_files(), "hter": "0.25\n1e-1 \n1.5\n"}
    prefix = write(tmp_path, files)
    assert [e.hter for e in read_examples(prefix)] == [None] * 3
    assert [e.hter for e in read_examples(prefix, sentence_scores=True)] == [0.25, 0.1, 1.5]
    os.remove(f"{prefix}.hter")
    assert [e.hter for e in read_examples(prefix, sentence_scores=True)] == [None] * 3


@pytest.mark.parametrize("line", ["x", "", "nan", "inf", "-0.5", "0.1 0.2", "1_0"])
def test_hter_is_a_number_of_at_least_0(tmp_path: Path, line: str) -> None:
    prefix = write(tmp_path, {**good_files(), "hter": f"0\n{line}\n1\n"})
    message = f"{prefix}.hter:2: expected HTER, a number of at least 0, got {line!r}"
    with pytest.raises(DataFormatError, match=re.escape(message)):
        list(read_examples(prefix, sentence_scores=True))


@pytest.mark.parametrize("line_end", ["\n", "\r\n"])
@pytest.mark.parametrize("last_end", [True, False])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_line_ends_and_a_byte_order_mark_are_no_text(
    tmp_path: Path, line_end: str, last_end: bool, mark: str
) -> None:
    expected = list(read_examples(write(tmp_path, good_files())))
    files = {}
    for ending, content in good_files().items():
        text = content if last_end else content[:-1]
        files[ending] = mark + text.replace("\n", line_end)
    assert list(read_examples(write(tmp_path, files))) == expected


@pytest.mark.parametrize("line, place", [("c d\re", 4), ("c d e\r\r", 6)])
def test_carriage_returns_inside_of_a_line_are_an_error(
    tmp_path: Path, line: str, place: int
) -> None:
    prefix = write(tmp_path, {**good_files(), SOURCE: f"\ufeffa b\n{line}\nf\n"})
    assert error_of(prefix) == (
        f"{prefix}.src:2: expected lines that end in a line feed, or a carriage return and one, got a carriage return "
        f"as character {place} of the line"
    )


@pytest.mark.parametrize("space", ["\t", "  ", "\xa0", "\u2028", "\u3000", "\x85", "\x0b", "\x0c"])
def test_whitespace_splits_words_and_only_line_feeds_split_lines(
    tmp_path: Path, space: str
) -> None:
    expected = [example[:7] for example in read_examples(write(tmp_path, good_files()))]
    files = {ending: text.replace(" ", space) for ending, text in good_files().items()}
    files[SOURCE] = space + files[SOURCE].replace("\n", space + "\n")
    examples = list(read_examples(write(tmp_path, files)))
    assert [example[:7] for example in examples] == expected
    assert [example.text for example in examples] == files[TARGET].split("\n")[: len(examples)]


def test_examples_without_a_file_of_tags_are_unlabeled(tmp_path: Path) -> None:
    files = good_files()
    del files[TAGS], files[SOURCE_TAGS]
    for example in read_examples(write(tmp_path, files)):
        assert example.tags is example.gap_tags is example.source_tags is None


def test_other_endings_are_read_where_the_preferred_are_missing(tmp_path: Path) -> None:
    files = good_files()
    expected = list(read_examples(write(tmp_path, files)))
    os.rename(tmp_path / f"x.{LINKS}", tmp_path / "x.align")
    os.rename(tmp_path / f"x.{SOURCE_TAGS}", tmp_path / "x.src_tags")
    assert list(read_examples(tmp_path / "x")) == expected
    (tmp_path / f"x.{LINKS}").write_text("\n\n\n")  # preferred to .align
    assert [e.alignments for e in read_examples(tmp_path / "x")] == [[], [], []]


def test_missing_alignments_are_one_warning(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    files = good_files()
    del files[LINKS]
    prefix = write(tmp_path, files)
    assert [e.alignments for e in read_examples(prefix)] == [None] * 3
    list(read_examples(prefix, "words are aligned"))
    assert [record.getMessage() for record in caplog.records] == [
        f"There is neither {prefix}.src-mt.alignments nor {prefix}.align: {rest}."
        for rest in ("every target word counts as unaligned", "words are aligned")
    ]


NO_LAYOUT = {
    n: f"expected {n} tags (one a target word), {2 * n + 1} (with gaps) or, where eos is true, {n + 1} (with <EOS>), "
    "got "
    for n in (1, 2)
}
LINE_ERRORS = [
    (TAGS, 1, "OK", NO_LAYOUT[2] + "1"),
    (TAGS, 2, "OK OK OK OK", NO_LAYOUT[2] + "4"),
    (TAGS, 3, "", NO_LAYOUT[1] + "0"),
    (TAGS, 1, "OK ok OK OK OK", "expected OK or BAD, got 'ok' as tag 2"),
    (TAGS, 2, "OK OK x OK OK", "expected OK or BAD, got 'x' as tag 3"),
    (SOURCE_TAGS, 2, "OK OK", "expected 3 tags (one a source word), got 2"),
    (SOURCE_TAGS, 3, "0", "expected OK or BAD, got '0' as tag 1"),
    (SOURCE, 2, "", "expected source words, got none"),
    (TARGET, 3, " \t", "expected target words, got none"),
    (LINKS, 1, "0-0 2-0", "expected source indices from 0 to 1, got 2 in 2-0"),
    (LINKS, 3, "0-1", "expected target indices from 0 to 0, got 1 in 0-1"),
    *(
        (
            LINKS,
            2,
            f"0-0 {pair}",
            f"expected alignments i-j (source and target word, from 0), got '{pair}'",
        )
        for pair in ("a-0", "0", "0-", "-1-0", "0--1", "0-0S", "0:0", "0-0-0", "\uff10-0")
    ),
]


@pytest.mark.parametrize("ending, number, line, message", LINE_ERRORS)
def test_bad_lines_are_named(
    tmp_path: Path, ending: str, number: int, line: str, message: str
) -> None:
    files = good_files()
    files[ending] = replace_line(files[ending], number, line)
    prefix = write(tmp_path, files)
    assert error_of(prefix) == f"{prefix}.{ending}:{number}: {message}"


def test_lines_before_a_bad_line_are_read(tmp_path: Path) -> None:
    files = good_files()
    files[TAGS] = replace_line(files[TAGS], 3, "x")
    examples = read_examples(write(tmp_path, files))
    assert [next(examples).line, next(examples).line] == [1, 2]
    with pytest.raises(DataFormatError):
        next(examples)


def test_long_indices_are_cut_in_the_message(tmp_path: Path) -> None:
    files = {**good_files(), LINKS: f"{'1' * 5000}-0\n\n\n"}
    message = error_of(write(tmp_path, files))
    assert message.endswith(f"got '{'1' * 36}...")


@pytest.mark.parametrize("ended", [SOURCE, TARGET, TAGS, LINKS, SOURCE_TAGS])
def test_different_line_counts_are_an_error(tmp_path: Path, ended: str) -> None:
    files = good_files()
    files[ended] = "\n".join(files[ended].split("\n")[:2]) + "\n"
    prefix = write(tmp_path, files)
    longest = TARGET if ended == SOURCE else SOURCE
    assert error_of(prefix) == (
        f"{prefix}.{ended}:3: expected a line for each of the 3 lines of {prefix}.{longest}, "
        "got the end of the file after 2"
    )


def test_message_has_the_counts_of_the_shortest_and_the_longest_file(tmp_path: Path) -> None:
    files = {SOURCE: "a\na", TARGET: "A\n", TAGS: "OK\nOK\nOK\nOK", LINKS: "\n\n\n"}
    prefix = write(tmp_path, files)
    assert error_of(prefix) == (
        f"{prefix}.mt:2: expected a line for each of the 4 lines of {prefix}.tags, "
        "got the end of the file after 1"
    )


def test_last_line_of_alignments_may_be_empty_without_a_line_end(tmp_path: Path) -> None:
    # "0-0\n" is two lines here: files whose last line has no end, the last alignments empty.
    joined = {SOURCE: "a\nb", TARGET: "A\nB", LINKS: "0-0\n"}
    prefix = write(tmp_path, joined)
    assert [e.alignments for e in read_examples(prefix)] == [[(0, 0)], []]
    write(tmp_path, {SOURCE: "a", TARGET: "A", LINKS: ""})
    assert [e.alignments for e in read_examples(prefix)] == [[]]
    write(tmp_path, {**joined, SOURCE: "a\nb\n"})  # ended lines: one is missing
    assert error_of(prefix).startswith(f"{prefix}.{LINKS}:2: expected a line for each")
    write(tmp_path, {**joined, LINKS: "0-0"})
    assert error_of(prefix).startswith(f"{prefix}.{LINKS}:2: expected a line for each")
    write(tmp_path, {**joined, LINKS: "0-0\n", TAGS: "OK\n"})  # tags are never empty
    assert error_of(prefix).startswith(f"{prefix}.{TAGS}:2: expected a line for each")


@pytest.mark.parametrize("content", [b"", b"\xef\xbb\xbf"])
def test_empty_files_are_an_error(tmp_path: Path, content: bytes) -> None:
    prefix = write(tmp_path, dict.fromkeys((SOURCE, TARGET, TAGS, LINKS), content))
    assert error_of(prefix) == f"{prefix}.src:1: expected at least one line, got an empty file"


@pytest.mark.parametrize("ending", [SOURCE, TARGET, TAGS, LINKS, SOURCE_TAGS])
def test_invalid_utf8_is_an_error(tmp_path: Path, ending: str) -> None:
    data = good_files()[ending].encode("utf-8").split(b"\n")
    data[1] = b"\xc3\xa4\xff" + data[1]
    prefix = write(tmp_path, {**good_files(), ending: b"\n".join(data)})
    assert error_of(prefix) == (
        f"{prefix}.{ending}:2: expected UTF-8, got byte 0xff as byte 3 of the line"
    )


def missing(prefix: str, without: list[str], hint: str) -> str:
    files = f"{prefix}.src and {prefix}.mt"
    got = " and ".join(f"no {prefix}.{ending}" for ending in without)
    return f"{prefix}.{without[0]}: expected the files {files}, got {got}{hint}"


@pytest.mark.parametrize("ending", [SOURCE, TARGET])
def test_missing_files_are_an_error_at_once(tmp_path: Path, ending: str) -> None:
    prefix = write(tmp_path, good_files())
    os.remove(f"{prefix}.{ending}")
    with pytest.raises(DataFormatError, match=f"^{re.escape(missing(prefix, [ending], ''))}$"):
        read_examples(prefix)


def test_message_says_that_the_path_is_a_prefix(tmp_path: Path) -> None:
    prefix = write(tmp_path, good_files())
    both = [SOURCE, TARGET]
    file = f"{prefix}.{TARGET}"
    assert error_of(file) == missing(
        file, both, f" (the path is a prefix: {prefix}, and {file} is a file)"
    )
    (tmp_path / "other").write_text("a\n")
    other = str(tmp_path / "other")
    assert error_of(other) == missing(
        other, both, f" (the path is a prefix, and {other} is a file)"
    )
    folder = str(tmp_path)
    example = os.path.join(folder, "train")
    assert error_of(folder) == missing(
        folder, both, f" (the path is a prefix such as {example}, not a folder)"
    )
    wrong = str(tmp_path / "no" / "x")
    assert error_of(wrong) == missing(wrong, both, f" (there is no folder {tmp_path / 'no'})")
    assert error_of(str(tmp_path / "y")) == missing(str(tmp_path / "y"), both, "")


def test_tags_are_a_line() -> None:
    assert format_tags(["OK", "BAD"]) == "OK BAD"
    with pytest.raises(ValueError, match="expected OK or BAD, got 'bad' as tag 2"):
        format_tags(["OK", "bad"])
    with pytest.raises(ValueError, match="expected at least one tag, got none"):
        format_tags([])


def test_submission_has_a_row_for_each_word() -> None:
    assert format_submission("nef f", 3, ["Das", "Haus"], ["OK", "BAD"]) == (
        "nef f\t3\t0\tDas\tOK\nnef f\t3\t1\tHaus\tBAD"
    )


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
