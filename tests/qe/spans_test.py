"""Error spans: read, projected onto words, and made of words."""

import json
import random

import pytest

from allennlp_nef.data.sentence import Sentence, find_words
from allennlp_nef.errors import DataFormatError
from allennlp_nef.qe.span_files import read_segments
from allennlp_nef.qe.spans import ErrorSpan, join_bad_words, project_spans, token_offsets
from tests.qe.qe_files import DEVELOPMENT, GOLD, SHARED, development_row

ESA = SHARED / "data" / "qe" / "wmt24-esa"


def pair_of(segment):
    return f"{segment.source_language}-{segment.target_language}"


def error_line(path):
    with pytest.raises(DataFormatError) as info:
        list(read_segments(path))
    name, line, _ = str(info.value).split(":", 2)
    assert name == path
    return int(line)


class TestTables:
    def test_development_data_have_sources(self, write_text):
        rows = development_row() + development_row("yes", "ja", "-1\t-1\tno-error")
        first, second = read_segments(write_text("a.tsv", DEVELOPMENT + rows))
        assert (first.source.text, first.target.text) == ("so it is", "so  ist es")
        assert first.spans == [(4, 9, "minor"), (6, 7, "major"), (10, 10, "major")]
        assert (first.system, first.document, first.name, first.target.lines) == (
            "A",
            "d",
            "0",
            [2],
        )
        assert (second.spans, second.target.lines) == ([], [3])

    @pytest.mark.parametrize("before", [GOLD, "1\n2\n3\n"])
    def test_gold_files_and_submissions_have_none(self, write_text, before):
        rows = "en-de\tgold\t0\tja!\t2\t3\tmajor\nen-de\tgold\t1\tja\t-1\t-1\tno-error\n"
        first, second = read_segments(write_text("a.tsv", before + rows))
        assert (first.source.text, first.target.text, pair_of(first)) == (None, "ja!", "en-de")
        assert (first.spans, second.spans) == ([(2, 3, "major")], [])
        assert (first.system, second.name) == ("gold", "1")

    @pytest.mark.parametrize(
        "spans",
        [
            "0\t5\tminor",  # two characters after the text
            "-1\t1\tminor",
            "0 1\t1\tminor",
            "\t\t",
            "0\t" + "9" * 5000 + "\tminor",
            "0\t1\tMinor",
            "-1 0\t-1 1\tno-error minor",
        ],
    )
    def test_wrong_spans_are_an_error_with_their_line(self, write_text, spans):
        first = "en-de\tgold\t0\tabc\t0\t1\tminor\n"
        assert error_line(write_text("a.tsv", f"{GOLD}{first}en-de\tgold\t1\tabc\t{spans}\n")) == 3
        assert error_line(write_text("a.tsv", GOLD + first + first)) == 3  # the order of sentences

    @pytest.mark.parametrize("pair, pairs", [(None, ["en-de", "he-en"]), ("he-en", ["he-en"])])
    def test_each_language_pair_is_counted_from_0(self, write_text, pair, pairs):
        rows = "en-de\tgold\t0\tja\t0\t1\tminor\nhe-en\tgold\t0\tyes\t-1\t-1\tno-error\n"
        segments = read_segments(write_text("a.tsv", GOLD + rows), pair)
        assert [pair_of(segment) for segment in segments] == pairs

    def test_unknown_language_pair_is_an_error(self, write_text):
        path = write_text("a.tsv", GOLD + "en-de\tgold\t0\tja\t0\t1\tminor\n")
        with pytest.raises(DataFormatError, match=f"{path}:1: .*'zh-en', got en-de"):
            list(read_segments(path, "zh-en"))

    def test_other_column_names_are_an_error_that_tells_the_known_ones(self, write_text):
        path = write_text("a.tsv", GOLD.replace("lp", "languages").replace("sid", "0"))
        with pytest.raises(DataFormatError, match=f"{path}:1: .* lp or mt_system"):
            list(read_segments(path))

    def test_span_may_include_a_character_after_the_text(self, write_text):
        """In the development data of WMT23, one span does."""
        row = "en-de\tgold\t0\tabc\t1 3\t4 4\tminor major\n"
        (segment,) = read_segments(write_text("a.tsv", GOLD + row))
        assert segment.spans == [(1, 3, "minor"), (3, 3, "major")]


def esa(**fields):
    line = {"pair": "en-de", "doc": "d", "segment": 1, "system": "s", "source": "a b"}
    line |= {"target": "x y", "spans": [], "omission": None, "score": 90, "domain": "news"}
    return json.dumps(line | fields) + "\n"


def span(start, end, severity="minor"):
    return {"start": start, "end": end, "severity": severity}


