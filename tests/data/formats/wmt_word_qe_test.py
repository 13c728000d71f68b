"""Sentences of word-level quality estimation, from files of lines and of error spans."""

import os
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from allennlp_nef.data.formats.characters import SplitText, find_words
from allennlp_nef.data.formats.error_spans import GOLD_NAMES
from allennlp_nef.data.formats.wmt_layouts import EOS, format_tags
from allennlp_nef.data.formats.wmt_word_qe import ReadOptions, read_examples
from allennlp_nef.errors import DataFormatError

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


def test_lines_of_different_layouts_are_an_error(tmp_path: Path) -> None:
    prefix = write(tmp_path, {**good_files(), TAGS: "OK BAD\nOK OK\nOK BAD OK\n"})
    assert error_of(prefix) == (
        f"{prefix}.tags:3: expected n tags (one a target word), as in {prefix}.tags:1, got 2n+1 tags (with gaps)"
    )


def test_hter_is_read_on_request(tmp_path: Path) -> None:
    files = {**good_files(), "hter": "0.25\n1e-1 \n1.5\n"}
    prefix = write(tmp_path, files)
    assert [e.hter for e in read_examples(prefix)] == [None] * 3
    assert [e.hter for e in read_examples(prefix, ReadOptions(sentence_scores=True))] == [
        0.25,
        0.1,
        1.5,
    ]
    os.remove(f"{prefix}.hter")
    assert [e.hter for e in read_examples(prefix, ReadOptions(sentence_scores=True))] == [None] * 3


@pytest.mark.parametrize("line", ["", "nan", "inf", "-0.5", "1_0"])
def test_hter_is_a_number_of_at_least_0(tmp_path: Path, line: str) -> None:
    prefix = write(tmp_path, {**good_files(), "hter": f"0\n{line}\n1\n"})
    message = f"{prefix}.hter:2: expected HTER, a number of at least 0, got {line!r}"
    with pytest.raises(DataFormatError, match=re.escape(message)):
        list(read_examples(prefix, ReadOptions(sentence_scores=True)))


