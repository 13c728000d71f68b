"""
The lines of text files, for every reader of the package.

A line ends at `\\n` or `\\r\\n` and at nothing else (not at U+2028, U+0085 or a form feed, where `str.splitlines` would
cut). The last line may lack its end. A byte order mark at the start of a file is dropped. A carriage return that ends
no line is an error, and so are bytes that are not in the encoding.

`iterate_lines` and `read_lines` give the lines of one file, `parse_lines` what each of them stands for, `read_blocks`
those between empty lines, and `read_parallel_lines` those of several UTF-8 files in lock-step.
"""

import csv
import io
import math
import os
import stat
import sys
from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from contextlib import ExitStack
from itertools import count
from typing import Any, BinaryIO, NamedTuple, TypeGuard, TypeVar

from allennlp_nef.errors import DataFormatError, FileError, OnError, quote, raise_error

_SIGNATURES = {
    b"\xff\xfe": "UTF-16",
    b"\xfe\xff": "UTF-16",
    b"\x1f\x8b": "gzip",
    b"PK\x03\x04": "zip",
    b"BZh": "bzip2",
    b"\xfd7zXZ": "xz",
}


class FileSlice(NamedTuple):
    """Some lines of a file. The readers of this package take it as the path of a file that has only these lines.

    Messages name the file, and number lines as in the whole file.
    """

    path: str
    start: int
    """The first byte."""
    end: int
    """The byte after the last one."""
    line: int
    """The number of the first line, from 1."""

    def __fspath__(self) -> str:
        return self.path

    def __str__(self) -> str:
        return self.path


TextPath = str | FileSlice
Item = TypeVar("Item")


class Block(NamedTuple):
    """Lines without an empty one between them, with their ends, and the empty lines after them."""

    lines: list[str]
    """Every line of the block, also empty ones: joined, they are that part of the file."""
    line: int
    """The number of the first, from 1."""


def read_lines(path: TextPath, encoding: str = "utf-8") -> list[str]:
    """The lines that `iterate_lines` gives, in memory. Raises its `DataFormatError`."""
    return list(iterate_lines(path, encoding))


def iterate_lines(path: TextPath, encoding: str = "utf-8") -> Iterator[str]:
    """The lines of a text file, with their ends; the last one may have none.

    # Raises

    `DataFormatError`: no such file, an unknown encoding, undecodable bytes, a carriage return within a line.
    """
    check_encoding(encoding)
    try:
        with io.TextIOWrapper(open_file(path), encoding, newline="\n") as lines:
            for number, line in enumerate(lines, first_line_of(path)):
                if number == 1:
                    line = line.removeprefix("\ufeff")
                _check_line_end(line, path, number)
                if line:
                    yield line
    except UnicodeError:
        raise undecodable(path, encoding) from None
    except OSError as error:
        raise file_error(str(path), error) from error


def parse_lines(
    path: TextPath,
    parse: Callable[[int, str], Item | None],
    expected: str,
    encoding: str = "utf-8",
    on_error: OnError = raise_error,
) -> Iterator[Item]:
    """
    What the lines of a file stand for, in its order. Empty lines are left out.

    # Parameters

    parse : `Callable[[int, str], Item | None]`
        Gets the number of a line and the line without its end; None for a line that is nothing, such as a header. A
        `ValueError` goes to `on_error`, with file and line where it is no `DataFormatError`.
    expected : `str`
        What the error says where the file has no item.

    # Raises

    `DataFormatError`: that of `iterate_lines`, a file without items.
    """
    is_empty = True
    for number, line in enumerate(iterate_lines(path, encoding), first_line_of(path)):
        if is_blank(line):
            continue
        try:
            item = parse(number, line.rstrip("\r\n"))
        except DataFormatError as error:
            on_error(error)
        except ValueError as error:
            on_error(DataFormatError(f"{path}:{number}: {error}"))
        else:
            if item is None:
                continue
            yield item
        is_empty = False
    if is_empty:
        raise DataFormatError(f"{path}:{first_line_of(path)}: expected at least one {expected}")


def read_blocks(path: TextPath, encoding: str = "utf-8") -> Iterator[Block]:
    """
    The blocks of a text file that empty lines (or lines of blanks) separate, in the order of the file. Joined, they are
    the file without a byte order mark.

    # Raises

    `DataFormatError`: that of `iterate_lines`, a file of nothing but empty lines.
    """
    lines: list[str] = []
    first, has_text, is_complete = first_line_of(path), False, False
    for number, line in enumerate(iterate_lines(path, encoding), first):
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


