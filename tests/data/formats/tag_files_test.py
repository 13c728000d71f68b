"""Files of tags and of scores: read, refused with their lines, and lined up."""

import json
import logging

import pytest

from allennlp_nef.data.formats.tag_files import (
    MIN_LINES,
    check_labeled,
    check_lines_up,
    leave_out,
    line_up,
    read_conllu_tags,
    read_left_out,
    read_sentence_scores,
    read_tag_column,
    read_tags,
    read_text,
    read_word_scores,
    with_words,
)
from allennlp_nef.data.formats.wmt_layouts import SystemInfo, format_header, format_submission
from allennlp_nef.errors import DataFormatError

CONLLU = """# sent_id = 1
1-2\tdu\t_\t_\t_\t_\t_\t_\t_\t_
1\tde\tde\tADP\t_\t_\t0\troot\t_\t_
2\tle\tle\tDET\t_\tGender=Masc\t1\tdet\t_\t_
2.1\tx\tx\tX\t_\t_\t_\t_\t_\t_

1\toui\toui\tINTJ\t_\t_\t0\troot\t_\t_
"""
GOLD_NAMES = "lp\tgold\tsid\tmt\tmttok\ttags\n"
WORDS = [["das", "Haus\u00a0a", "<EOS>"], ["x"]]
TAGS = [["OK", "BAD", "OK"], ["BAD"]]
GAPS = [["BAD", "OK", "OK", "OK"], ["OK", "BAD"]]
ROW = "en-de\ts\tmt\t0\t0\tw\tOK\n"
ANSWER = {
    "tokens": ["a", "b"],
    "bad_probabilities": [0.25, 1],
    "attention": [[0.5, 0.5], [0.0, 1.0]],
    "trace": {"settled_at": [2, 1], "none": None},
}


@pytest.fixture
def write(tmp_path):
    def write(text, name="f"):
        path = tmp_path / name
        path.write_bytes(text.encode("utf-8"))
        return str(path)

    return write


def rows(words, tags, **options):
    pairs = enumerate(zip(words, tags))
    return "".join(format_submission("a b", i, *pair, **options) + "\n" for i, pair in pairs)


def text_of(lines):
    return "".join(" ".join(tags) + "\n" for tags in lines)


