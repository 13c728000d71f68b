"""Shards: where each part of the input begins and ends, in files of text and of Parquet, and its sentences."""

import hashlib
import logging
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from allennlp_nef.corpora.tagger import Item, RowTagger
from allennlp_nef.data.dataset_readers import (
    ConllTagsReader,
    ConlluTagsReader,
    TaggingReader,
    WmtWordQeReader,
)
from allennlp_nef.data.formats.conll_columns import BOUNDARIES
from allennlp_nef.data.formats.text_files import (
    FileSlice,
    TextPath,
    check_file,
    first_line_of,
    is_blank,
    iterate_lines,
    open_file,
    read_parallel_lines,
)
from allennlp_nef.data.formats.wmt_word_qe import find_example_files
from allennlp_nef.errors import DataFormatError, UserError, needing, summary_of
from allennlp_nef.predictors.requests import describe, read_json, request_error

if TYPE_CHECKING:
    import pyarrow
    from pyarrow.parquet import ParquetFile

_BATCH_SIZE = 1024
"""How many rows are decoded at a time."""
_BUFFER_SIZE = 2**20
"""How many bytes of a column are read at a time."""


def open_parquet(path: str) -> "ParquetFile":
    """Raises a `UserError` where pyarrow is not installed, a `DataFormatError` where it is no Parquet file."""
    with needing("ray", "Parquet files"):
        from pyarrow.lib import ArrowException
        from pyarrow.parquet import ParquetFile
    try:
        return ParquetFile(path, buffer_size=_BUFFER_SIZE)
    except ArrowException as error:
        raise DataFormatError(
            f"{path}: expected a Parquet file, got another ({summary_of(error)})"
        ) from error


class ParquetRows:
    """Tables of rows of files.

    A file is decoded from its start, and further where the next slice is asked for. So slices in their order cost as
    much as the file once, however large its row groups are.
    """

    def __init__(self) -> None:
        self._path = ""
        self._place = 0
        """The number of the next row."""
        self._batches: Iterator[pyarrow.RecordBatch] = iter(())
        self._rest: pyarrow.RecordBatch | None = None
        """What was decoded and not taken."""

    def table(self, rows: FileSlice) -> "pyarrow.Table":
        """The rows of a slice. Raises a `DataFormatError` where they are damaged."""
        from pyarrow.lib import ArrowException

        try:
            return self._table(rows)
        except (ArrowException, OSError, RuntimeError) as error:  # the last: fewer rows than before
            self._path = ""
            raise DataFormatError(
                f"{rows.path}:{rows.start + 1}: expected rows that can be decoded, got {summary_of(error)}"
            ) from error

    def _table(self, rows: FileSlice) -> "pyarrow.Table":
        import pyarrow

        if self._path != rows.path or rows.start < self._place:
            self._batches = open_parquet(rows.path).iter_batches(_BATCH_SIZE)
            self._path, self._place, self._rest = rows.path, 0, None
        for _ in self._take(rows.start - self._place):
            pass
        return pyarrow.Table.from_batches(self._take(rows.end - rows.start))

    def _take(self, count: int) -> Iterator["pyarrow.RecordBatch"]:
        self._place += count
        while count:
            if self._rest is None:
                self._rest = next(self._batches)
            taken = self._rest.slice(0, count)
            count -= taken.num_rows
            rest = self._rest.slice(taken.num_rows)
            self._rest = rest if rest.num_rows else None
            yield taken


_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


class InputFile(NamedTuple):
    """A file that was read when the work was planned."""

    path: str
    bytes: int
    sha256: str
    modified: int
    """The time of the last change, in nanoseconds. It may differ where the work goes on."""

    def is_unchanged(self) -> bool:
        """Whether the file is still the one that was read."""
        state = os.stat(self.path)
        return (state.st_size, state.st_mtime_ns) == (self.bytes, self.modified)


class Input(NamedTuple):
    """An input of the command."""

    path: str
    format: str
    """One of `FORMATS`."""
    sentences: int
    files: dict[str, InputFile]
    """The file of each part of the data set; of a single file, by the name "path"."""