def read_parallel_lines(
    paths: Mapping[str, TextPath],
    may_be_empty: Container[str] = (),
    on_error: OnError = raise_error,
) -> Iterator[tuple[int, dict[str, str]]]:
    """
    Reads UTF-8 files in lock-step: yields the line number, from 1, and the line of each file, without its end.

    # Parameters

    paths : `Mapping[str, TextPath]`
        The file of each part, or the slice of it: slices that begin at the same line.
    may_be_empty : `Container[str]`
        Parts whose lines may be empty. If all other files lack the last line end, such a file may
        lack its empty last line: nothing but a line end would have shown it.
    on_error : `OnError`, optional (default = `raise_error`)
        What to do with lines that cannot be decoded.

    # Raises

    `DataFormatError`: no lines at all, different line counts, invalid UTF-8, a carriage return within a line.
    """
    with ExitStack() as stack:
        files = {part: stack.enter_context(open_file(path)) for part, path in paths.items()}
        previous: dict[str, bytes] = dict.fromkeys(paths, b"\n")
        first = max(map(first_line_of, paths.values()))
        for number in count(first):
            lines = {part: _next_line(file, paths[part], number) for part, file in files.items()}
            if not any(lines.values()):
                break
            unfinished = not any(line.endswith(b"\n") for line in lines.values())
            for part, line in lines.items():
                may_end = unfinished and part in may_be_empty and previous[part].endswith(b"\n")
                if not line and not may_end:
                    raise _different_counts(paths, files, lines, part, number)
            previous = lines
            try:
                texts = {part: _decode(line, paths[part], number) for part, line in lines.items()}
            except DataFormatError as error:
                on_error(error)
                continue
            yield number, texts
        if number == first:
            path = next(iter(paths.values()))
            raise DataFormatError(f"{path}:{first}: expected at least one line, got an empty file")


def is_blank(line: str) -> bool:
    """Whether a line has nothing but blanks, tabs and its end."""
    return not line.strip(" \t\r\n")


def is_whole_number(text: str) -> bool:
    """Whether a text is an integer of at least 0, of no more digits than a file or a sentence can need."""
    return text.isdecimal() and len(text) <= 18


def number_of(text: str) -> float:
    """The number that a text is; NaN where it is none."""
    try:
        return math.nan if "_" in text else float(text)  # Python takes 1_000 for a number
    except ValueError:
        return math.nan


def csv_reader(lines: Iterable[str], delimiter: str = ",") -> Any:
    """A strict `csv.reader`, whose cells may be as long as their lines."""
    csv.field_size_limit(sys.maxsize)
    return csv.reader(lines, delimiter=delimiter, strict=True)


def is_number(value: Any) -> TypeGuard[float]:
    """Whether a value of JSON is a finite number. NaN and integers that no float can hold are none."""
    return type(value) in (int, float) and abs(value) <= sys.float_info.max


def first_line_of(path: TextPath) -> int:
    """The number of the first line that is read of a file."""
    return path.line if isinstance(path, FileSlice) else 1


def check_encoding(encoding: str) -> None:
    """Raises a `DataFormatError` for an encoding that Python does not have."""
    try:
        "".encode(encoding)
    except (LookupError, TypeError, ValueError):
        raise DataFormatError(
            f"encoding: expected one that Python knows, got {quote(encoding)}"
        ) from None


def path_name(path: object) -> str:
    """`os.fspath` of a path. Raises a `DataFormatError` for another value, which a config may have in its place."""
    if not isinstance(path, (str, os.PathLike)):
        raise DataFormatError(f"data path: expected a path, got {quote(path)}")
    return os.fspath(path)


def check_file(path: str, expected: str = "a file") -> None:
    """Raises a `FileError` where there is no file. `expected` is what the message says of it."""
    try:
        mode = os.stat(path).st_mode
    except (FileNotFoundError, NotADirectoryError, ValueError):  # the last: a null byte in the path
        got = "a broken link or a special file" if os.path.islink(path) else "no such file"
    except OSError as error:
        raise file_error(path, error) from error
    else:
        if stat.S_ISREG(mode):
            return
        got = "a folder" if stat.S_ISDIR(mode) else "a broken link or a special file"
    raise FileError(f"{path}: expected {expected}, got {got}")