class TestEsaLines:
    def test_fields(self, write_text):
        spans = [span(0, 1, "major"), span(2, 3, "critical"), span(0, 1, "undecided")]
        path = write_text("a.jsonl", esa(spans=spans, omission="minor") + "\n" + esa(segment=2))
        first, second = read_segments(path)
        assert first.spans == [(0, 1, "major"), (2, 3, "major")]
        assert (first.omission, first.score, first.name) == ("minor", 90, "1")
        assert (pair_of(first), first.document, first.system) == ("en-de", "d", "s")
        assert (first.domain, first.protocol, first.place) == ("news", "ESA", f"{path}:1")
        assert (second.spans, second.omission, second.place) == ([], None, f"{path}:3")

    def test_fields_that_may_be_missing(self, write_text):
        path = write_text("a.jsonl", '{"source": "a", "target": "x"}\n' + esa(omission="undecided"))
        first, second = read_segments(path)
        assert (first.spans, first.omission, first.score) == (None, None, None)
        assert first.source_language is first.target_language is None
        assert second.omission is None

    @pytest.mark.parametrize(
        "fields",
        [
            {"spans": [span(0, 5)]},
            {"spans": [span(2, 1)]},
            {"spans": [span(0, 1, "bad")]},
            {"spans": [span(False, 1)]},
            {"spans": "none"},
            {"omission": "x"},
            {"score": "good"},
            {"target": None},
            {"source": "\ud800"},
        ],
    )
    def test_mistakes_are_errors_with_their_line(self, write_text, fields):
        assert error_line(write_text("a.jsonl", esa() + esa(**fields))) == 2

    @pytest.mark.parametrize("text", ["{}\n", "[1]\n", "x\n", "{\n", "[" * 10**5])
    def test_other_lines_are_errors(self, write_text, text):
        assert error_line(write_text("a.jsonl", text)) == 1


def project(text, spans, words, severities=False):
    return project_spans(text, spans, find_words(text, words), severities)


def test_projection_agrees_with_a_table_of_characters():
    rng = random.Random(0)
    for _ in range(100):
        words = ["".join(rng.choices("ab,", k=rng.randint(1, 4))) for _ in range(rng.randint(1, 6))]
        text, owner = "", []
        for i, word in enumerate(words):
            blanks = " " * rng.randint(i > 0, 2)
            text, owner = text + blanks + word, owner + [None] * len(blanks) + [i] * len(word)
        start = rng.randrange(len(text))
        end = rng.randint(start, len(text))
        expected = set(owner[start:end]) - {None}
        if not text[start:end].strip():
            begins = {owner.index(i): i for i in range(len(words))}
            expected = {next((begins[k] for k in range(end, len(text)) if k in begins), len(words))}
        tags = project(text, [ErrorSpan(start, end, "major")], words)
        assert {i for i, tag in enumerate(tags) if tag == "BAD"} == expected


def test_words_have_the_more_severe_error_that_touches_them():
    spans = [ErrorSpan(1, 5, "major"), ErrorSpan(0, 9, "minor"), ErrorSpan(9, 9, "minor")]
    words = ["ab", "cde", "f"]
    assert project("ab cde  f", spans, words, True) == ["major", "major", "minor", "minor"]
    assert project("ab cde  f", spans, words) == ["BAD"] * 4


def test_projected_words_become_spans_that_cover_them():
    """Both ways: spans of whole words are found again."""
    rng = random.Random(1)
    for _ in range(100):
        words = [rng.choice(["ab", "c", "def"]) for _ in range(rng.randint(1, 8))]
        text = " ".join(words)
        offsets = find_words(text, words)
        tags = [rng.choice(["OK", "minor", "major"]) for _ in words]
        spans = join_bad_words(text, offsets, tags, [0.5] * len(words))
        errors = [ErrorSpan(span["start"], span["end"], span["severity"]) for span in spans]
        assert project_spans(text, errors, offsets, True) == [*tags, "OK"]
        assert all(span["text"] == text[span["start"] : span["end"]] for span in spans)


def test_adjacent_words_of_one_severity_are_a_span():
    def spans(*tags):
        offsets = [(0, 2), (4, 8), (9, 12), (13, 14), (14, 14)][: len(tags)]
        spans = join_bad_words("Er  geht nun .", offsets, tags, [0.5, 0.7, 0.9, 0.1, 0.3])
        return [tuple(span.values()) for span in spans]

    first, last = (0, 2, "Er", "minor", 0.5), (13, 14, ".", "major", 0.1)
    assert spans("major", "major", "OK", "major") == [(0, 8, "Er  geht", "major", 0.6), last]
    assert spans("minor", "major", "major") == [first, (4, 12, "geht nun", "major", 0.8)]
    # <EOS> is an empty span of its own.
    assert spans("OK", "OK", "OK", "major", "major") == [last, (14, 14, "", "major", 0.3)]
    assert spans("BAD", "OK") == [(0, 2, "Er", 0.5)]
    assert spans("OK", "OK") == []


@pytest.mark.parametrize(
    "words, text, known, offsets",
    [
        ("a bc <EOS>", None, None, [(0, 1), (2, 4), (5, 10)]),
        ("a bc", "a  bc ", None, [(0, 1), (3, 5), (6, 6)]),
        ("a bc <EOS>", "a bc <EOS>", None, [(0, 1), (2, 4), (5, 10)]),
        ("a bc<EOS>", "a bc<EOS>", None, [(0, 1), (2, 9), (9, 9)]),
        ("a bc", "abc", [(0, 1), (1, 3)], [(0, 1), (1, 3), (3, 3)]),
    ],
)
def test_places_of_tokens(words, text, known, offsets):
    sentence = Sentence(words.split(), text=text, offsets=known)
    tokens = [*sentence.words, "<EOS>"][: len(offsets)]
    assert token_offsets(tokens, sentence)[1] == offsets
    assert token_offsets(["<gap>", *tokens], sentence)[1][0] == (0, 5)