class TestReading:
    def test_tags_are_a_column(self, write):
        file = read_tag_column(write("a N B-A\nb V I-A\r\n\r\nc\tN\tO"))
        assert file.sentences == [
            (["B-A", "I-A"], [1, 2], ["a", "b"]),
            (["O"], [4], ["c"]),
        ]
        (sentence,) = read_tag_column(write("O x\nB-A x\n"), 0).sentences
        assert sentence == (["O", "B-A"], [1, 2], None)  # in place of words
        assert read_tag_column(write("a NOUN\n"), chunks=False).tags == [["NOUN"]]

    @pytest.mark.parametrize(
        "column, tags",
        [
            ("upos", [["ADP", "DET"], ["INTJ"]]),
            ("feats", [["_", "Gender=Masc"], ["_"]]),
            ("xpos", [["_", "_"], ["_"]]),
        ],
    )
    def test_tags_are_a_column_of_conllu(self, write, column, tags):
        file = read_conllu_tags(write(CONLLU), column)
        assert file.tags == tags
        assert [sentence.lines for sentence in file.sentences] == [[3, 4], [7]]
        assert [sentence.words for sentence in file.sentences] == [["de", "le"], ["oui"]]

    def test_unlabeled_conllu_is_an_error(self, write):
        file = read_conllu_tags(write(CONLLU), "xpos")
        with pytest.raises(DataFormatError, match="f:3: expected tags, got '_' for every word"):
            check_labeled(file, "xpos")
        file = read_conllu_tags(write(CONLLU.replace("INTJ", "_")))
        check_labeled(file, "feats")
        with pytest.raises(DataFormatError, match="f:7: expected a UPOS tag, as other words have"):
            check_labeled(file, "upos")

    @pytest.mark.parametrize("kind", ["mt", "gap", "source"])
    @pytest.mark.parametrize("header", [(), (10**10, 2), (10**10, 2, 3)])
    def test_what_is_written_in_seven_columns_is_read(self, write, kind, header):
        text = (format_header(header) if header else "") + rows(
            WORDS, TAGS, language_pair="en-de", kind=kind
        )
        assert text.splitlines()[len(header)] == f"en-de\ta b\t{kind}\t0\t0\tdas\tOK"
        file = read_tags(write(text.replace(f"\t{kind}\t", f"\t{kind.upper()}\t")))
        assert file.system == SystemInfo("a b", "en-de", kind, header)
        first = len(header) + 1
        assert file.sentences == [
            (TAGS[0], [first, first + 1, first + 2], WORDS[0]),
            (TAGS[1], [first + 3], WORDS[1]),
        ]

    def test_scores_of_words_are_lines_or_fields_of_answers(self, write):
        assert read_word_scores(write("0.5 -1e3\n2\n")).sentences == [
            ([0.5, -1000], [1, 1], None),
            ([2], [2], None),
        ]
        for field, expected in (
            ("bad_probabilities", [0.25, 1]),
            ("attention", [0.5, 1.5]),  # the sum of the rows
            ("attention.1", [0, 1]),
            ("trace.settled_at", [2, 1]),
        ):
            (sentence,) = read_word_scores(write(json.dumps(ANSWER) + "\n"), field).sentences
            assert sentence == (expected, [1, 1], ["a", "b"])

    @pytest.mark.parametrize(
        "before, header",
        [("1\n2\n", (1, 2)), ("1\n2\n3\n", (1, 2, 3)), ("lp\tm\tsid\tscore\n", ())],
    )
    def test_scores_of_sentences_come_in_columns_or_one_a_line(self, write, before, header):
        file = read_sentence_scores(write(before + "en-de\ts\t0\t0.5\nen-de\ts\t1\t-1\n"))
        assert file.tags == [[0.5], [-1]]
        assert file.system == SystemInfo("s", "en-de", None, header)
        file = read_sentence_scores(write("1\n-0.5\n"))
        assert (file.tags, file.system) == ([[1], [-0.5]], None)


EMPTY = "1: expected at least one sentence, got an empty file"
KNOWN = "expected a layout that is known (WMT16 to 19: 5 columns; WMT20 to 22 gold: 7 columns; "
SHORT = "2: expected language pair, system, kind, sentence, word index, word"
LINE_ERRORS = [
    (
        read_tag_column,
        "\na b\n",
        "2: expected O or a chunk tag such as B-PER, got 'b' in column -1",
    ),
    (lambda path: read_tag_column(path, -4), "\na b O\n", "2: expected a column -4 with the tags "),
    (read_tags, "", EMPTY),
    (read_tags, "OK\n\n", "2: expected tags, got an empty line"),
    (read_tags, "ok\n", "1: expected OK or BAD, got 'ok' as tag 1"),
    (read_tags, "a\tb\n", "1: " + KNOWN),
    (read_tags, "1\n" + ROW, "2: " + KNOWN),
    (read_tags, "1\n2\n3\n4\n" + ROW, "5: " + KNOWN),
    (read_tags, "1\n2.2 GB\n" + ROW, "2: expected parameters, an integer, got '2.2 GB'"),
    (read_tags, ROW + "en-de\ts\n", SHORT),
    (read_tags, ROW + ROW.replace("en", "x"), "2: expected the language pair 'en-de', as in line "),
    (read_tags, ROW + ROW.replace("\ts", "\tt"), "2: expected the system 's', as in line 1, got "),
    (read_tags, ROW + ROW.replace("mt", "gap"), "2: expected the kind 'mt', as in line 1, got 'ga"),
    (read_tags, ROW.replace("mt", "tgt"), "1: expected the kind mt, gap, source, got 'tgt'"),
    (read_tags, ROW + ROW.replace("\t0\t0", "\t2\t0"), "2: expected the sentence and word 0 1 or "),
    (read_tags, ROW.replace("OK", "ok"), "1: expected OK or BAD, got 'ok' as tag 1"),
    (read_tags, GOLD_NAMES, "1: expected at least one row, got none"),
    (read_tags, GOLD_NAMES + "a\tg\t1\tx\tx\tOK\n", "2: expected the sentence 0, got '1'"),
    (read_tags, GOLD_NAMES + "a\tg\t0\tx\tx y\tOK\n", "2: expected 2 tags, one a word, got 1"),
    (read_text, "", EMPTY),
    (read_word_scores, "", EMPTY),
    (read_word_scores, "1\n\n", "2: expected a number for each word, got none"),
    (read_word_scores, "1 x\n", "1: expected a number, got 'x'"),
    (read_word_scores, "nan\n", "1: expected a number, got 'nan'"),
    (read_word_scores, "{\n", "1: expected a JSON object, got '{'"),
    (read_word_scores, 5000 * '{"a":', "1: expected a JSON object, got"),
    (read_word_scores, "{}\n", "1: expected an answer with tokens, got"),
    (read_sentence_scores, "", EMPTY),
    (read_sentence_scores, "1\n\n", "2: expected a number, got ''"),
    (read_sentence_scores, "1\n2\na\tb\t0\tx\n", "3: expected a number, got 'x'"),
    (read_sentence_scores, "1\n2\na\tb\t1\t1\n", "3: expected the sentence 0, got '1'"),
    (read_sentence_scores, "a\tb\t0\t1\n", "1: expected a layout that is known (WMT23 gold scores"),
]


