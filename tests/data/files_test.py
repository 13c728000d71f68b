"""Lines of files, and the positions of words."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from allennlp_nef.data.files import data_paths, parse_lines, read_lines, read_objects
from allennlp_nef.data.sentence import find_words
from allennlp_nef.errors import DataFormatError
from tests.data.reader_files import PROPERTY, line_of

LINES = st.text(
    st.characters(exclude_categories=["Cs"], exclude_characters="\r\n\ufeff")
    | st.sampled_from("\u2028\x85\x0c\x1c\u00a0 \t"),
    max_size=5,
)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "x.txt"


def read(path, data, *options, **named):
    path.write_bytes(data)
    return list(read_lines(str(path), *options, **named))


@PROPERTY
@given(
    lines=st.lists(LINES, min_size=1),
    end=st.sampled_from(["\n", "\r\n"]),
    has_last_end=st.booleans(),
    mark=st.sampled_from(["", "\ufeff"]),
)
def test_lines_end_in_lf_or_cr_lf_only(path, lines, end, has_last_end, mark):
    text = end.join(lines) + (end if has_last_end else "")
    expected = lines if has_last_end or lines[-1] else lines[:-1]
    data = (mark + text).encode("utf-8")
    assert read(path, data) == list(enumerate(expected, 1))
    assert "".join(line for _, line in read(path, data, keepends=True)) == text


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-16-le", "latin-1", "cp1252"])
def test_encoding_is_that_of_the_file(path, encoding):
    assert read(path, "é\nü".encode(encoding), encoding) == [(1, "é"), (2, "ü")]


@pytest.mark.parametrize("encoding", ["UTF-8", "utf8", "utf_8"])
def test_names_of_utf_8_drop_a_byte_order_mark(path, encoding):
    data = "\ufeffa\n\ufeffb \ufeff".encode()  # only the first one is a mark
    assert read(path, data, encoding) == [(1, "a"), (2, "\ufeffb \ufeff")]


@pytest.mark.parametrize(
    "data, encoding, line",
    [
        (b"a\nb\n\xff\xfe\n", "utf-8", 3),
        (b"\xc3", "utf-8", 1),
        (b"\xef\xbb\xbfa\nb\xff", "utf-8", 2),
        ("a\nb".encode("utf-16-le") + b"c", "utf-16-le", 2),
        (b"a\nb\rc\n", "utf-8", 2),
        (b"a\r\r\n", "utf-8", 1),
        (b"a\n\xed\xa0\x80\n", "utf-8", 2),  # half of a surrogate pair
    ],
)
def test_bytes_that_are_no_text_are_errors(path, data, encoding, line):
    with pytest.raises(DataFormatError) as info:
        read(path, data, encoding)
    assert line_of(str(info.value), path) == line


@PROPERTY
@given(before=st.lists(st.integers(0, 3000), max_size=12), after=st.integers(0, 9000))
def test_the_line_of_a_wrong_byte_is_exact(path, before, after):
    """Files are decoded in blocks of 8,192 bytes."""
    data = b"".join(b"y" * length + b"\n" for length in before) + b"z\xff" + b"x" * after
    with pytest.raises(DataFormatError) as info:
        read(path, data)
    assert line_of(str(info.value), path) == len(before) + 1


def test_a_file_that_cannot_be_opened_is_an_error_with_its_name(path):
    with pytest.raises(FileNotFoundError) as info:
        list(read_lines(str(path)))
    assert info.value.filename == str(path)


def test_urls_are_downloaded(path, monkeypatch):
    path.write_text("a\n")
    files = {"https://example.org/x.txt": str(path)}
    monkeypatch.setattr("allennlp.common.file_utils.cached_path", files.__getitem__)
    assert list(read_lines("https://example.org/x.txt")) == [(1, "a")]


def test_parse_lines_adds_the_line_to_errors(path):
    path.write_text("1\n\n \n2\nx\n")
    parsed = parse_lines(str(path), int)
    assert [next(parsed), next(parsed)] == [(1, 1), (4, 2)]
    with pytest.raises(DataFormatError, match=f"{path}:5: "):
        next(parsed)


@pytest.mark.parametrize("line", ["[1]", "{", '{"a": "\\ud800"}', '{"\\udc00": 1}', "[" * 10**5])
def test_lines_that_are_no_json_objects_are_errors(path, line):
    path.write_text('{"a": "\\ud83d\\ude00"}\n\n' + line)
    objects = read_objects(str(path))
    assert next(objects) == (1, {"a": "😀"})
    with pytest.raises(DataFormatError) as info:
        next(objects)
    assert line_of(str(info.value), path) == 3


@pytest.mark.parametrize("value", [3, None, ["x.txt", 3], [["x.txt"], True]])
def test_data_paths_that_are_no_paths_are_errors(value):
    with pytest.raises(DataFormatError):
        data_paths(value)


@PROPERTY
@given(
    st.lists(
        st.tuples(st.text("ab.\u0301", min_size=1, max_size=3), st.text(" \t\u00a0", max_size=2))
    )
)
def test_words_are_found_in_a_text(pairs):
    words = [word for word, _ in pairs]
    text = "".join(map("".join, pairs))
    offsets = find_words(text, words)
    assert [text[start:end] for start, end in offsets] == words
    assert offsets == sorted(offsets)


@pytest.mark.parametrize("words", [["a", "c"], ["b"], ["b", "a"], ["ab"]])
def test_words_that_do_not_follow_are_an_error(words):
    with pytest.raises(DataFormatError):
        find_words("a b", words)
