import itertools

import pytest
from allennlp.common.checks import ConfigurationError
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from allennlp_nef.data import ConllTagsReader
from allennlp_nef.data.formats.chunks import chunks_of, is_allowed
from allennlp_nef.data.formats.conll_columns import ColumnSentence
from allennlp_nef.errors import DataFormatError
from tests.data.dataset_readers.reader_files import warnings_of

ENGLISH = """\
-DOCSTART- -X- O O

EU NNP I-NP I-ORG
rejects VBZ I-VP O
German JJ I-NP I-MISC
call NN I-NP I-MISC
New NNP B-NP B-MISC

-DOCSTART- -X- O O

Peter NNP I-NP I-PER
Blackburn NNP I-NP I-PER
"""


@pytest.fixture
def path(tmp_path):
    return tmp_path / "x.conll"


def read(path, text, **options):
    path.write_bytes(text.encode("utf-8"))
    return list(ConllTagsReader(**options).read(str(path)))


def labels_of(instance):
    return instance["tags"].labels if "tags" in instance.fields else None


def words_of(instance):
    return [token.text for token in instance["tokens"]]


def error_of(path, text, **options):
    with pytest.raises(DataFormatError) as info:
        read(path, text, **options)
    return str(info.value)


GERMEVAL = """\
#\thttp://de.wikipedia.org/wiki/Manfred_Korfmann [2009-10-17]
1\tAufgrund\tO\tO
2\t#\tO\tO
3\tTrojaner\tB-LOCderiv\tB-LOC

#\thttp://de.wikipedia.org/wiki/Berlin [2009-10-19]
1\tBerlin\tB-LOC\tO
"""
GERMEVAL_OPTIONS = {"word_column": 1, "tag_column": 2, "comment_prefix": "#"}


class TestComments:
    def test_germeval_is_read_without_its_comments(self, path):
        first, second = read(path, GERMEVAL, **GERMEVAL_OPTIONS)
        assert (words_of(first), words_of(second)) == (["Aufgrund", "#", "Trojaner"], ["Berlin"])
        assert (labels_of(first), labels_of(second)) == (["O", "O", "B-LOCderiv"], ["B-LOC"])
        assert first["metadata"].metadata.sentence.lines == [2, 3, 4]
        inner, _ = read(path, GERMEVAL, **{**GERMEVAL_OPTIONS, "tag_column": 3})
        assert labels_of(inner) == ["O", "O", "B-LOC"]

    def test_an_error_in_a_file_that_begins_with_a_hash_names_the_option(self, path):
        message = error_of(path, GERMEVAL, word_column=1, tag_column=2)
        assert "x.conll:2: expected 3 columns as in line 1, got 4" in message
        assert message.endswith("(line 1 begins with #: is it a comment? See comment_prefix)")

    @pytest.mark.parametrize("prefix", ["", " #", 1])
    def test_prefixes_have_text_without_whitespace(self, prefix):
        with pytest.raises(ConfigurationError, match="comment_prefix: expected text without"):
            ConllTagsReader(comment_prefix=prefix)


@pytest.mark.parametrize("separator", [",", ";"])
def test_columns_that_commas_separate_are_an_error(path, separator):
    text = "Marlow B-PER\nlives O\n, O\n".replace(" ", separator)
    assert error_of(path, text) == (
        f"{path}:1: expected columns separated by blanks or tabs, got one column, whose words all have {separator!r} "
        f"in them: 'Marlow{separator}B-PER'"
    )
    (instance,) = read(path, "1,5\n,\nlives\n")
    assert words_of(instance) == ["1,5", ",", "lives"]


