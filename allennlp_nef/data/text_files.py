"""The lines of text files, and the positions of words in a text. Every reader of this package reads lines from here."""

from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

from allennlp_nef.errors import DataFormatError, quote

Item = TypeVar("Item")


def read_lines(
    path: str, encoding: str = "utf-8", keepends: bool = False
) -> Iterator[tuple[int, str]]:
    """
    Yields the number of each line, from 1, and the line. Lines end in LF or CR LF; the last line end may be missing. A
    byte order mark at the start of a UTF-8 file is dropped.

    # Parameters

    path : `str`
        A local path, or a URL that AllenNLP's `cached_path` can download.
    encoding : `str`, optional (default = `"utf-8"`)
    keepends : `bool`, optional (default = `False`)
        Whether the lines keep their line ends.

    # Raises

    `DataFormatError`, with the line: bytes that are not in the encoding, a carriage return within a line.
    `OSError`: the file cannot be opened.
    """
    number = 0
    file = path
    if "://" in path:
        from allennlp.common.file_utils import cached_path

        file = cached_path(path)
    with open(
        file, encoding="utf-8-sig" if encoding == "utf-8" else encoding, newline="\n"
    ) as lines:
        try:
            for number, line in enumerate(lines, 1):
                text = line.removesuffix("\n").removesuffix("\r")
                if "\r" in text:
                    raise DataFormatError(
                        f"{path}:{number}: expected lines that end in LF or CR LF, got a carriage return within a line"
                    )
                yield number, line if keepends else text
        except UnicodeDecodeError as error:
            # The decoder failed on a block of bytes that begins within the line after the last one.
            before = error.object[: error.start].decode(error.encoding, "ignore")
            raise DataFormatError(
                f"{path}:{number + 1 + before.count(chr(10))}: expected {encoding}, got the byte "
                f"0x{error.object[error.start]:02x}"
            ) from None


def parse_lines(
    path: str, parse: Callable[[str], Item], encoding: str = "utf-8"
) -> Iterator[tuple[int, Item]]:
    """
    Yields the number of each line that is not blank, and what `parse` returns for the line. A `ValueError` of `parse`
    becomes a `DataFormatError` with path and line.
    """
    for number, line in read_lines(path, encoding):
        if line.strip():
            try:
                item = parse(line)
            except ValueError as error:
                raise DataFormatError(f"{path}:{number}: {error}") from None
            yield number, item


def find_words(text: str, words: Sequence[str]) -> list[tuple[int, int]]:
    """
    The start and the end (exclusive) of each word in a text, in characters from 0. Only whitespace may stand between
    the words.

    # Raises

    `DataFormatError`: a word is not what comes next in the text.
    """
    offsets, end = [], 0
    for word in words:
        start = text.find(word, end)
        if start < 0 or text[end:start].strip():
            following = quote(text[end:].lstrip())
            raise DataFormatError(
                f"words: expected the next word of {following}, got {quote(word)}"
            )
        end = start + len(word)
        offsets.append((start, end))
    return offsets
