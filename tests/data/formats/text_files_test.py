import gzip
import os

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from allennlp_nef.data.formats.text_files import check_encoding, is_blank, read_blocks
from allennlp_nef.errors import DataFormatError

LINES = st.sampled_from(
    ["", " ", "\t", " \t ", "\r", "a", " a", "a b\t", "\u2028", "\x85", "\xa0", "\x0c", "a\r"]
)


def read(path, data, encoding="utf-8"):
    path.write_bytes(data if isinstance(data, bytes) else data.encode(encoding))
    return list(read_blocks(str(path), encoding))


def error_of(path, data, encoding="utf-8"):
    with pytest.raises(DataFormatError) as info:
        read(path, data, encoding)
    return str(info.value)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "x.txt"


@pytest.mark.parametrize("data, place", [("a\n\nb\rc\n", 2), ("a\n\n\r\r\n", 1), ("a\n\nb\r\r", 2)])
def test_carriage_returns_within_a_line_are_an_error(path, data, place):
    assert error_of(path, data) == (
        f"{path}:3: expected lines that end in a line feed, or a carriage return and one, got a carriage return as "
        f"character {place} of the line"
    )


@pytest.mark.parametrize("encoding", ["punycode", "idna"])
def test_codecs_without_a_position_have_a_message_too(path, encoding):
    message = error_of(path, b"a O\n\nb\xff O\n", encoding)
    assert message.startswith(f"{path}") and f"expected {encoding}, got b" in message
    assert "\n" not in message


@settings(
    deadline=None,
    derandomize=True,
    max_examples=300,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(lines=st.lists(LINES, min_size=1, max_size=12), last_end=st.booleans())
def test_joined_blocks_are_the_file(path, lines, last_end):
    text = "\n".join(lines) + ("\n" if last_end else "")
    if not text.strip(" \t\r\n"):
        with pytest.raises(DataFormatError, match=":1: expected at least one sentence, got an emp"):
            read(path, text)
        return
    blocks = read(path, text)
    assert "".join(line for block in blocks for line in block.lines) == text
    number = 1
    for block in blocks:
        assert block.line == number
        number += len(block.lines)
        # Text in one piece; empty lines after it and, in the first block, before it.
        kinds = "".join(".x"[not is_blank(line)] for line in block.lines)
        assert "x" in kinds
        assert "x." not in kinds.strip(".")
        assert number == 1 + len(block.lines) or kinds[0] == "x"
        assert all(line.count("\n") == line.endswith("\n") for line in block.lines)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le"])
def test_byte_order_marks_are_dropped(path, encoding):
    (block,) = read(path, "\ufeffa\n\n".encode(encoding), encoding)
    assert block.lines == ["a\n", "\n"]


@pytest.mark.parametrize("encoding", ["latin-1", "cp1252", "utf-16"])
def test_encoding_is_that_of_the_file(path, encoding):
    (block,) = read(path, "é ü\n", encoding)
    assert block.lines == ["é ü\n"]


@pytest.mark.parametrize("text", ["", "\r\n\r\n", " \t\n", "\ufeff\n"])
def test_empty_files_are_an_error(path, text):
    assert error_of(path, text) == f"{path}:1: expected at least one sentence, got an empty file"


@pytest.mark.parametrize(
    "data, encoding, where",
    [
        (b"a\nb\n\xff\xfe\n", "utf-8", "3: expected utf-8, got byte 0xff as byte 5 of the file"),
        (b"\xc3", "utf-8", "1: expected utf-8, got byte 0xc3 as byte 1 of the file"),
        (b"a\r\n\xe9\r\n", "utf-8", "2: expected utf-8, got byte 0xe9 as byte 4 of the file"),
        (
            b"\xef\xbb\xbfa\nb\xff",
            "utf-8-sig",
            "2: expected utf-8-sig, got byte 0xff as byte 7 of the file",
        ),
        (
            "a\nb".encode("utf-16-le") + b"c",
            "utf-16-le",
            "2: expected utf-16-le, got byte 0x63 as byte 7 of the file",
        ),
        (b"a\n\x81", "cp1252", "2: expected cp1252, got byte 0x81 as byte 3 of the file"),
        (b"ok\n\xc3\xa9", "ascii", "2: expected ascii, got byte 0xc3 as byte 4 of the file"),
    ],
    ids=["utf-8", "cut", "latin-1 as utf-8", "with a mark", "utf-16", "cp1252", "ascii"],
)
def test_undecodable_bytes_are_named(path, data, encoding, where):
    assert error_of(path, data, encoding) == f"{path}:{where}"


@pytest.mark.parametrize("encoding", ["utf-9", "rot13", "undefined", "a\0b", None])
def test_unknown_encodings_are_refused(path, encoding):
    path.write_bytes(b"a\n")
    message = f"encoding: expected one that Python knows, got {encoding!r}"
    for call in (lambda: check_encoding(encoding), lambda: next(read_blocks(str(path), encoding))):
        with pytest.raises(DataFormatError) as info:
            call()
        assert str(info.value) == message


@pytest.mark.parametrize(
    "data, kind",
    [
        ("a\n".encode("utf-16"), "UTF-16"),
        (gzip.compress(b"a\n", mtime=0), "gzip"),
        (b"PK\x03\x04\xff", "zip"),
    ],
)
def test_the_kind_of_an_undecodable_file_is_named(path, data, kind):
    message = error_of(path, data)
    assert message.startswith(f"{path}:1: expected utf-8, got byte 0x")
    assert message.endswith(f" (the file begins as one in {kind} does)")


def test_paths_that_are_no_files_are_refused(tmp_path):
    os.symlink(str(tmp_path / "nowhere"), str(tmp_path / "link"))
    (tmp_path / "folder").mkdir()
    kinds = {
        "missing": "no such file",
        "folder": "a folder",
        "link": "a broken link or a special file",
    }
    for name, kind in kinds.items():
        with pytest.raises(DataFormatError) as info:
            list(read_blocks(str(tmp_path / name)))
        assert str(info.value) == f"{tmp_path / name}: expected a file, got {kind}"
