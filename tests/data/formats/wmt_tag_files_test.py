"""Tags of several files, lined up: words and gaps, sentences that are left out, words from a text."""

import logging

import pytest

from allennlp_nef.data.formats.tag_files import SystemInfo
from allennlp_nef.data.formats.wmt_layouts import format_submission, read_left_out
from allennlp_nef.data.formats.wmt_tag_files import (
    MIN_LINES,
    leave_out,
    line_up,
    read_tags,
    read_text,
    with_words,
)
from allennlp_nef.errors import DataFormatError
from tests.data.formats.wmt_layouts_test import GOLD_NAMES, ROW, TAGS, WORDS, rows

LINES = [["OK", "BAD"], ["BAD"], ["OK", "OK", "BAD"]]


def with_gaps(tags, gap="BAD"):
    return [gap] + [each for tag in tags for each in (tag, gap)]


def text(lines):
    return "".join(" ".join(tags) + "\n" for tags in lines)


def submission(lines, words=None):
    words = words or [[f"w{i}" for i in range(len(tags))] for tags in lines]
    rows = zip(words, lines)
    return "\n".join(format_submission("m", i, *row) for i, row in enumerate(rows)) + "\n"


@pytest.fixture
def read(tmp_path):
    def read(*texts, **options):
        paths = []
        for number, content in enumerate(texts):
            path = tmp_path / str(number)
            path.write_text(content, encoding="utf-8")
            paths.append(str(path))
        return line_up(leave_out([read_tags(path) for path in paths]), **options)

    return read


GAPS = [["BAD", "OK", "OK", "OK"], ["OK", "BAD"]]
GAPPED = text(map(with_gaps, LINES))


@pytest.mark.parametrize(
    "texts, gaps",
    [
        ((text(LINES), text(LINES)), [False, False]),
        ((GAPPED, text(LINES)), [True, False]),
        ((GAPPED, GAPPED, text(LINES)), [True, True, False]),
        ((submission(LINES), GAPPED), [False, True]),
        ((GAPPED, submission(LINES), GAPPED), [True, False, True]),
    ],
    ids=str,
)
def test_numbers_of_tags_tell_words_from_gaps(read, texts, gaps):
    files = read(*texts)
    for file in files:
        assert file.tags == LINES
    assert [file.has_gaps for file in files] == gaps


def test_a_file_may_have_gaps_in_some_lines(read):
    mixed = text([with_gaps(LINES[0]), LINES[1], with_gaps(LINES[2])])
    gold, predicted = read(mixed, text(LINES))
    assert gold.tags == predicted.tags == LINES
    assert gold.sentences[2].lines == [3, 3, 3]


@pytest.mark.parametrize("gap", ["OK", "BAD"])
def test_gaps_in_all_files_are_found_by_odd_numbers(read, gap):
    """Where enough lines are odd for it to be no coincidence."""
    lines = LINES * MIN_LINES
    gapped = text(with_gaps(tags, gap) for tags in lines)
    assert [file.tags for file in read(gapped, gapped)] == [lines, lines]
    one_even = gapped + "OK OK\n"
    assert len(read(one_even, one_even)[0].tags[0]) == 5
    one_word = gapped + "OK\n"
    assert len(read(one_word, one_word)[0].tags[0]) == 5


def test_option_gaps_decides_where_numbers_are_equal(read, caplog):
    lines = [with_gaps(tags) for tags in LINES]
    assert read(GAPPED, GAPPED, gaps=True)[1].tags == LINES
    assert read(GAPPED, GAPPED, gaps=False)[1].tags == lines
    many = GAPPED * MIN_LINES
    assert read(many, many, gaps=False)[1].tags == lines * MIN_LINES
    assert not caplog.records
    with caplog.at_level(logging.WARNING):
        assert read(GAPPED, GAPPED)[1].tags == lines
    assert "each line has an odd number of tags, as many in all files" in caplog.text


@pytest.mark.parametrize(
    "texts, message",
    [
        (("OK OK\n", ""), "1:1: expected at least one sentence, got an empty file"),
        (("OK\nOK\n", "OK\n\n"), "1:2: expected tags, got an empty line"),
        (("OK\n", "ok\n"), "1:1: expected OK or BAD, got 'ok' as tag 1"),
        (
            ("OK\nOK OK OK OK OK\n", "OK\nOK OK OK\n"),
            "1:2: expected 5 tags as in {0}:2 (11 or 2 where only one has gaps), got 3"
            "; --gaps only scores gaps, and WMT22 has gold files of n+1 tags",
        ),
        (
            ("OK OK\n", "OK\n"),
            "1:1: expected 2 tags as in {0}:1 (5 where only one has gaps), got 1",
        ),
        (
            ("OK\nOK\nOK\n", "OK\n"),
            "1:2: expected a sentence, as in {0}:2, got the end of the file after 1 of 3",
        ),
        (
            ("OK\n", "OK\nOK\n"),
            "0:2: expected a sentence, as in {1}:2, got the end of the file after 1 of 2",
        ),
        (
            ("OK OK OK\n", "OK\n", "OK OK OK OK OK OK OK\n"),
            "2:1: expected 1 tags, one a word, or 3 with gaps, as the other files have, got 7",
        ),
        (
            ("OK OK OK\n", submission([["OK"]]), submission([["OK"] * 3])),
            "2:1: expected 1 tags, one a word, or 3 with gaps, as the other files have, got 3",
        ),
    ],
)
def test_bad_files_are_an_error(read, tmp_path, texts, message):
    paths = [tmp_path / str(i) for i in range(3)]
    with pytest.raises(DataFormatError) as error:
        read(*texts)
    assert str(error.value) == f"{tmp_path}/" + message.format(*paths)