class Shard(NamedTuple):
    """What is tagged and written at a time."""

    number: int
    """Of its part of the output, from 0."""
    input: int
    """The number of its input, from 0."""
    first: int
    """The number of its first sentence in the input, from 0."""
    sentences: int
    slices: dict[str, FileSlice]
    """The slice of each file. Of Parquet, `start` and `end` are rows."""


def begins_line(line: bytes) -> bool:
    """Of files with a sentence a line: whether a sentence begins here."""
    return True


def begins_text(line: bytes) -> bool:
    """Of JSON lines: whether a sentence begins here."""
    return bool(line.strip(b" \t\r\n"))


class BeginsBlock:
    """Of sentences that empty lines separate: whether a sentence begins here, of one line after the other.

    # Parameters

    boundaries : `Sequence[str]`
        A line whose first column is one of these belongs to no sentence.
    """

    def __init__(self, boundaries: Sequence[str] = ()) -> None:
        self._boundaries = [boundary.encode("ascii") for boundary in boundaries]
        self._is_inside = False

    def __call__(self, line: bytes) -> bool:
        was_inside, text = self._is_inside, line.strip(b" \t\r\n")
        first = text.replace(b"\t", b" ").split(b" ", 1)[0] if self._boundaries else None
        self._is_inside = bool(text) and first not in self._boundaries
        return self._is_inside and not was_inside


FORMATS: dict[str, Callable[[], Callable[[bytes], bool]]] = {
    "jsonl": lambda: begins_text,
    "parquet": lambda: begins_line,
    "conll": partial(BeginsBlock, BOUNDARIES),
    "conllu": BeginsBlock,
    "wmt": lambda: begins_line,
}
"""The formats of inputs. For each, what tells where a sentence begins."""


def split_file(
    path: TextPath,
    begins: Callable[[bytes], bool],
    size: int,
    read: Callable[[bytes], object] = len,
) -> Iterator[tuple[FileSlice, int]]:
    """The slices of a file, or of a slice, with `size` sentences each, and how many each has; the last may have fewer.

    Lines before the first sentence are in the first slice, others between sentences in that of the sentence before.
    Each line goes to `read`.
    """
    name, start, _, first = path if isinstance(path, FileSlice) else (path, 0, 0, 1)
    place, number, sentences = start, first, 0
    with open_file(path) as file:
        for line in file:
            read(line)
            text = line[3:] if place == 0 and line.startswith(_BYTE_ORDER_MARK) else line
            if begins(text):
                if sentences == size:
                    yield FileSlice(name, start, place, first), sentences
                    start, first, sentences = place, number, 0
                sentences += 1
            place += len(line)
            number += 1
    if sentences:
        yield FileSlice(name, start, place, first), sentences


def sentences_of(shard: Shard, format: str) -> list[dict[str, FileSlice]]:
    """The slices of each sentence of a shard."""
    split = {
        part: list(split_file(path, FORMATS[format](), 1)) for part, path in shard.slices.items()
    }
    return [slices for slices, _ in _side_by_side(split, shard.slices)]


def plan(inputs: Sequence[tuple[str, str]], size: int) -> tuple[list[Input], list[Shard]]:
    """Reads each input, a path and its format, once: for its digest, and for its shards of `size` sentences.

    # Raises

    `DataFormatError`: a file that is missing, an input without sentences, parallel files of different lengths.
    """
    planned: list[Input] = []
    shards: list[Shard] = []
    for number, (path, format) in enumerate(inputs):
        is_parallel = format == "wmt"
        paths = (
            {part: str(file) for part, file in find_example_files(path).items()}
            if is_parallel
            else {"path": path}
        )
        split = {}
        files = {}
        for part, name in paths.items():
            digest = hashlib.sha256()
            check_file(name)
            state = os.stat(name)
            split[part] = list(_split_input(name, format, size, digest.update))
            files[part] = InputFile(name, state.st_size, digest.hexdigest(), state.st_mtime_ns)
        if len({sum(count for _, count in each) for each in split.values()}) > 1:
            # An error, unless the file of alignments lacks nothing but its last line, which is empty.
            for _ in read_parallel_lines(paths, may_be_empty={"alignments"}):
                pass
        first = 0
        for slices, count in _side_by_side(split, paths):
            shards.append(Shard(len(shards), number, first, count, slices))
            first += count
        if not first:
            raise DataFormatError(f"{path}:1: expected at least one sentence, got none")
        planned.append(Input(path, format, first, files))
    return planned, shards


