"""
Files in columns of the WMT shared tasks on quality estimation: header lines, then rows of columns that tabs separate.

A submission may begin with lines of one number: the bytes on disk and the number of parameters (WMT20 and 21), and
the number of models in the ensemble (from WMT22). Gold files of WMT23 begin with the names of the columns.
"""

from collections.abc import Sequence, Set
from typing import NamedTuple

from allennlp_nef.data.formats.text_files import is_whole_number, read_lines
from allennlp_nef.errors import DataFormatError, quote

HEADER = ("disk_footprint", "parameters", "ensemble_size")
"""What the header lines of a submission are, in their order; the first is in bytes."""


class SystemInfo(NamedTuple):
    """What a submission says about its system."""

    name: str
    language_pair: str | None = None
    kind: str | None = None
    """What is tagged: "mt" (words), "gap" or "source"."""
    header: tuple[int, ...] = ()
    """The numbers of the header lines; `HEADER` has their names."""


Line = tuple[int, str]
"""The number of a line in its file, from 1, and its text."""


class Layout(NamedTuple):
    """A layout of the shared tasks."""

    name: str
    columns: tuple[str, ...]
    header_lines: int = 0
    first_name: str | None = None
    """The name of the first column, where the first line has the names of the columns."""

    def __str__(self) -> str:
        before = f", after {self.header_lines} header lines" if self.header_lines else ""
        names = ", after a line of column names" if self.first_name else ""
        return f"{self.name}: {len(self.columns)} columns{before}{names}"


class Row(NamedTuple):
    """A row of a table."""

    line: int
    """From 1."""
    cells: list[str]


class Table(NamedTuple):
    """A file that was read."""

    layout: Layout
    header: tuple[int, ...]
    rows: list[Row]


def read_table(path: str, layouts: Sequence[Layout], encoding: str = "utf-8") -> Table:
    """The `table_of` the lines of a file. Raises the `DataFormatError` of `read_lines`, too."""
    return table_of(path, layouts, list(enumerate(read_lines(path, encoding), 1)))


def table_of(path: str, layouts: Sequence[Layout], lines: Sequence[Line]) -> Table:
    """
    The table of lines in one of the layouts, which the header lines and the first row tell.

    A row may have an empty cell more than the layout has columns.

    # Raises

    `DataFormatError`: no rows, none of the layouts, a header line that is no number, a row with another number of
    columns, columns in another order.
    """
    lines = [(number, line.rstrip("\r\n")) for number, line in lines]
    count = next((i for i, (_, line) in enumerate(lines) if "\t" in line), None)
    if count is None:
        raise DataFormatError(f"{path}:1: expected columns separated by tabs, got none")
    first_line, text = lines[count]
    first = text.split("\t")
    layout = next((each for each in layouts if _fits(each, count, first)), None)
    if layout is None:
        raise DataFormatError(
            f"{path}:{first_line}: expected a layout that is known ({'; '.join(map(str, layouts))}), "
            f"got {len(first)} columns after {count} header lines"
        )
    for name, (number, line) in zip(HEADER, lines[:count]):
        if not is_whole_number(line.strip(" ")):
            raise DataFormatError(
                f"{path}:{number}: expected {name.replace('_', ' ')}, an integer, got {quote(line)}"
            )
    header = tuple(int(line) for _, line in lines[:count])
    rows = []
    for number, line in lines[count:]:
        cells = line.split("\t")
        if len(cells) == len(layout.columns) + 1 and not cells[-1]:
            del cells[-1]
        if len(cells) != len(layout.columns):
            *others, last = layout.columns
            raise DataFormatError(
                f"{path}:{number}: expected {', '.join(others)} and {last}, separated by tabs, "
                f"got {quote(line.rstrip())}"
            )
        rows.append(Row(number, cells))
    if layout.first_name:
        _check_names(path, layout, rows.pop(0))
    if not rows:
        raise DataFormatError(f"{path}:{lines[-1][0]}: expected at least one row, got none")
    return Table(layout, header, rows)


def format_header(header: Sequence[int]) -> str:
    """The header lines of a submission, with their line ends: two numbers (WMT20 and 21) or three; `HEADER` says which.

    # Raises

    `DataFormatError`: another number of numbers, one that is no integer of at least 0.
    """
    if len(header) not in (2, 3) or not all(type(each) is int and each >= 0 for each in header):
        raise DataFormatError(
            f"header: expected two or three integers of at least 0 ({', '.join(HEADER)}), got {quote(list(header))}"
        )
    return "".join(f"{number}\n" for number in header)


def same_system(path: str, table: Table, columns: Sequence[int]) -> None:
    """Raises a `DataFormatError` at the first row whose cells in `columns` differ from those of the first row."""
    expected = [table.rows[0].cells[column] for column in columns]
    for row in table.rows:
        for column, value in zip(columns, expected):
            if row.cells[column] != value:
                raise DataFormatError(
                    f"{path}:{row.line}: expected the {table.layout.columns[column]} {quote(value)}, as in line "
                    f"{table.rows[0].line}, got {quote(row.cells[column])}"
                )


_HALLUCINATIONS = [Layout("WMT23 hallucinations", ("language pair", "sentence"), 0, "lp")]


def read_left_out(path: str, language_pair: str | None, encoding: str = "utf-8") -> frozenset[int]:
    """
    The sentences of a language pair, from 0, that a list of hallucinations of WMT23 leaves out.

    # Raises

    `DataFormatError`: that of `read_table`, a sentence that is no number, and where `language_pair` is None, a list of
    several language pairs.
    """
    table = read_table(path, _HALLUCINATIONS, encoding)
    if language_pair is None:
        same_system(path, table, [0])
    numbers = set()
    for line, (pair, sentence) in table.rows:
        if not is_whole_number(sentence):
            raise DataFormatError(
                f"{path}:{line}: expected a sentence, from 0, got {quote(sentence)}"
            )
        if language_pair in (None, pair):
            numbers.add(int(sentence))
    return frozenset(numbers)


def check_left_out(path: str, numbers: Set[int], sentences: int) -> None:
    """Raises a `DataFormatError` where a sentence to leave out is not among so many sentences."""
    if numbers and max(numbers) >= sentences:
        raise DataFormatError(
            f"{path}: expected sentences below {sentences}, as many as the gold file has, got {max(numbers)}"
        )


def _check_names(path: str, layout: Layout, names: Row) -> None:
    """Raises a `DataFormatError` for the name of a column that stands above another one."""
    for number, (name, expected) in enumerate(zip(names.cells, layout.columns), 1):
        if name != expected and name in layout.columns:
            raise DataFormatError(
                f"{path}:{names.line}: expected the columns {', '.join(layout.columns)}, "
                f"got {name} as column {number}"
            )


def _fits(layout: Layout, header_lines: int, first: list[str]) -> bool:
    columns = len(first) - (not first[-1] and len(first) > len(layout.columns))
    return (layout.header_lines, len(layout.columns)) == (header_lines, columns) and (
        layout.first_name in (None, first[0])
    )
