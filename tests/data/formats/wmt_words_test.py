"""The layouts of WMT16 to 23 in columns: read, written, recognized, and refused."""

import pytest

from allennlp_nef.data.formats.tag_files import TagFile
from allennlp_nef.data.formats.wmt_tables import SystemInfo, format_header, read_left_out
from allennlp_nef.data.formats.wmt_tag_files import (
    leave_out,
    line_up,
    read_tags,
    read_text,
    with_words,
)
from allennlp_nef.data.formats.wmt_word_qe import format_submission
from allennlp_nef.data.formats.wmt_words import GOLD_NAMES, format_gold, read_words
from allennlp_nef.errors import DataFormatError

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


def test_gold_of_2023_leaves_sentences_out(path):
    text = GOLD_NAMES + format_gold("en-de", 0, "das Haus", WORDS[0], TAGS[0])
    text += format_gold("en-de", 1, "so so", [], None) + format_gold(
        "en-de", 2, "x", *WORDS[1:], *TAGS[1:]
    )
    assert text.splitlines()[2] == "en-de\tgold\t1\tso so\thallucination\thallucination"
    gold = read_tags(path(text))
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


GAPS = [["BAD", "OK", "OK", "OK"], ["OK", "BAD"]]


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


KNOWN = "expected a layout that is known (WMT16 to 19: 5 columns; WMT20 to 22 gold: 7 columns; "


@pytest.mark.parametrize(
    "text, message",
    [
        ("a\tb\n", "1: " + KNOWN),
        ("1\n" + ROW, "2: " + KNOWN),
        ("1\n2\n3\n4\n" + ROW, "WMT22 and 23 submission: 7 columns, after 3 header lines; "),
        ("1\n" + ROW, "got 7 columns after 1 header lines"),
        ("x\ty\tz\ta\tb\tc\n", "got 6 columns after 0 header lines"),
        ("1\n2.2 GB\n" + ROW, "2: expected parameters, an integer, got '2.2 GB'"),
        (5000 * "1" + "\n2\n" + ROW, "1: expected disk footprint, an integer, got '111"),
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
    file = read_tags(path(GOLD_NAMES + format_gold("a", 0, "x", [], None)))
    assert isinstance(file, TagFile)
    with pytest.raises(DataFormatError, match="expected sentences that are not left out, got none"):
        leave_out([file])


@pytest.mark.parametrize(
    "write, message",
    [
        (lambda: format_header((1,)), "header: expected two or three integers of at least 0"),
        (lambda: format_header((1, -2, 1)), r"got \[1, -2, 1\]"),
        (lambda: rows(WORDS, TAGS, language_pair=""), "language_pair: expected text without tabs"),
        (lambda: rows(WORDS, TAGS, language_pair="a", kind="x"), "kind: expected mt, gap, source"),
        (lambda: format_gold("a", 0, "a\tb", ["a"], ["OK"]), "text: expected no tabs"),
        (lambda: format_gold("a", 0, "a", ["a"], []), "tags: expected 1 tags, one a word, got 0"),
    ],
)
def test_what_cannot_be_read_back_is_not_written(write, message):
    with pytest.raises(DataFormatError, match=message):
        write()
