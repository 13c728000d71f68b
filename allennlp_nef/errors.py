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


def summary_of(error: BaseException) -> str:
    """The first and the last line of an error's message, or the name of its type where it has no message."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return "; ".join(dict.fromkeys([*lines[:1], *lines[-1:]])) or type(error).__name__
