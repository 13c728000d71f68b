import os
from collections.abc import Container, Iterator, Mapping, Sequence
from contextlib import ExitStack
from itertools import count
from typing import BinaryIO

from allennlp_nef.data.formats.text_files import (
    TextPath,
    check_file,
    check_line_end,
    file_error,
    first_line_of,
    hint_at_kind,
    open_file,
)
from allennlp_nef.errors import DataFormatError, FileError, OnError, raise_error

_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


def find_parallel_files(
    prefix: str, required: Mapping[str, str], optional: Mapping[str, Sequence[str]]
) -> dict[str, str]:
    """
    The file of each part: the required ones, and of the optional ones those that exist.

    # Parameters

    prefix : `str`
        What the paths of all files begin with: folder and stem.
    required : `Mapping[str, str]`
        The file ending of each part that has to be there.
    optional : `Mapping[str, Sequence[str]]`
        File endings of each part that may be missing, the preferred one first.

    # Raises

    `DataFormatError`: a required file is missing. The message names what was looked for.
    """
    paths = {part: prefix + ending for part, ending in required.items()}
    endings = [*required.values(), *(e for several in optional.values() for e in several)]
    for ending in endings:
        path = prefix + ending
        if os.path.lexists(path):
            check_file(path)
    missing = [path for path in paths.values() if not os.path.isfile(path)]
    if missing:
        raise FileError(
            f"{missing[0]}: expected the files {' and '.join(paths.values())}, "
            f"got no {' and no '.join(missing)}{_hint(prefix, endings)}"
        )
    for part, several in optional.items():
        found = [prefix + ending for ending in several if os.path.isfile(prefix + ending)]
        if found:
            paths[part] = found[0]
    return paths


def read_parallel_lines(
    paths: Mapping[str, TextPath],
    may_be_empty: Container[str] = (),
    on_error: OnError = raise_error,
) -> Iterator[tuple[int, dict[str, str]]]:
    """
    Reads UTF-8 files in lock-step: yields the line number, from 1, and the line of each file.

    A line ends at `\\n` or `\\r\\n` and at nothing else (not at U+2028, U+0085 or a form feed,
    where `str.splitlines` would cut). The last line may lack its end. A byte order mark at the
    start of a file is dropped.

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
        files: dict[str, BinaryIO] = {
            part: stack.enter_context(open_file(path)) for part, path in paths.items()
        }
        previous: dict[str, bytes] = dict.fromkeys(paths, b"\n")
        first = max(map(first_line_of, paths.values()))
        for number in count(first):
            lines = {part: _next_line(file, paths[part], number) for part, file in files.items()}
            if not any(lines.values()):
                break
            ended = [part for part, line in lines.items() if not line]
            if ended:
                unfinished = not any(line.endswith(b"\n") for line in lines.values())
                for part in ended:
                    if not (unfinished and part in may_be_empty and previous[part].endswith(b"\n")):
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


def _hint(prefix: str, endings: Sequence[str]) -> str:
    """What may be wrong with a prefix whose files are missing; "" where nothing is known."""
    folder = os.path.dirname(prefix)
    if os.path.isfile(prefix):
        stems = [prefix[: -len(ending)] for ending in endings if prefix.endswith(ending)]
        advice = f": {stems[0]}" if stems else ""
        return f" (the path is a prefix{advice}, and {prefix} is a file)"
    if os.path.isdir(prefix):
        return f" (the path is a prefix such as {os.path.join(prefix, 'train')}, not a folder)"
    if prefix.endswith(".json") and (not folder or os.path.isdir(folder)):
        return f" (there is no file {prefix})"
    if folder and not os.path.isdir(folder):
        return f" (there is no folder {folder})"
    return ""


def _next_line(file: BinaryIO, path: TextPath, number: int) -> bytes:
    """The next line with its end, empty at the end of the file."""
    try:
        line = file.readline()
    except OSError as error:
        raise file_error(str(path), error) from error
    if number == 1 and line.startswith(_BYTE_ORDER_MARK):
        line = line[len(_BYTE_ORDER_MARK) :]
    return line


def _decode(line: bytes, path: TextPath, number: int) -> str:
    try:
        text = line.decode("utf-8")
    except UnicodeDecodeError as error:
        raise DataFormatError(
            f"{path}:{number}: expected UTF-8, "
            f"got byte 0x{line[error.start]:02x} as byte {error.start + 1} of the line"
            f"{hint_at_kind(line) if number == 1 else ''}"
        ) from None
    check_line_end(text, path, number)
    if text.endswith("\n"):
        text = text[:-2] if text.endswith("\r\n") else text[:-1]
    return text


def _different_counts(
    paths: Mapping[str, TextPath],
    files: dict[str, BinaryIO],
    lines: dict[str, bytes],
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
