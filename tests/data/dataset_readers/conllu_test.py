"""CoNLL-U: read, refused, and written back byte for byte."""

import conllu
import pytest
from allennlp.common.checks import ConfigurationError
from hypothesis import given
from hypothesis import strategies as st

from allennlp_nef.data.conllu import COLUMNS, TAG_COLUMNS, read_conllu
from allennlp_nef.data.dataset_readers.conllu import ConlluTagsReader
from tests.data.reader_files import PROPERTY, error_line, labels_of, read, warnings_of, words_of

TEXT = """\
# newdoc id = d1
# sent_id = s1
1-2\tDu\t_\t_\t_\t_\t_\t_\t_\t_
1\tDe\tde\tADP\tP\t_\t4\tcase\t_\t_
2\tle\tle\tDET\tD\tGender=Masc\t3\tdet\t_\t_
2.1\tbon\tbon\tADJ\tA\tGender=Masc\t_\t_\t_\tCopyOf=-1
2.2\tgros\tgros\tADJ\t_\t_\t_\t_\t_\t_
3\tcafé\tcafé\tNOUN\tN\tGender=Masc\t0\troot\t_\t_
4\t10 000\t10 000\tNUM\tN\t_\t3\tnummod\t_\tSpaceAfter=No

0.1\tNul\t_\tPRON\t_\t_\t_\t_\t_\t_
1\tOui\toui\tINTJ\tI\t_\t0\troot\t_\t_
2-2\tici\t_\t_\t_\t_\t_\t_\t_\t_
2\tici\tici\tADV\tR\t_\t1\tadvmod\t_\t_
"""


def row(number, form="x", upos="X"):
    return "\t".join([number, form, "_", upos, *"______"])


def lines_of(ids):
    return "".join(row(number) + "\n" for number in ids.split())


@pytest.fixture
def path(tmp_path):
    return tmp_path / "x.conllu"


class TestFormat:
    @pytest.mark.parametrize(
        "ids, line",
        [
            ("2", 1),
            ("1 02", 2),
            ("1 ٢", 2),
            ("1 1-2 2", 2),
            ("2-1", 1),
            ("1-3 1 2-3", 3),
            (f"1-{'9' * 5000}", 1),
            ("0.1", 0),
            ("1 2-3 2", 3),
        ],
    )
    def test_ids_out_of_order_and_ranges_without_words_are_errors(self, path, ids, line):
        text = "# c\n" + lines_of(ids) + "\n" + lines_of("1")
        assert error_line(ConlluTagsReader(), path, text) == line + 1

    @pytest.mark.parametrize(
        "line",
        [row("1")[:-2], row("1") + "\t_", row("1").replace("\t", " "), "\xa0", row(""), " \t "],
    )
    def test_lines_without_ten_columns_are_an_error(self, path, line):
        text = f"{row('1')}\n\n# c\n{row('1')}\n{line}\r\n"
        assert error_line(ConlluTagsReader(), path, text) == 5

    @pytest.mark.parametrize(
        "text, line",
        [("", 1), ("\n\n", 1), ("# a = b\n", 1), (lines_of("1") + "\n# a\n\n" + lines_of("1"), 3)],
    )
    def test_sentences_without_words_are_an_error(self, path, text, line):
        assert error_line(ConlluTagsReader(), path, text) == line


# What a column may hold: all characters but tabs and line ends. Some are whitespace or line ends for Python.
CHARACTERS = st.characters(exclude_categories=["Cs"], exclude_characters="\t\r\n\ufeff")
VALUES = st.text(
    CHARACTERS | st.sampled_from(" \xa0\u2028\x0b\x0c\x85_#=-."), min_size=1, max_size=6
)
COMMENTS = st.sampled_from(["#", "# text = a b", "# newpar", "# sent_id=1", "#\xa0x\t\u2028"])


@st.composite
def sentences(draw):
    """Lines without their ends, each with whether it is a word."""
    others = st.lists(VALUES, min_size=9, max_size=9)
    lines = [(comment, False) for comment in draw(st.lists(COMMENTS, max_size=3))]

    def add(number, is_word=False):
        lines.append(("\t".join([str(number), *draw(others)]), is_word))

    range_end = word = 0
    num_words = draw(st.integers(1, 5))
    while word < max(num_words, range_end):
        for node in range(draw(st.sampled_from([0, 0, 1, 2]))):
            add(f"{word}.{node + 1}")
        word += 1
        last = word + draw(st.integers(-1, 2))
        if word > range_end and last >= word:
            range_end = last
            add(f"{word}-{last}")
        add(word, True)
    return lines


@PROPERTY
@given(
    made=st.lists(sentences(), min_size=1, max_size=3),
    line_end=st.sampled_from(["\n", "\r\n"]),
    gap=st.sampled_from([[""], ["", ""], [" ", ""]]),
    end=st.sampled_from(["", "\n", "\n\n", "\n\n\n"]),
    leading=st.booleans(),
    mark=st.booleans(),
    column=st.sampled_from(TAG_COLUMNS),
    new=VALUES,
)
def test_only_the_column_changes(path, made, line_end, gap, end, leading, mark, column, new):
    lines = [("", False)] if leading else []
    for sentence in made:
        lines += sentence + [(line, False) for line in gap]
    lines = lines[: -len(gap)]
    end = end.replace("\n", line_end)
    text = line_end.join(line for line, _ in lines) + end
    path.write_bytes(("\ufeff" * mark + text).encode("utf-8"))
    found = list(read_conllu(str(path)))
    own = "".join(sentence.with_columns({column: sentence.column(column)}) for sentence in found)
    assert own.encode("utf-8") == text.encode("utf-8")
    words = [line.split("\t") for line, is_word in lines if is_word]
    assert [word for sentence in found for word in sentence.words] == words
    numbers = [number for number, (_, is_word) in enumerate(lines, 1) if is_word]
    assert [number for sentence in found for number in sentence.lines] == numbers
    assert len(found) == len(made)
    # Other tags change that column of the words, and nothing else.
    index = COLUMNS.index(column)
    expected = []
    for line, is_word in lines:
        columns = line.split("\t")
        columns[index : index + is_word] = [new] * is_word
        expected.append("\t".join(columns))
    tagged = [sentence.with_columns({column: [new] * len(sentence.words)}) for sentence in found]
    assert "".join(tagged) == line_end.join(expected) + end