@pytest.mark.parametrize("space", ["\t", "  ", "\xa0", "\u2028", "\x0c"])
def test_whitespace_splits_words_and_only_line_feeds_split_lines(
    tmp_path: Path, space: str
) -> None:
    expected = [example[:7] for example in read_examples(write(tmp_path, good_files()))]
    files = {ending: text.replace(" ", space) for ending, text in good_files().items()}
    files[SOURCE] = space + files[SOURCE].replace("\n", space + "\n")
    examples = list(read_examples(write(tmp_path, files)))
    assert [example[:7] for example in examples] == expected
    assert [example.text for example in examples] == files[TARGET].split("\n")[: len(examples)]


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
    list(read_examples(prefix, ReadOptions(without_alignments="words are aligned")))
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
    (TAGS, 1, "OK ok OK OK OK", "expected OK or BAD, got 'ok' as tag 2"),
    (SOURCE_TAGS, 2, "OK OK", "expected 3 tags (one a source word), got 2"),
    (SOURCE, 2, "", "expected source words, got none"),
    (LINKS, 1, "0-0 2-0", "expected source indices from 0 to 1, got 2 in 2-0"),
    (LINKS, 3, "0-1", "expected target indices from 0 to 0, got 1 in 0-1"),
    *(
        (
            LINKS,
            2,
            f"0-0 {pair}",
            f"expected alignments i-j (source and target word, from 0), got '{pair}'",
        )
        for pair in ("a-0", "0", "-1-0", "0-0-0", "\uff10-0")
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


@pytest.mark.parametrize("ending", [SOURCE, LINKS])
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
    os.remove(file)
    with pytest.raises(DataFormatError, match=f"^{re.escape(missing(prefix, [TARGET], ''))}$"):
        read_examples(prefix)  # at once


SENTENCE = {"src": "a b\n", "mt": "A B <EOS>\n", "tags": "OK OK BAD\n", "align": "1-1\n"}


def test_eos_is_added_where_it_is_missing(tmp_path: Path) -> None:
    files = {"src": "a\na\n", "mt": "A\nB <EOS>\n", "tags": "OK BAD\nBAD OK\n"}
    examples = list(read_examples(write(tmp_path, files), ReadOptions(eos=True)))
    assert [example.target for example in examples] == [["A", EOS], ["B", EOS]]


NO_EOS = "expected <EOS> only after the last word, got it as word"


@pytest.mark.parametrize(
    "ending, line, tagged, message",
    [
        ("src", "a <EOS>", "target", "expected no <EOS> in the source, got it as word 2"),
        ("mt", "A <EOS> B", "target", f"{NO_EOS} 2 of 3"),
        ("mt", "A <EOS> <EOS>", "target", f"{NO_EOS} 2 of 3"),
        ("mt", "<EOS>", "target", f"{NO_EOS} 1 of 1"),
        ("mt", "A B <EOS>", "gaps", "expected no <EOS> where gaps are tagged, got it as word 3"),
        ("align", "0-2", "target", "expected target indices from 0 to 1, got 2 in 0-2"),
    ],
)
def test_eos_elsewhere_is_an_error(
    tmp_path: Path, ending: str, line: str, tagged: str, message: str
) -> None:
    prefix = write(tmp_path, {**SENTENCE, ending: line + "\n"})
    for eos in {False, tagged == "target"}:
        with pytest.raises(DataFormatError) as info:
            list(read_examples(prefix, ReadOptions(tagged=tagged, eos=eos)))
        assert str(info.value) == f"{prefix}.{ending}:1: {message}"


@pytest.mark.parametrize(
    "files, tagged, message",
    [
        ({}, "gaps", ".tags:1: expected 5 tags (with gaps), as tagged is gaps, got 2"),
        ({}, "target_and_gaps", ".tags:1: expected 5 tags (with gaps), as tagged is target_and_gaps, got 2"),
        ({}, "source", ".tags: expected a file of source_tags too, as tagged is source, got no {}.source_tags"),
        (
            {"tags": None, "source_tags": "OK OK\n"},
            "gaps",
            ".source_tags: expected a file of tags too, as tagged is gaps, got no {}.tags",
        ),
    ],
)  # fmt: skip
def test_missing_tags_of_what_is_tagged_are_an_error(
    tmp_path: Path, files: dict[str, Any], tagged: str, message: str
) -> None:
    every: dict[str, Any] = {"src": "a b\n", "mt": "A B\n", "tags": "OK OK\n", **files}
    prefix = write(tmp_path, {end: text for end, text in every.items() if text})
    with pytest.raises(DataFormatError) as info:
        list(read_examples(prefix, ReadOptions(tagged=tagged)))
    assert str(info.value) == prefix + message.format(prefix)


DEV = "mt_system\tdoc_id\tseg_id\tannotator_id\tsource\ttarget\tstart_ids\tend_ids\terrors\n"


def dev_row(source="so it is", target="so  ist es", spans="4 6 10\t9 7 10\tminor major major"):
    return f"A\td\t0\tx\t{source}\t{target}\t{spans}\n"


class TestErrorSpans:
    @pytest.fixture
    def write(self, tmp_path):
        def write(name, text):
            (tmp_path / name).write_text(text, encoding="utf-8")
            return str(tmp_path / name)

        return write

    def test_development_data_become_sentences(self, write):
        path = write("a.tsv", DEV + dev_row() + dev_row("yes", "ja", "-1\t-1\tno-error"))
        first, second = read_examples(path, ReadOptions(severities=True))
        assert (first.source, first.target) == (["so", "it", "is"], ["so", "ist", "es"])
        assert first.tags == ["OK", "major", "minor"]
        assert (first.text, first.offsets) == ("so  ist es", [(0, 2), (4, 7), (8, 10)])
        assert first.spans == [(4, 9, "minor"), (6, 7, "major"), (10, 10, "major")]
        assert (second.tags, second.spans, second.line) == (["OK"], [], 3)
        assert next(read_examples(path)).tags == ["OK", "BAD", "BAD"]

    def test_source_alignments_and_splits_can_be_given(self, write):
        gold = write("gold.tsv", GOLD_NAMES + "en-de\tgold\t0\tja!\t2\t3\tmajor\n")
        source, links = write("a.src", "yes!\n"), write("a.align", "1-1\n")

        def split(text):
            words = [text[:-1], text[-1]]
            return SplitText(text, words, find_words(text, words))

        (sentence,) = read_examples(
            {"spans": gold, "source": source, "alignments": links},
            ReadOptions(split_source=split, split_target=split),
        )
        assert (sentence.source, sentence.target) == (["yes", "!"], ["ja", "!"])
        assert (sentence.tags, sentence.alignments) == (["OK", "BAD"], [(1, 1)])
        (sentence,) = read_examples({"spans": gold, "source": source})
        assert (sentence.target, sentence.tags) == (["ja!"], ["BAD"])

    SPAN = "expected a span within the 10 characters of the text, its start not after its end, got "

    @pytest.mark.parametrize(
        "row, message",
        [
            (dev_row(spans="0\t11\tminor"), SPAN + "0 to 11"),
            (dev_row(spans="3\t2\tminor"), SPAN + "3 to 2"),
            (
                dev_row(spans="0\t1\tcritical"),
                "expected a severity, minor or major, got 'critical'",
            ),
            (dev_row(target=" ", spans="-1\t-1\tno-error"), "expected target words, got none"),
            (dev_row(source=" "), "expected source words, got none"),
            (
                dev_row(source="a <EOS>"),
                "source: expected no <EOS> in the source, got it as word 2",
            ),
            (
                dev_row(target="so <EOS> ist"),
                "target: expected <EOS> only after the last word, got",
            ),
        ],
    )
    def test_bad_rows_are_errors_with_their_line(self, write, row, message):
        path = write("a.tsv", DEV + dev_row() + row)
        with pytest.raises(DataFormatError) as error:
            list(read_examples(path))
        assert str(error.value).startswith(f"{path}:3: {message}")

    def test_source_is_needed_and_has_a_line_for_each_sentence(self, write):
        gold = write("gold.tsv", GOLD_NAMES + "en-de\tgold\t0\tja\t-1\t-1\tno-error\n")
        with pytest.raises(
            DataFormatError, match=r"gold.tsv:2: expected a file with source sentences"
        ):
            list(read_examples(gold))
        with pytest.raises(
            DataFormatError, match=r"a.src: expected 1 lines, one for each .*, got 2$"
        ):
            list(read_examples({"spans": gold, "source": write("a.src", "yes\nno\n")}))
        with pytest.raises(DataFormatError, match=r"b.src:1: expected source words, got none"):
            list(read_examples({"spans": gold, "source": write("b.src", "\n")}))


# Neither whitespace nor the byte order mark.
CHARACTERS = st.characters(
    blacklist_categories=("Cs", "Zs", "Zl", "Zp", "Cc"), blacklist_characters="\ufeff"
)
WORD_LISTS = st.lists(
    st.text(CHARACTERS, min_size=1),
    min_size=1,
    max_size=6,
)


@st.composite
def sentences(draw: st.DrawFn, has_gaps: bool) -> dict:
    source, target = draw(WORD_LISTS), draw(WORD_LISTS)
    tag = st.sampled_from(["OK", "BAD"])
    gaps = st.lists(tag, min_size=len(target) + 1, max_size=len(target) + 1)
    pair = st.tuples(st.integers(0, len(source) - 1), st.integers(0, len(target) - 1))
    return {
        "source": source,
        "target": target,
        "tags": draw(st.lists(tag, min_size=len(target), max_size=len(target))),
        "gap_tags": draw(gaps) if has_gaps else None,
        "alignments": draw(st.lists(pair, max_size=8)),
    }


def tags_line(sentence: dict) -> str:
    if sentence["gap_tags"] is None:
        return format_tags(sentence["tags"])
    tags = [tag for pair in zip(sentence["gap_tags"], sentence["tags"]) for tag in pair]
    return format_tags([*tags, sentence["gap_tags"][-1]])


@settings(
    max_examples=60,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(
    data=st.booleans().flatmap(lambda gaps: st.lists(sentences(gaps), min_size=1, max_size=4)),
    line_end=st.sampled_from(["\n", "\r\n"]),
    last_end=st.booleans(),
    mark=st.booleans(),
)
def test_what_is_written_is_read(
    tmp_path: Path, data: list[dict], line_end: str, last_end: bool, mark: bool
) -> None:
    def text(lines: list[str]) -> bytes:
        joined = line_end.join(lines) + (line_end if last_end else "")
        return joined.encode("utf-8-sig" if mark else "utf-8")

    files = {
        "src": [" ".join(s["source"]) for s in data],
        "mt": [" ".join(s["target"]) for s in data],
        "tags": [tags_line(s) for s in data],
        "align": [" ".join(f"{i}-{j}" for i, j in s["alignments"]) for s in data],
    }
    for ending, lines in files.items():
        (tmp_path / f"x.{ending}").write_bytes(text(lines))
    examples = list(read_examples(tmp_path / "x"))
    assert [example.line for example in examples] == list(range(1, len(data) + 1))
    for example, sentence in zip(examples, data):
        for name, value in sentence.items():
            assert getattr(example, name) == value