def _split_input(
    path: str, format: str, size: int, read: Callable[[bytes], object]
) -> Iterator[tuple[FileSlice, int]]:
    if format != "parquet":
        yield from split_file(path, FORMATS[format](), size, read)
        return
    with open(path, "rb") as file:
        for chunk in iter(partial(file.read, 2**20), b""):
            read(chunk)
    with open_parquet(path) as table:
        rows = table.metadata.num_rows
    for start in range(0, rows, size):
        end = min(start + size, rows)
        yield FileSlice(path, start, end, start + 1), end - start


def _side_by_side(
    split: Mapping[str, Sequence[tuple[FileSlice, int]]], paths: Mapping[str, TextPath]
) -> Iterator[tuple[dict[str, FileSlice], int]]:
    """The slices of parallel files that belong together. Where a file has no more, the slice is empty."""
    longest = max(split.values(), key=len)
    for number, (any_slice, count) in enumerate(longest):
        empty = any_slice._replace(start=0, end=0)
        slices = {
            part: each[number][0] if number < len(each) else empty._replace(path=str(paths[part]))
            for part, each in split.items()
        }
        yield slices, count


T = TypeVar("T")
Slices = dict[str, FileSlice]
READERS = {"conll": ConllTagsReader, "conllu": ConlluTagsReader, "wmt": WmtWordQeReader}
"""The readers whose formats can be cut into shards."""


def read_rows(rows: RowTagger, shard: Shard) -> Iterator[tuple[dict[str, Any], Item]]:
    """The objects of JSON lines, with their instances. Of a line that is no object, an empty one."""

    for line in _read(shard, "jsonl", _lines):
        if isinstance(line, str):
            yield {}, line
            continue
        where = f"{shard.slices['path']}:{line[0]}: "
        try:
            row = read_json(line[1], where)
            if not isinstance(row, dict):
                raise request_error(f"{where}expected a JSON object, got {describe(row)}")
        except UserError as error:
            yield {}, str(error)
        else:
            yield row, rows.item(row, where)


def read_instances(reader: TaggingReader, shard: Shard, format: str) -> Iterator[Item]:
    """The instances of a shard of files that a dataset reader reads, without gold labels.

    A model would keep metrics of these.
    """

    with _without_warnings():
        examples = _read(shard, format, partial(_examples, reader, format))
    for example in examples:
        if not isinstance(example, str):
            example = reader.to_instance(example)
            for field in ("tags", "sentence_score"):
                example.fields.pop(field, None)
        yield example


def warn_about(reader: TaggingReader, shard: Shard, format: str) -> None:
    """Reads a sentence, so that the reader logs its warnings about the file. Errors come where it is tagged."""
    if format in READERS:
        with suppress(DataFormatError):
            next(iter(_examples(reader, format, shard.slices)), None)


def _examples(reader: TaggingReader, format: str, slices: Slices) -> Iterator[Any]:
    path: Any = slices if format == "wmt" else slices["path"]
    return reader.examples(path)


def _lines(slices: Slices) -> Iterator[tuple[int, str]]:
    path = slices["path"]
    for number, line in enumerate(iterate_lines(path), first_line_of(path)):
        if not is_blank(line):
            yield number, line


def _read(shard: Shard, format: str, read: Callable[[Slices], Iterable[T]]) -> list[T | str]:
    """What `read` gives for a shard, one a sentence. Where that is an error, each sentence is read alone.

    So it is where a block of comments alone was counted as a sentence.
    """
    try:
        items: list[T | str] = [*read(shard.slices)]
        if len(items) == shard.sentences:
            return items
    except DataFormatError:
        pass
    found: list[T | str] = []
    for slices in sentences_of(shard, format):
        try:
            found += read(slices)
        except DataFormatError as error:
            found.append(str(error))
    return found


@contextmanager
def _without_warnings() -> Iterator[None]:
    """Readers warn about a file, such as that it has no tags. They would do so for each slice of it."""
    logger = logging.getLogger("allennlp_nef.data")
    level = logger.level
    logger.setLevel(logging.ERROR)
    try:
        yield
    finally:
        logger.setLevel(level)
