from typing import Any


class DataFormatError(ValueError):
    """Data that cannot be read. The message is `path:line: expected ..., got ...`."""


def quote(value: Any, length: int = 40) -> str:
    """`value` as it stands in a message: its `repr`, cut to `length` characters."""
    text = repr(value)
    return text if len(text) <= length else text[: length - 3] + "..."
