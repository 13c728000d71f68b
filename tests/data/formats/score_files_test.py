"""Scores of words and of sentences."""

import json

import pytest

from allennlp_nef.data.formats.score_files import read_sentence_scores, read_word_scores
from allennlp_nef.data.formats.wmt_layouts import SystemInfo
from allennlp_nef.errors import DataFormatError

ANSWER = {
    "tokens": ["a", "b"],
    "bad_probabilities": [0.25, 1],
    "attention": [[0.5, 0.5], [0.0, 1.0]],
    "trace": {"settled_at": [2, 1], "none": None},
}


@pytest.fixture
def path(tmp_path):
    def path(text):
        file = tmp_path / "f"
        file.write_text(text, encoding="utf-8")
        return str(file)

    return path


def test_a_line_has_the_scores_of_a_sentence(path):
    file = read_word_scores(path("0.5 -1e3\n2\n"))
    assert file.tags == [[0.5, -1000], [2]]
    assert [sentence.words for sentence in file.sentences] == [None, None]


@pytest.mark.parametrize(
    "field, expected",
    [
        ("bad_probabilities", [0.25, 1]),
        ("attention", [0.5, 1.5]),
        ("attention.1", [0, 1]),
        ("trace.settled_at", [2, 1]),
    ],
)
def test_any_field_of_an_answer_can_be_the_scores(path, field, expected):
    (sentence,) = read_word_scores(path(json.dumps(ANSWER) + "\n"), field).sentences
    assert (sentence.tags, sentence.words) == (expected, ["a", "b"])


@pytest.mark.parametrize(
    "text, field, message",
    [
        ("", "", "1: expected at least one sentence, got an empty file"),
        ("1\n\n", "", "2: expected a number for each word, got none"),
        ("1 x\n", "", "1: expected a number, got 'x'"),
        ("nan\n", "", "1: expected a number, got 'nan'"),
        ("{\n", "", "1: expected a JSON object, got '{'"),
        ("{}\n", "", "1: expected an answer with tokens, got"),
        (5000 * '{"a":', "", "1: expected a JSON object, got"),
        ('{"tokens": ["a"], "x": [1%s]}' % (400 * "0"), "x", "1: expected 1 numbers as x, one a"),
        ('{"tokens": ["a"], "x": [[1e308], [1e308]]}', "x", "1: expected numbers with a sum as x"),
        (json.dumps(ANSWER), "x", "1: expected the field x, got no 'x'"),
        (json.dumps(ANSWER), "attention.2", "1: expected the field attention.2, got no '2'"),
        (json.dumps(ANSWER), "attention.a", "1: expected the field attention.a, got no 'a'"),
        (
            json.dumps(ANSWER),
            "trace.none",
            "1: expected 2 numbers as trace.none, one a token, got None",
        ),
        (
            json.dumps(ANSWER),
            "tokens",
            "1: expected 2 numbers as tokens, one a token, got ['a', 'b']",
        ),
    ],
)
def test_bad_scores_of_words_are_an_error_with_their_line(path, text, field, message):
    file = path(text)
    with pytest.raises(DataFormatError) as error:
        read_word_scores(file, field)
    assert str(error.value).startswith(f"{file}:{message}")


@pytest.mark.parametrize(
    "before, header",
    [("1\n2\n", (1, 2)), ("1\n2\n3\n", (1, 2, 3)), ("lp\tm\tsid\tscore\n", ())],
)
def test_scores_of_sentences_come_in_columns(path, before, header):
    file = read_sentence_scores(path(before + "en-de\ts\t0\t0.5\nen-de\ts\t1\t-1\n"))
    assert file.tags == [[0.5], [-1]]
    assert file.system == SystemInfo("s", "en-de", None, header)


def test_scores_of_sentences_come_one_a_line(path):
    file = read_sentence_scores(path("1\n2\n-0.5\n"))
    assert (file.tags, file.system) == ([[1], [2], [-0.5]], None)


@pytest.mark.parametrize(
    "text, message",
    [
        ("", "1: expected at least one sentence, got an empty file"),
        ("1\nx\n", "2: expected a number, got 'x'"),
        ("1\n\n", "2: expected a number, got ''"),
        ("1\n2\na\tb\t0\tx\n", "3: expected a number, got 'x'"),
        ("1\n2\na\tb\t1\t1\n", "3: expected the sentence 0, got '1'"),
        (
            "1\n2\na\tb\t0\t1\nb\tb\t1\t1\n",
            "4: expected the language pair 'a', as in line 3, got 'b'",
        ),
        (
            "a\tb\t0\t1\n",
            "1: expected a layout that is known (WMT23 gold scores: 4 columns, after ",
        ),
    ],
)
def test_bad_scores_of_sentences_are_an_error_with_their_line(path, text, message):
    file = path(text)
    with pytest.raises(DataFormatError) as error:
        read_sentence_scores(file)
    assert str(error.value).startswith(f"{file}:{message}")
