"""Tables of text."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

Column = tuple[str, str, Callable[[Any], str]]
"""Its head, the name of its values in the rows, and the function that formats a value."""


def table_text(columns: Sequence[Column], rows: Sequence[Mapping[str, Any]]) -> str:
    """A table: the first column is aligned to the left, the others to the right."""
    cells = [[head for head, _, _ in columns]]
    cells += [[write(row[name]) for _, name, write in columns] for row in rows]
    widths = [max(map(len, column)) for column in zip(*cells)]
    return "\n".join(
        "  ".join([row[0].ljust(widths[0]), *map(str.rjust, row[1:], widths[1:])]) for row in cells
    )


def percent(share: float | None) -> str:
    """A fraction as a percentage with two decimals; "-" for None."""
    return "-" if share is None else f"{100 * share:.2f}"