@pytest.fixture
def path(tmp_path):
    def path(text, name="f"):
        file = tmp_path / name
        file.write_bytes(text.encode("utf-8"))
        return str(file)

    return path


def test_gold_of_2023_leaves_sentences_out(path):
    gold_rows = (
        f"en-de\tgold\t0\tdas Haus\t{' '.join(WORDS[0])}\tOK BAD OK\n"
        "en-de\tgold\t1\tso so\thallucination\thallucination\nen-de\tgold\t2\tx\tx\tBAD\n"
    )
    gold = read_tags(path(GOLD_NAMES + gold_rows))
    assert gold.system == SystemInfo("gold", "en-de", "mt")
    submission = rows(
        [WORDS[0], ["y"] * 5, WORDS[1]], [TAGS[0], ["OK"] * 5, TAGS[1]], language_pair="en-de"
    )
    files = line_up(leave_out([gold, read_tags(path(submission, "s"))]))
    for file in files:
        assert file.tags == TAGS
        assert [sentence.words for sentence in file.sentences] == WORDS


def test_a_list_of_hallucinations_leaves_sentences_out(path):
    listed = path("lp\tsid\nen-de\t1\nde-en\t0\n", "listed")
    assert read_left_out(listed, "en-de") == {1}
    files = [read_tags(path(rows(WORDS, TAGS, language_pair="en-de")))] * 2
    assert [file.tags for file in leave_out(files, listed)] == [TAGS[:1]] * 2
    with pytest.raises(
        DataFormatError, match="listed:3: expected the language pair 'en-de', as in"
    ):
        read_left_out(listed, None)
    one = path("lp\tsid\nen-de\t2\n", "listed")
    with pytest.raises(DataFormatError, match="listed: expected sentences below 2, .*, got 2$"):
        leave_out(files, one)


def test_gaps_of_tags_files_line_up_with_those_in_columns(path):
    lines = [
        [t for pair in zip(gaps, [*tags, ""]) for t in pair][:-1] for gaps, tags in zip(GAPS, TAGS)
    ]
    both = read_tags(path("".join(" ".join(tags) + "\n" for tags in lines), "tags"))
    gaps = rows([["gap"] * len(tags) for tags in GAPS], GAPS, language_pair="en-de", kind="gap")
    columns = read_tags(path(gaps, "gaps"))
    for files in ([both, columns], [columns, both], [columns, columns]):
        assert [file.tags for file in line_up(files)] == [GAPS] * 2
    assert [file.tags for file in line_up([both, both], only_gaps=True)] == [GAPS] * 2
    words = read_tags(path("".join(" ".join(tags) + "\n" for tags in TAGS), "words"))
    for files, message in (
        ([words, columns], "words:1: expected 4 tags of gaps, or 7 tags of gaps and words, got 3"),
        ([words, words], "words:2: expected 3 tags of gaps and words, got 1"),
    ):
        with pytest.raises(DataFormatError, match=message):
            line_up(files, only_gaps=True)


def test_words_come_from_a_text(path):
    gold = read_tags(path("OK BAD\nOK\n"))
    named = with_words(gold, read_text(path("a b\nc\n", "t")))
    assert [sentence.words for sentence in named.sentences] == [["a", "b"], ["c"]]
    for file, lines, message in (
        (
            gold,
            "a b\n",
            "t:2: expected a sentence, as in .*f:2, got the end of the file after 1 of 2",
        ),
        (gold, "a b\nc d\n", "t:2: expected 1 words, one a tag of .*f:2, got 2"),
        (named, "a x\nc\n", "t:1: expected the words of .*f:1, got 'a x'"),
    ):
        with pytest.raises(DataFormatError, match=message):
            with_words(file, read_text(path(lines, "t")))


@pytest.mark.parametrize(
    "change, message",
    [
        ("de-en\ts\tmt", "b: expected the language pair 'en-de', as in .*a, got 'de-en'"),
        ("en-de\ts\tsource", "b: expected the kind of tags 'mt', as in .*a, got 'source'"),
    ],
)
def test_files_of_another_pair_or_kind_do_not_line_up(path, change, message):
    files = [read_tags(path(ROW, "a")), read_tags(path(ROW.replace("en-de\ts\tmt", change), "b"))]
    with pytest.raises(DataFormatError, match=message):
        line_up(files)


def test_all_sentences_left_out_is_an_error(path):
    file = read_tags(path(GOLD_NAMES + "a\tgold\t0\tx\thallucination\thallucination\n"))
    with pytest.raises(DataFormatError, match="expected sentences that are not left out, got none"):
        leave_out([file])