@PROPERTY
@given(made=st.lists(sentences(), min_size=1, max_size=3))
def test_words_are_those_of_the_conllu_package(path, made):
    """With plain values: that package also splits at other whitespace, and refuses the range `3-3`."""
    lines = []
    for line, _ in [pair for sentence in made for pair in [*sentence, ("", False)]]:
        number, *values = line.split("\t")
        is_short = "-" in number and len(set(number.split("-"))) == 1
        if not number.startswith("#") and not is_short:
            lines.append("\t".join([number, *(str(len(value)) for value in values)]))
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    expected = [
        [(token["form"], token["upos"]) for token in sentence if isinstance(token["id"], int)]
        for sentence in conllu.parse(path.read_text(encoding="utf-8"))
    ]
    found = read_conllu(str(path))
    assert [list(zip(s.column("form"), s.column("upos"))) for s in found] == expected


def without(text, *columns):
    """The text with `_` in some columns."""
    lines = [line.split("\t") for line in text.split("\n")]
    for line in lines:
        for column in columns:
            if len(line) == 10:
                line[column] = "_"
    return "\n".join(map("\t".join, lines))


class TestTags:
    @pytest.mark.parametrize(
        "options, labels",
        [
            ({}, [["ADP", "DET", "NOUN", "NUM"], ["INTJ", "ADV"]]),
            ({"column": "xpos"}, [["P", "D", "N", "N"], ["I", "R"]]),
            ({"column": "feats"}, [["_", "Gender=Masc", "Gender=Masc", "_"], ["_", "_"]]),
        ],
    )
    def test_labels_are_those_of_the_column(self, path, caplog, options, labels):
        instances = read(ConlluTagsReader(**options), path, TEXT)
        assert list(map(labels_of, instances)) == labels
        assert words_of(instances[0]) == ["De", "le", "café", "10 000"]
        assert warnings_of(caplog) == []

    @pytest.mark.parametrize(
        "column, empty", [("upos", [3]), ("xpos", [4]), ("feats", [3, 5]), ("upos", [3, 4, 5])]
    )
    def test_files_without_values_are_unlabeled(self, path, caplog, column, empty):
        instances = read(ConlluTagsReader(column), path, without(TEXT, *empty))
        assert list(map(labels_of, instances)) == [None, None]
        (warning,) = warnings_of(caplog)
        assert str(path) in warning

    def test_missing_features_are_labels_where_there_are_parts_of_speech(self, path, caplog):
        instances = read(ConlluTagsReader("feats"), path, without(TEXT, 5))
        assert list(map(labels_of, instances)) == [["_"] * 4, ["_"] * 2]
        assert warnings_of(caplog) == []

    @pytest.mark.parametrize("column", TAG_COLUMNS)
    def test_labels_of_multiword_tokens_and_empty_nodes_do_not_count(self, path, column):
        text = "1-2\tx\t_\tX\tX\tX=x\t_\t_\t_\t_\n1\tx\t_\t_\t_\t_\t_\t_\t_\t_\n"
        text += "1.1\tx\t_\tX\tX\tX=x\t_\t_\t_\t_\n2\tx\t_\t_\t_\t_\t_\t_\t_\t_\n"
        (instance,) = read(ConlluTagsReader(column), path, text)
        assert labels_of(instance) is None

    def test_words_without_upos_among_others_have_no_gold_tag(self, path):
        expected, _ = read(ConlluTagsReader(), path, TEXT)
        text = TEXT.replace("\tDET\t", "\t_\t")
        first, _ = read(ConlluTagsReader(), path, text)
        assert labels_of(first) == [None if tag == "DET" else tag for tag in labels_of(expected)]
        first, _ = read(ConlluTagsReader("xpos"), path, text)
        assert labels_of(first) == ["P", "D", "N", "N"]

    def test_json_lines_are_read(self, tmp_path):
        text = '{"tokens": ["a", "b"], "tags": ["X=Y|Z", null], "x": 1}\n'
        (instance,) = read(ConlluTagsReader("feats"), tmp_path / "x.jsonl", text)
        assert (words_of(instance), labels_of(instance)) == (["a", "b"], ["X=Y|Z", None])
        text = '{"tokens": ["a", "b"], "tags": ["_", "X"]}'
        for column, tag in (("upos", None), ("xpos", "_"), ("feats", "_")):
            (instance,) = read(ConlluTagsReader(column), tmp_path / "x.jsonl", text)
            assert labels_of(instance) == [tag, "X"]

    def test_other_columns_are_refused(self):
        with pytest.raises(ConfigurationError):
            ConlluTagsReader("form")