@pytest.mark.parametrize("read, text, message", LINE_ERRORS)
def test_what_cannot_be_read_is_an_error_with_its_line(write, read, text, message):
    path = write(text)
    with pytest.raises(DataFormatError) as error:
        read(path)
    assert str(error.value).startswith(f"{path}:{message}")


@pytest.mark.parametrize(
    "answer, field, message",
    [
        ('{"tokens": ["a"], "x": [1%s]}' % (400 * "0"), "x", "expected 1 numbers as x, one a"),
        ('{"tokens": ["a"], "x": [[1e308], [1e308]]}', "x", "expected numbers with a sum as x"),
        (json.dumps(ANSWER), "attention.2", "expected the field attention.2, got no '2'"),
        (json.dumps(ANSWER), "attention.a", "expected the field attention.a, got no 'a'"),
        (json.dumps(ANSWER), "trace.none", "expected 2 numbers as trace.none, one a token, got N"),
        (json.dumps(ANSWER), "tokens", "expected 2 numbers as tokens, one a token, got ['a', 'b']"),
    ],
)
def test_fields_without_a_number_a_word_are_an_error(write, answer, field, message):
    path = write(answer)
    with pytest.raises(DataFormatError) as error:
        read_word_scores(path, field)
    assert str(error.value).startswith(f"{path}:1: {message}")


class TestSameSentences:
    """`check_lines_up`"""

    GOLD = "a O\nb O\n\nc O\nd O\n"

    def check(self, write, predicted):
        files = [
            read_tag_column(write(text, name))
            for name, text in (("g", self.GOLD), ("p", predicted))
        ]
        check_lines_up(*files)

    @pytest.mark.parametrize(
        "predicted",
        ["-DOCSTART- O\n\n\na I-A\nb I-A\n\n\nc I-A\nd I-A", "O\nO\n\nO\nO\n"],
        ids=["other empty lines", "no words"],
    )
    def test_other_layouts_line_up(self, write, predicted):
        self.check(write, predicted)

    @pytest.mark.parametrize(
        "predicted, message",
        [
            ("a O\nx O\n\nc O\nd O\n", "p:2: expected the word 'b' of {g}:2, got 'x'"),
            ("O\n\nO\nO\n", "p:2: expected the token of {g}:2, 'b', got the end of the sentence"),
            (
                "a O\nb O\nc O\nd O\n",
                "p:3: expected the end of the sentence, as after {g}:2, got a token, 'c'",
            ),
            ("O\nO\nO\n", "p:3: expected the end of the sentence, as after {g}:2, got a token"),
            ("a O\nb O\n", "p:3: expected a sentence such as that of {g}:4, got the end of the f"),
            (
                GOLD + "\ne O\n",
                "p:7: expected the end of the file, as after {g}:5, got another sentence, 'e'",
            ),
        ],
    )
    def test_the_first_line_that_differs_is_named(self, write, tmp_path, predicted, message):
        with pytest.raises(DataFormatError) as error:
            self.check(write, predicted)
        assert str(error.value).startswith(f"{tmp_path}/" + message.format(g=tmp_path / "g"))