class TestSchemes:
    def test_iob1_is_read_as_bio(self, path):
        first, second = read(path, ENGLISH)
        assert words_of(first) == ["EU", "rejects", "German", "call", "New"]
        assert labels_of(first) == ["B-ORG", "O", "B-MISC", "I-MISC", "B-MISC"]
        assert labels_of(second) == ["B-PER", "I-PER"]
        sentence = second["metadata"].metadata.sentence
        assert isinstance(sentence, ColumnSentence)
        assert sentence.rows[1] == ("Blackburn", "NNP", "I-NP", "I-PER")
        assert sentence.lines == [11, 12]
        assert second["metadata"].metadata.tags == labels_of(second)

    @settings(
        deadline=None,
        derandomize=True,
        suppress_health_check=[HealthCheck.function_scoped_fixture],
    )
    @given(
        sentences=st.lists(
            st.lists(
                st.sampled_from(["O", *map("-".join, itertools.product("BILUES", ("X", "Y-Z")))]),
                min_size=1,
                max_size=6,
            ),
            min_size=1,
            max_size=3,
        ),
        scheme=st.sampled_from(["BIO", "BIOUL"]),
    )
    def test_chunks_are_the_same_in_each_scheme(self, path, sentences, scheme):
        """Any tags are read, and become well-formed."""
        text = "".join("".join(f"w {tag}\n" for tag in tags) + "\n" for tags in sentences)
        instances = read(path, text, tag_scheme=scheme)
        assert list(map(chunks_of, map(labels_of, instances))) == list(map(chunks_of, sentences))
        for labels in map(labels_of, instances):
            transitions = zip([None, *labels], [*labels, None])
            assert all(is_allowed(before, after, scheme) for before, after in transitions)


class TestColumns:
    @pytest.mark.parametrize(
        "options, words, tags",
        [
            ({}, "ac", ["B-C", "O"]),
            ({"tag_column": 2}, "ac", ["B-C", "O"]),
            ({"tag_column": -2}, "ac", ["O", "B-B"]),
            ({"tag_column": 1, "word_column": 2}, ["I-C", "O"], ["O", "B-B"]),
            ({"tag_column": -2, "word_column": -1}, ["I-C", "O"], ["O", "B-B"]),
            ({"tag_column": None, "word_column": 1}, ["O", "I-B"], None),
        ],
        ids=str,
    )
    def test_columns_are_counted_from_both_ends(self, path, caplog, options, words, tags):
        (instance,) = read(path, "a O I-C\nc I-B O\n", **options)
        assert words_of(instance) == list(words)
        assert labels_of(instance) == tags
        assert warnings_of(caplog) == []

    @pytest.mark.parametrize(
        "text, options",
        [
            ("a\nb\n\nc\n", {}),
            ("a N\nb N\n\nc N\n", {"tag_column": 3}),
            ("a N\nb N\n\nc N\n", {"tag_column": -3}),
            ("N a\nN b\n\nN c\n", {"word_column": -1, "tag_column": 1}),
        ],
    )
    def test_a_file_without_the_column_is_unlabeled(self, path, caplog, text, options):
        instances = read(path, text, **options)
        assert list(map(words_of, instances)) == [["a", "b"], ["c"]]
        assert list(map(labels_of, instances)) == [None, None]
        message = f"{path} has no column of tags: the sentences are unlabeled (tag_column is "
        (warning,) = warnings_of(caplog)
        assert warning.startswith(message)

    @pytest.mark.parametrize("column, width", [(2, 2), (-3, 2), (1, 1)])
    def test_files_without_the_word_column_are_an_error(self, path, column, width):
        text = "\n" + " ".join("ab"[:width]) + "\n"
        assert error_of(path, text, word_column=column, tag_column=5) == (
            f"{path}:2: expected a column {column} with the words (word_column, from 0), got {width} columns"
        )

    @pytest.mark.parametrize(
        "options, message",
        [
            ({"tag_scheme": "IOB1"}, "tag_scheme: expected BIO, BIOUL or null, got 'IOB1'"),
            ({"tag_column": "ner"}, "tag_column: expected an integer, got 'ner'"),
            ({"tag_column": True}, "tag_column: expected an integer, got True"),
            ({"word_column": None}, "word_column: expected an integer, got None"),
            ({"tag_column": 0}, "tag_column: expected another column than word_column, got 0"),
        ],
    )
    def test_bad_options_are_refused(self, options, message):
        with pytest.raises(ConfigurationError) as info:
            ConllTagsReader(**options)
        assert message in str(info.value)


class TestErrors:
    @pytest.mark.parametrize("tag", ["NC", "B-"])
    def test_tags_that_are_no_chunk_tags_are_an_error(self, path, tag):
        message = error_of(path, f"a N O\n\nb N B-X\nc N {tag}\nd N y\n")
        assert message == (
            f"{path}:4: expected O or a chunk tag such as B-PER, got {tag!r} in column 2 "
            "(from 0; see tag_column and tag_scheme)"
        )
