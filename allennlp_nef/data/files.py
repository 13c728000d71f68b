"""Data paths and text files. Every reader of this package reads lines with `read_lines`."""

import codecs
import errno
import gzip
import json
import os
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from glob import glob, has_magic
from itertools import chain
from typing import Any, TypeVar

from allennlp_nef.errors import DataFormatError, quote

Item = TypeVar("Item")


def data_paths(path: Any, ending: str = "") -> list[Any]:
    """Returns the files of a data path: all items of a list, the files that match a pattern such as `data/*.conll`, in
    alphabetical order, or any other path itself.

    # Parameters

    path : `Any`
    ending : `str`, optional (default = `""`)
        If paths can be prefixes of several files, the ending of a file that each prefix has, such as `.src`.

    # Raises

    `DataFormatError`: a path of an unsupported type. `FileNotFoundError`: no file matches a pattern.
    """
    if isinstance(path, list | tuple):
        return [each for item in path for each in data_paths(item, ending)]
    if not isinstance(path, str | os.PathLike | Mapping):
        raise DataFormatError(
            f"data path: expected a path, or an object or a list of paths, got {quote(path)}"
        )
    if not isinstance(path, str) or not has_magic(path) or "://" in path:
        return [path]
    endings = [ending, f"{ending}.gz"] if ending else []
    if any(os.path.exists(path + each) for each in ["", *endings]):
        return [path]
    prefixes = {
        name.removesuffix(each) for each in endings for name in glob(path + each, recursive=True)
    }
    found = prefixes or glob(path, recursive=True)
    if not found:
        raise FileNotFoundError(errno.ENOENT, "no file matches the pattern", path)
    return sorted(found)


def is_json_lines(path: str) -> bool:
    """Returns whether the name of a file ends in `.jsonl` or `.jsonl.gz`."""
    return path.endswith((".jsonl", ".jsonl.gz"))


def read_lines(
    path: str, encoding: str = "utf-8", keepends: bool = False
) -> Iterator[tuple[int, str]]:
    """Yields each line number, from 1, and the line. Lines end in LF or CR LF; the last line ending may be missing. A
    byte order mark at the start of a UTF-8 file is dropped. A file whose name ends in `.gz` is decompressed.

    # Parameters

    path : `str`
        A local path, or a URL that AllenNLP's `cached_path` can download.
    encoding : `str`, optional (default = `"utf-8"`)
    keepends : `bool`, optional (default = `False`)
        Whether the lines keep their line endings.

    # Raises

    `DataFormatError`, with the line: bytes that are invalid in the encoding, a carriage return in a line, damaged gzip.
    `OSError`: the file cannot be opened.
    """
    number = 0
    file = path
    if "://" in path:
        from allennlp.common.file_utils import cached_path

        file = cached_path(path)
    opener: Callable[..., Any] = gzip.open if path.endswith(".gz") else open
    is_utf_8 = codecs.lookup(encoding).name == "utf-8"
    with opener(file, "rt", encoding="utf-8-sig" if is_utf_8 else encoding, newline="\n") as lines:
        try:
            for number, line in enumerate(lines, 1):
                text = line.removesuffix("\n").removesuffix("\r")
                if "\r" in text:
                    raise DataFormatError(
                        f"{path}:{number}: expected lines that end in LF or CR LF, got a carriage return within a line"
                    )
                yield number, line if keepends else text
        except UnicodeDecodeError as error:
            # The decoder failed on a block of bytes that starts in the line after the last one yielded.
            before = error.object[: error.start].decode(error.encoding, "ignore")
            raise DataFormatError(
                f"{path}:{number + 1 + before.count(chr(10))}: expected {encoding}, got the byte "
                f"0x{error.object[error.start]:02x}"
            ) from None
        except (EOFError, gzip.BadGzipFile, zlib.error) as error:
            raise DataFormatError(f"{path}:{number + 1}: expected gzip data ({error})") from error


def parse_lines(
    path: str,
    parse: Callable[[str], Item],
    encoding: str = "utf-8",
    has_fields: bool = False,
) -> Iterator[tuple[int, Item]]:
    """Yields the number of each line that is not blank, and what `parse` returns for the line. A `ValueError` from
    `parse` becomes a `DataFormatError` with the path and the line number. If lines have fields, `check_separator`
    checks them.
    """
    lines = read_lines(path, encoding)
    for number, line in check_separator(path, lines) if has_fields else lines:
        if line.strip():
            try:
                item = parse(line)
            except ValueError as error:
                raise DataFormatError(f"{path}:{number}: {error}") from None
            yield number, item


def read_objects(path: str, encoding: str = "utf-8") -> Iterator[tuple[int, dict[str, Any]]]:
    """Yields the line number and the content of each JSON object of a file with one object per line."""
    return parse_lines(path, parse_object, encoding)


def parse_object(text: str) -> dict[str, Any]:
    """Parses a JSON object. Raises a `ValueError` for any other text: see `parse_json`."""
    value = parse_json(text)
    if not isinstance(value, dict):
        raise ValueError(f"expected a JSON object, got {quote(text)}")
    return value


def parse_json(text: str | bytes) -> Any:
    """Parses JSON. Raises a `ValueError` for any other text, NaN, infinity, and unpaired surrogates."""
    try:
        value = json.loads(text)
        json.dumps(value, ensure_ascii=False, allow_nan=False).encode("utf-8")
    except UnicodeEncodeError as error:
        surrogate = error.object[error.start]
        raise ValueError(f"expected Unicode, got the unpaired surrogate {surrogate!r}") from None
    except RecursionError:
        raise ValueError("expected JSON that is not nested this deeply") from None
    except ValueError as error:
        raise ValueError(f"expected JSON, got {quote(text)} ({error})") from None
    return value


def check_separator(path: str, lines: Iterator[tuple[int, str]]) -> Iterator[tuple[int, str]]:
    """Passes on the numbered lines of a file, which `split_fields` can then split.

    # Raises

    `DataFormatError`: a line is separated by blanks and an earlier one by tabs, or the other way round.
    """
    expected = ""
    for number, line in lines:
        text = line.strip(" \t")
        separator = "tabs" if "\t" in text else "blanks" if " " in text else expected
        if expected and separator != expected:
            raise DataFormatError(
                f"{path}:{number}: expected fields separated by {expected}, as in the lines before, got {quote(line)}"
            )
        expected = separator
        yield number, line


def split_fields(line: str) -> list[str]:
    """
    Splits a line into fields, such as words, at its tabs or, if it has none, at blanks.

    These characters separate words:

    - In files of words (`.src`, `.mt`, `.tags`, columns of CoNLL), blanks, or tabs if there are any. All other
      characters belong to words, including U+00A0, U+0085 and U+3000: these files have a tag for each word.
    - In JSON, each item of a list is a word.
    - In raw text, any Unicode whitespace and the rules of a tokenizer.

    U+200B and U+FEFF always belong to words, except that a U+FEFF at the start of a file is a byte order mark and is
    dropped. Unpaired surrogates are errors.
    """
    separator = "\t" if "\t" in line.strip(" \t") else " "
    fields = (field.strip(" ") for field in line.strip(" \t").split(separator))
    return [field for field in fields if field]


def peek(
    examples: Iterable[Item], has_labels: Callable[[Item], bool]
) -> tuple[bool, Iterable[Item]]:
    """Returns whether any of the examples has labels, and all examples. Usually, the first one suffices; no more than
    necessary are read."""
    examples, read = iter(examples), []
    for example in examples:
        read.append(example)
        if has_labels(example):
            return True, chain(read, examples)
    return False, read