LINES = [["OK", "BAD"], ["BAD"], ["OK", "OK", "BAD"]]


def with_gaps(tags, gap="BAD"):
    return [gap] + [tag for pair in zip(tags, [gap] * len(tags)) for tag in pair]


def submission(lines):
    return rows([[f"w{i}" for i in range(len(tags))] for tags in lines], lines)


GAPPED = text_of(map(with_gaps, LINES))


class TestGaps:
    """`line_up`"""

    @pytest.fixture
    def read(self, write):
        def read(*texts, **options):
            files = [read_tags(write(text, str(i))) for i, text in enumerate(texts)]
            return line_up(files, **options)

        return read

    @pytest.mark.parametrize(
        "texts, gaps",
        [
            ((text_of(LINES), text_of(LINES)), [False, False]),
            ((GAPPED, GAPPED, text_of(LINES)), [True, True, False]),
            ((GAPPED, submission(LINES), GAPPED), [True, False, True]),
        ],
        ids=str,
    )
    def test_numbers_of_tags_tell_words_from_gaps(self, read, texts, gaps):
        files = read(*texts)
        assert [file.tags for file in files] == [LINES] * len(files)
        assert [file.has_gaps for file in files] == gaps

    def test_a_file_may_have_gaps_in_some_lines(self, read):
        mixed = text_of([with_gaps(LINES[0]), LINES[1], with_gaps(LINES[2])])
        gold, predicted = read(mixed, text_of(LINES))
        assert gold.tags == predicted.tags == LINES
        assert gold.sentences[2].lines == [3, 3, 3]

    @pytest.mark.parametrize("gap", ["OK", "BAD"])
    def test_gaps_in_all_files_are_found_by_odd_numbers(self, read, gap):
        """Where enough lines are odd for it to be no coincidence."""
        lines = LINES * MIN_LINES
        gapped = text_of(with_gaps(tags, gap) for tags in lines)
        assert [file.tags for file in read(gapped, gapped)] == [lines, lines]
        for other in ("OK OK\n", "OK\n"):
            assert len(read(gapped + other, gapped + other)[0].tags[0]) == 5

    def test_the_option_gaps_decides_where_numbers_are_equal(self, read, caplog):
        lines = [with_gaps(tags) for tags in LINES]
        assert read(GAPPED, GAPPED, gaps=True)[1].tags == LINES
        assert read(*[GAPPED * MIN_LINES] * 2, gaps=False)[1].tags == lines * MIN_LINES
        assert not caplog.records
        with caplog.at_level(logging.WARNING):
            assert read(GAPPED, GAPPED)[1].tags == lines
        assert "each line has an odd number of tags, as many in all files" in caplog.text

    def test_tags_of_gaps_alone_line_up_with_those_of_words_and_gaps(self, read, write):
        both = text_of(
            [t for pair in zip(gaps, [*tags, ""]) for t in pair][:-1]
            for gaps, tags in zip(GAPS, TAGS)
        )
        columns = rows(
            [["gap"] * len(tags) for tags in GAPS], GAPS, language_pair="en-de", kind="gap"
        )
        for texts in ([both, columns], [columns, both], [columns, columns]):
            assert [file.tags for file in read(*texts)] == [GAPS] * 2
        assert [file.tags for file in read(both, both, only_gaps=True)] == [GAPS] * 2

    @pytest.mark.parametrize(
        "texts, options, message",
        [
            (
                ("OK\nOK OK OK OK OK\n", "OK\nOK OK OK\n"),
                {},
                "1:2: expected 5 tags as in {0}:2 (11 or 2 where only one has gaps), got 3"
                "; --gaps only scores gaps, and WMT22 has gold files of n+1 tags",
            ),
            (
                ("OK OK\n", "OK\n"),
                {},
                "1:1: expected 2 tags as in {0}:1 (5 where only one has gaps), got 1",
            ),
            (
                ("OK\nOK\nOK\n", "OK\n"),
                {},
                "1:2: expected a sentence, as in {0}:2, got the end of the file after 1 of 3",
            ),
            (
                ("OK\n", "OK\nOK\n"),
                {},
                "0:2: expected a sentence, as in {1}:2, got the end of the file after 1 of 2",
            ),
            (
                ("OK OK OK\n", submission([["OK"]]), submission([["OK"] * 3])),
                {},
                "2:1: expected 1 tags, one a word, or 3 with gaps, as the other files have, got 3",
            ),
            (("OK OK\n", "OK OK\n"), {"gaps": True}, "0:1: expected 2n+1 tags for n words, got 2"),
            (
                (text_of(TAGS), text_of(TAGS)),
                {"only_gaps": True},
                "0:2: expected 3 tags of gaps and words, got 1",
            ),
            (
                (ROW, ROW.replace("en-de", "de-en")),
                {},
                "1: expected the language pair 'en-de', as in {0}, got 'de-en'",
            ),
            (
                (ROW, ROW.replace("mt", "source")),
                {},
                "1: expected the kind of tags 'mt', as in {0}, got 'source'",
            ),
        ],
    )
    def test_files_that_do_not_fit_are_an_error(self, read, tmp_path, texts, options, message):
        with pytest.raises(DataFormatError) as error:
            read(*texts, **options)
        paths = [tmp_path / str(i) for i in range(3)]
        assert str(error.value) == f"{tmp_path}/" + message.format(*paths)


