import os
from typing import Iterator, List, NamedTuple

from allennlp_nef.errors import DataFormatError, quote


class Block(NamedTuple):
    """Lines without an empty one between them, with their ends, and the empty lines after them."""

    lines: List[str]
    """Every line of the block, also empty ones: joined, they are that part of the file."""
    line: int
    """The number of the first, from 1."""


def read_blocks(path: str, encoding: str = "utf-8") -> Iterator[Block]:
    """
    The blocks of a text file that empty lines (or lines of blanks) separate, in the order of the file.

    A line ends at `\\n` or `\\r\\n`, and at nothing else. The blocks of a file, joined, are the file without a byte
    order mark.

    # Raises

    `DataFormatError`: no such file, an unknown encoding, undecodable bytes, a carriage return within a line, a file of
    nothing but empty lines.
    """
    lines: List[str] = []
    first, has_text, is_complete = 1, False, False
    for number, line in enumerate(read_lines(path, encoding), 1):
        is_empty = is_blank(line)
        if is_complete and not is_empty:
            yield Block(lines, first)
            lines, first, has_text, is_complete = [], number, False, False
        lines.append(line)
        has_text = has_text or not is_empty
        is_complete = has_text and is_empty
    if not has_text:
        raise DataFormatError(f"{path}:1: expected at least one sentence, got an empty file")
    yield Block(lines, first)


def is_blank(line: str) -> bool:
    """Whether a line has nothing but blanks, tabs and its end."""
    return not line.strip(" \t\r\n")


def is_whole_number(text: str) -> bool:
    """Whether a text is an integer of at least 0, of no more digits than a file or a sentence can need."""
    return text.isdecimal() and len(text) <= 18


def check_encoding(encoding: str) -> None:
    """Raises a `DataFormatError` for an encoding that Python does not have."""
    try:
        "".encode(encoding)
    except (LookupError, TypeError, ValueError):
        raise DataFormatError(
            f"encoding: expected one that Python knows, got {quote(encoding)}"
        ) from None


def read_lines(path: str, encoding: str = "utf-8") -> List[str]:
    """The lines of a text file, with their ends; the last one may have none.

    # Raises

    `DataFormatError`: that of `read_blocks`, other than for a file of empty lines.
    """
    check_encoding(encoding)
    if not os.path.isfile(path):
        kind = "no such file"
        if os.path.lexists(path):
            kind = "a folder" if os.path.isdir(path) else "a broken link or a special file"
        raise DataFormatError(f"{path}: expected a file, got {kind}")
    with open(path, "rb") as file:
        data = file.read()
    try:
        text = data.decode(encoding)
    except UnicodeDecodeError as error:
        # Some codecs drop a byte order mark first, and count without it.
        position = len(data) - len(error.object) + error.start
        try:
            line = data[:position].decode(encoding, "ignore").count("\n") + 1
        except UnicodeError:  # the codec cannot ignore anything
            line = data[:position].count(b"\n") + 1
        raise DataFormatError(
            f"{path}:{line}: expected {encoding}, got byte 0x{data[position]:02x} as byte {position + 1} of the file"
        ) from None
    except UnicodeError as error:  # of codecs that do not say where
        reason = str(error).splitlines()[0]
        raise DataFormatError(
            f"{path}: expected {encoding}, got bytes that are not ({reason})"
        ) from None
    if text.startswith("\ufeff"):
        text = text[1:]
    parts = text.split("\n")
    for number, part in enumerate(parts, 1):
        if "\r" in part[:-1]:
            raise DataFormatError(
                f"{path}:{number}: expected lines that end in a line feed, or a carriage return and one, got a "
                "carriage return within the line"
            )
    lines = [part + "\n" for part in parts[:-1]]
    return lines + parts[-1:] if parts[-1] else lines
