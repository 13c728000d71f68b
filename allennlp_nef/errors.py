"""Errors that a user can mend. Any module may import them; they need nothing but Python."""

from typing import Any


class UserError(ValueError):
    """A mistake of the user: in an option, in data, in an archive, or an optional package that is not installed."""


class DataFormatError(UserError):
    """Data that cannot be read. The message is `path:line: expected ..., got ...`."""


def quote(value: Any, length: int = 40) -> str:
    """`value` as it stands in a message: its `repr`, cut to `length` characters."""
    text = repr(value)
    return text if len(text) <= length else text[: length - 3] + "..."


def first_line(error: BaseException) -> str:
    """The first line of an error's message, or the name of its type where it has no message."""
    lines = str(error).splitlines()
    return lines[0] if lines else type(error).__name__
