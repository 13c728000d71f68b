"""The sentences of a shard, as rows or as instances; a message for each that cannot be read."""

import logging
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from typing import Any, TypeVar

from allennlp_nef.bulk.row_tagger import Item, RowTagger
from allennlp_nef.bulk.shards import Shard, sentences_of
from allennlp_nef.data.dataset_readers import (
    ConllTagsReader,
    ConlluTagsReader,
    TaggingReader,
    WmtWordQeReader,
)
from allennlp_nef.data.formats.text_files import FileSlice, first_line_of, is_blank, iterate_lines
from allennlp_nef.errors import DataFormatError, UserError
from allennlp_nef.predictors.requests import LoadedRequest, describe, load_request, request_error

T = TypeVar("T")
Slices = dict[str, FileSlice]
READERS = {"conll": ConllTagsReader, "conllu": ConlluTagsReader, "wmt": WmtWordQeReader}
"""The readers whose formats can be cut into shards."""


def read_rows(rows: RowTagger, shard: Shard) -> Iterator[tuple[dict[str, Any], Item]]:
    """The objects of JSON lines, with their instances. Of a line that is no object, an empty one."""

    def parse(row: Any, where: str) -> Item:
        if not isinstance(row, dict):
            raise request_error(f"{where}expected a JSON object, got {describe(row)}")
        return rows.item(row, where)

    def load(number: int, line: str) -> LoadedRequest:
        return load_request(line, parse, f"{shard.slices['path']}:{number}: ")

    for line in _read(shard, "jsonl", _lines):
        try:
            loaded = load(*line) if isinstance(line, tuple) else line
        except UserError as error:
            loaded = str(error)
        yield ({}, loaded) if isinstance(loaded, str) else (loaded, loaded.parsed)


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
    """What `read` gives for a shard, one a sentence. Where that is an error, each sentence is read alone."""
    try:
        return [*read(shard.slices)]
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