def test_gold_of_2023_leaves_sentences_out(write):
    gold_rows = (
        f"en-de\tgold\t0\tdas Haus\t{' '.join(WORDS[0])}\tOK BAD OK\n"
        "en-de\tgold\t1\tso so\thallucination\thallucination\nen-de\tgold\t2\tx\tx\tBAD\n"
    )
    gold = read_tags(write(GOLD_NAMES + gold_rows))
    assert gold.system == SystemInfo("gold", "en-de", "mt")
    predicted = rows(
        [WORDS[0], ["y"] * 5, WORDS[1]], [TAGS[0], ["OK"] * 5, TAGS[1]], language_pair="en-de"
    )
    for file in line_up(leave_out([gold, read_tags(write(predicted, "s"))])):
        assert file.tags == TAGS
        assert [sentence.words for sentence in file.sentences] == WORDS
    all_left_out = read_tags(write(GOLD_NAMES + gold_rows.split("\n")[1].replace("\t1\t", "\t0\t")))
    with pytest.raises(DataFormatError, match="expected sentences that are not left out, got none"):
        leave_out([all_left_out])


def test_a_list_of_hallucinations_leaves_sentences_out(write):
    listed = write("lp\tsid\nen-de\t1\nde-en\t0\n", "listed")
    assert read_left_out(listed, "en-de") == {1}
    files = [read_tags(write(rows(WORDS, TAGS, language_pair="en-de")))] * 2
    assert [file.tags for file in leave_out(files, listed)] == [TAGS[:1]] * 2
    with pytest.raises(DataFormatError, match="listed:3: expected the language pair 'en-de', as"):
        read_left_out(listed, None)
    listed = write("lp\tsid\nen-de\t2\n", "listed")
    with pytest.raises(DataFormatError, match="listed: expected sentences below 2, .*, got 2$"):
        leave_out(files, listed)


def test_words_come_from_a_text(write):
    gold = read_tags(write("OK BAD\nOK\n"))
    named = with_words(gold, read_text(write("a b\nc\n", "t")))
    assert [sentence.words for sentence in named.sentences] == [["a", "b"], ["c"]]
    for file, text, message in (
        (gold, "a b\n", "t:2: expected a sentence, as in .*f:2, got the end of the file after 1"),
        (gold, "a b\nc d\n", "t:2: expected 1 words, one a tag of .*f:2, got 2"),
        (named, "a x\nc\n", "t:1: expected the words of .*f:1, got 'a x'"),
    ):
        with pytest.raises(DataFormatError, match=message):
            with_words(file, read_text(write(text, "t")))