def file_error(path: str, error: OSError) -> FileError:
    """The error for a file that the system does not open or read."""
    return FileError(
        f"{path}: expected a file that can be read, got {error.strerror or str(error)!r}"
    )


def open_file(path: TextPath) -> BinaryIO:
    """The bytes of a file, or of a slice of it. Raises a `FileError` where it cannot be opened."""
    name = path_name(path)
    check_file(name)
    try:
        if not isinstance(path, FileSlice):
            return open(name, "rb")
        with open(name, "rb") as file:
            file.seek(path.start)
            return io.BytesIO(file.read(path.end - path.start))
    except OSError as error:  # no permission; or it has vanished since
        raise file_error(name, error) from error


def read_bytes(path: TextPath) -> bytes:
    """The content of a file, or of a slice of it. Raises a `FileError` where it cannot be read."""
    with open_file(path) as file:
        try:
            return file.read()
        except OSError as error:
            raise file_error(os.fspath(path), error) from error


def undecodable(path: TextPath, encoding: str) -> DataFormatError:
    """The error for a file that its encoding cannot decode. The file is read again, to say where."""
    data = read_bytes(path)
    before = path.start if isinstance(path, FileSlice) else 0
    try:
        data.decode(encoding)
        reason = "an incomplete character"
    except UnicodeDecodeError as error:
        # Some codecs drop a byte order mark first, and count without it.
        position = len(data) - len(error.object) + error.start
        try:
            line = data[:position].decode(encoding, "ignore").count("\n")
        except UnicodeError:  # the codec cannot ignore anything
            line = data[:position].count(b"\n")
        return DataFormatError(
            f"{path}:{line + first_line_of(path)}: expected {encoding}, got byte 0x{data[position]:02x} as byte "
            f"{before + position + 1} of the file{_hint_at_kind(data)}"
        )
    except UnicodeError as error:  # of codecs that do not say where
        reason = str(error).splitlines()[0]
    return DataFormatError(f"{path}: expected {encoding}, got bytes that are not ({reason})")


def _hint_at_kind(data: bytes) -> str:
    """What the end of a message says about data that begin as a file of another kind does; "" for other data."""
    kind = next((kind for start, kind in _SIGNATURES.items() if data.startswith(start)), None)
    return f" (the file begins as one in {kind} does)" if kind else ""


def _check_line_end(line: str, path: TextPath, number: int) -> None:
    """Raises a `DataFormatError` for a carriage return within a line: other programs would count two lines."""
    place = line.find("\r", 0, -2 if line.endswith("\n") else -1)
    if place >= 0:
        raise DataFormatError(
            f"{path}:{number}: expected lines that end in a line feed, or a carriage return and one, got a carriage "
            f"return as character {place + 1} of the line"
        )


def _next_line(file: BinaryIO, path: TextPath, number: int) -> bytes:
    """The next line with its end, empty at the end of the file."""
    try:
        line = file.readline()
    except OSError as error:
        raise file_error(str(path), error) from error
    return line.removeprefix(b"\xef\xbb\xbf") if number == 1 else line


def _decode(line: bytes, path: TextPath, number: int) -> str:
    """The text of a line, without its end."""
    try:
        text = line.decode("utf-8")
    except UnicodeDecodeError as error:
        raise DataFormatError(
            f"{path}:{number}: expected UTF-8, "
            f"got byte 0x{line[error.start]:02x} as byte {error.start + 1} of the line"
            f"{_hint_at_kind(line) if number == 1 else ''}"
        ) from None
    _check_line_end(text, path, number)
    return text.removesuffix("\n").removesuffix("\r") if text.endswith("\n") else text


def _different_counts(
    paths: Mapping[str, TextPath],
    files: Mapping[str, BinaryIO],
    lines: Mapping[str, bytes],
    ended: str,
    number: int,
) -> DataFormatError:
    """The error for a file without line `number`, which the longest file has."""
    counts = {
        part: number - 1 + bool(lines[part]) + sum(1 for _ in file) for part, file in files.items()
    }
    longest = max(counts, key=lambda part: counts[part])
    return DataFormatError(
        f"{paths[ended]}:{number}: expected a line for each of the {counts[longest]} lines of "
        f"{paths[longest]}, got the end of the file after {counts[ended]}"
    )
