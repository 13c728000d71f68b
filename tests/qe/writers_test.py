"""The output formats of quality estimation, and what is written is read again."""

import csv
import io

import pytest
from allennlp.common.checks import ConfigurationError
from hypothesis import given
from hypothesis import strategies as st

from allennlp_nef.data.dataset_readers.base import Prediction
from allennlp_nef.data.sentence import Sentence
from allennlp_nef.qe.reader import WmtWordQeReader
from allennlp_nef.qe.scored_files import read_word_tags
from allennlp_nef.qe.span_files import read_segments
from allennlp_nef.qe.spans import ErrorSpan
from allennlp_nef.qe.translated_sentence import TranslatedSentence
from allennlp_nef.qe.writers import WRITERS
from tests.data.reader_files import PROPERTY

WORDS = st.text(
    st.characters(exclude_categories=["Cs", "Zs"], exclude_characters=" \t\r\n"), min_size=1
)
OPTIONS = {"method": "m m", "language_pair": "en-de", "header": (8, 2, 1)}
SENTENCES = [(["das", "Küche"], ["OK", "BAD"]), (["x", "\x00"], ["minor", "OK"])]
ROWS = ["0\t0\tdas\tOK\n", "0\t1\tKüche\tBAD\n", "1\t0\tx\tBAD\n", "1\t1\t\x00\tOK\n"]
SEVEN_COLUMNS = "".join(f"en-de\tm m\tmt\t{row}" for row in ROWS)


def pair_of(words, text=None):
    return TranslatedSentence(Sentence([]), Sentence(words, text=text), tokens=words)


def written(name, sentences=SENTENCES, options=OPTIONS, tagged="target", **answer):
    reader = WmtWordQeReader(tagged=tagged)
    return "".join(
        WRITERS[name](reader, Prediction(number, {"tags": tags, **answer}, pair_of(words), options))
        for number, (words, tags) in enumerate(sentences)
    )


GAPS = [(["A", "B", "<EOS>"], ["OK", "BAD", "BAD"])]
WORDS_AND_GAPS = [(["<gap>", "A", "<gap>", "<gap>", "<gap>"], ["BAD", "OK", "OK", "BAD", "OK"])]
SOURCE = [(["a"], ["OK"])]
GAP_ROWS = ["0\tgap\tBAD", "1\tgap\tOK", "2\tgap\tOK"]


@pytest.mark.parametrize(
    "name, tagged, sentences, expected",
    [
        ("tags", "target", SENTENCES, "OK BAD\nBAD OK\n"),
        ("tsv", "target", SENTENCES, "".join(f"m m\t{row}" for row in ROWS)),
        ("text", "target", SENTENCES, "das Küche/BAD\nx/minor \x00\n"),
        ("wmt20", "target", SENTENCES, "8\n2\n" + SEVEN_COLUMNS),
        ("wmt22", "target", SENTENCES, "8\n2\n1\n" + SEVEN_COLUMNS),
        ("wmt-sentences", "target", SENTENCES, "8\n2\n1\nen-de\tm m\t0\t0.1\nen-de\tm m\t1\t0.1\n"),
        ("text", "gaps", GAPS, "A <gap>/BAD B <gap>/BAD\n"),
        ("tsv", "gaps", GAPS, "m m\t0\t0\tgap\tOK\nm m\t0\t1\tgap\tBAD\nm m\t0\t2\tgap\tBAD\n"),
        ("tags", "target_and_gaps", WORDS_AND_GAPS, "BAD OK OK BAD OK\n"),
        # The second word is `<gap>`, too.
        ("text", "target_and_gaps", WORDS_AND_GAPS, "<gap>/BAD A <gap>/BAD\n"),
        ("tsv", "target_and_gaps", WORDS_AND_GAPS, "m m\t0\t0\tA\tOK\nm m\t0\t1\t<gap>\tBAD\n"),
        ("text", "target", [(["<gap>", "a"], ["OK", "BAD"])], "<gap> a/BAD\n"),
        ("wmt20", "source", SOURCE, "8\n2\nen-de\tm m\tsource\t0\t0\ta\tOK\n"),
        (
            *("wmt20_gaps", "target_and_gaps", WORDS_AND_GAPS),
            "8\n2\n" + "".join(f"en-de\tm m\tgap\t0\t{row}\n" for row in GAP_ROWS),
        ),
    ],
)
def test_words_gaps_source_and_scores(name, tagged, sentences, expected):
    assert written(name, sentences, tagged=tagged, expected_bad_share=0.1) == expected


