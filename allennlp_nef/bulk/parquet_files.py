"""Rows of Parquet files, in their order."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from allennlp_nef.data.formats.text_files import FileSlice
from allennlp_nef.errors import DataFormatError, needing, summary_of

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


def count_rows(path: str) -> int:
    """How many rows a file has. Raises as `open_parquet` does."""
    with open_parquet(path) as file:
        rows: int = file.metadata.num_rows
        return rows


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
