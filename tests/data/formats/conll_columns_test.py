import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from allennlp_nef.data.formats.conll_columns import (
    BOUNDARIES,
    as_column,
    format_columns,
    read_columns,
)
from allennlp_nef.errors import DataFormatError

# Neither separators, line ends nor surrogates. Much that looks like them: NBSP, form feed, U+0085, U+2028.
CHARACTERS = st.characters(blacklist_categories=("Cs",), blacklist_characters=" \t\r\n\ufeff")
CELLS = st.text(CHARACTERS | st.sampled_from("\xa0\x0b\x0c\x1c\x85\u2028\u3000#-"), min_size=1)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "x.conll"


def read(path, text, encoding="utf-8"):
    path.write_bytes(text.encode(encoding))
    return list(read_columns(str(path), encoding))


def rows_of(path, text):
    return [sentence.rows for sentence in read(path, text)]


def error_of(path, text):
    with pytest.raises(DataFormatError) as info:
        read(path, text)
    return str(info.value)


@st.composite
def files(draw):
    """Sentences of a file with one number of columns."""
    cells = st.lists(CELLS, min_size=0, max_size=3)
    width = len(draw(cells)) + 1
    row = st.tuples(*[CELLS] * width).filter(lambda row: row[0] not in BOUNDARIES)
    return draw(st.lists(st.lists(row, min_size=1, max_size=4), min_size=1, max_size=4))


PROPERTY = settings(
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


class TestRoundTrip:
    @PROPERTY
    @given(sentences=files())
    def test_what_is_written_is_read(self, path, sentences):
        assert rows_of(path, "".join(map(format_columns, sentences))) == sentences

    @PROPERTY
    @given(
        sentences=files(),
        separator=st.sampled_from([" ", "\t", "  ", " \t ", "\t\t"]),
        line_end=st.sampled_from(["\n", "\r\n"]),
        gap=st.sampled_from([1, 3]),
        documents=st.sampled_from([None, "-DOCSTART-", "-DOCSTART- -X- O O"]),
        margins=st.tuples(*[st.sampled_from(["", " ", "\t"])] * 2),
        last_end=st.booleans(),
        mark=st.booleans(),
        leading=st.booleans(),
    )
    def test_layout_does_not_matter(
        self, path, sentences, separator, line_end, gap, documents, margins, last_end, mark, leading
    ):
        lines, numbers = [""] * 2 if leading else [], []
        for sentence in sentences:
            lines += [documents, ""] if documents else []
            numbers.append([len(lines) + 1 + i for i in range(len(sentence))])
            lines += [separator.join(row).join(margins) for row in sentence] + [""] * gap
        text = line_end.join(lines) + line_end
        text = "\ufeff" * mark + (text if last_end else text.rstrip("\r\n"))
        found = read(path, text)
        assert [sentence.rows for sentence in found] == sentences
        assert [sentence.lines for sentence in found] == numbers


class TestDocuments:
    @pytest.mark.parametrize(
        "text",
        [
            "-DOCSTART- O\n\na O\n\n-DOCSTART- O\n\nb O\n",
            "-DOCSTART- O\na O\n-DOCSTART- O\nb O\n",  # as in the Dutch of CoNLL-2002
            "-DOCSTART- O\na O\n\n-DOCSTART- O\nb O",
            "-DOCSTART-\n\na O\n\n-DOCSTART- -X- -X- O\n-DOCSTART- -X- -X- O\nb O\n\n-DOCSTART-",
        ],
    )
    def test_documents_end_sentences(self, path, text):
        assert rows_of(path, text) == [[("a", "O")], [("b", "O")]]


class TestErrors:
    @pytest.mark.parametrize(
        "text, message",
        [
            ("a N O\nb O\n", "2: expected 3 columns as in line 1, got 2: 'b O'"),
            ("a O\n\n\nb O\n\nc\n", "6: expected 2 columns as in line 1, got 1: 'c'"),
            ("-DOCSTART-\n\na O\n\nb\n", "5: expected 2 columns as in line 3, got 1: 'b'"),
            ("a O\r\nb\r\n", "2: expected 2 columns as in line 1, got 1: 'b'"),
            ("a O\n\xa0\nb O\n", "2: expected 2 columns as in line 1, got 1: '\\xa0'"),
        ],
    )
    def test_other_numbers_of_columns_are_an_error(self, path, text, message):
        assert error_of(path, text) == f"{path}:{message}"

    @pytest.mark.parametrize("cell", ["", " ", "a b", "a\tb", "a\n", "\r"])
    def test_bad_cells_are_refused(self, cell):
        with pytest.raises(DataFormatError) as info:
            format_columns([["a", "O"], [cell, "O"]])
        assert str(info.value) == f"column: expected text without whitespace, got {cell!r}"


def test_boundary_of_conlleval_ends_a_sentence(tmp_path):
    path = tmp_path / "x.conll"
    path.write_text("a O\n-X- x y z\nb O\n\n-X- O\n\nc-X- O\n", encoding="utf-8")
    sentences = list(read_columns(str(path)))
    assert [sentence.lines for sentence in sentences] == [[1], [3], [7]]


@pytest.mark.parametrize(
    ("text", "column"),
    [
        ("a-b", "a-b"),
        ("1 250", "1_250"),
        ("a\u00a0\tb", "a_b"),
        ("-X-", "_X_"),
        ("-DOCSTART-", "_DOCSTART_"),
        ("-", "-"),
    ],
)
def test_whitespace_and_boundaries_are_replaced(text, column):
    assert as_column(text) == column
    assert len(format_columns([[as_column(text)]]).split()) == 1