@pytest.mark.parametrize(
    "name, tagged, options",
    [
        ("wmt20_gaps", "target", OPTIONS),
        ("wmt-sentences", "target", {**OPTIONS, "language_pair": None}),
        ("wmt23-spans", "gaps", OPTIONS),
        ("wmt25-spans", "target", OPTIONS),
    ],
)
def test_formats_that_the_model_or_the_options_do_not_allow(name, tagged, options):
    with pytest.raises(ConfigurationError):
        written(name, options=options, tagged=tagged, expected_bad_share=0.5)


def spans_of(*spans):
    names = ("start", "end", "severity")
    return [dict(zip(names, span)) for span in spans]


SPANS = [(0, 1, "minor"), (3, 3, "major")]


def spans_written(name, pair):
    """A sentence with the `SPANS` and one without any."""
    return "".join(
        WRITERS[name](WmtWordQeReader(), Prediction(number, {"spans": spans}, pair, OPTIONS))
        for number, spans in enumerate([spans_of(*SPANS), []])
    )


def test_spans_of_wmt23():
    assert spans_written("wmt23-spans", pair_of(["x", "y"], "x\ty")) == (
        "8\n2\n1\nen-de\tm m\t0\tx y\t0 3\t1 3\tminor major\nen-de\tm m\t1\tx y\t-1\t-1\tno-error\n"
    )


def test_spans_of_wmt25():
    source, target = Sentence([], text="b"), Sentence([], text='say "a"')
    segment = TranslatedSentence(source, target, name="1", document="d", system="s", domain="news")
    segment.source_language, segment.target_language = "en", "de"
    text = spans_written("wmt25-spans", segment)
    names, first, second = csv.reader(io.StringIO(text), delimiter="\t")
    assert names[:3] == ["doc_id", "segment_id", "source_lang"] and len(names) == 14
    assert first == [
        *("d", "1", "en", "de", "official", "s", "b", 'say "a"', "", "news", "ESA"),
        *("0 missing", "1 missing", "minor major"),
    ]
    assert second == [*first[:11], "-1", "-1", "no-error"]


class TestRoundTrips:
    @PROPERTY
    @given(
        st.lists(
            st.lists(st.tuples(WORDS, st.sampled_from(["OK", "BAD"])), min_size=1, max_size=4),
            min_size=1,
            max_size=3,
        )
    )
    def test_any_words(self, tmp_path, sentences):
        sentences = [tuple(map(list, zip(*rows))) for rows in sentences]
        for name in ("tsv", "wmt20", "wmt22"):
            (tmp_path / "t").write_text(written(name, sentences), encoding="utf-8")
            found = read_word_tags(str(tmp_path / "t")).sentences
            assert [(each.words, each.tags) for each in found] == sentences
        (tmp_path / "t.tsv").write_text(written("wmt23-spans", sentences, spans=[]), "utf-8")
        texts = [segment.target.text for segment in read_segments(str(tmp_path / "t.tsv"))]
        assert texts == [" ".join(words) for words, _ in sentences]

    def test_spans(self, tmp_path):
        text = written("wmt23-spans", spans=spans_of(*SPANS))
        (tmp_path / "a.tsv").write_text(text, encoding="utf-8")
        first, second = read_segments(str(tmp_path / "a.tsv"))
        assert (first.target.text, second.target.text) == ("das Küche", "x \x00")
        assert first.spans == second.spans == [ErrorSpan(*span) for span in SPANS]
