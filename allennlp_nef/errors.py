"""Errors that users can fix. Any module may import them; they need only the standard library."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


class UserError(ValueError):
    """An error in an option, in data or in an archive, or a missing optional package."""


class DataFormatError(UserError):
    """Data that cannot be read. The message is `path:line: expected ..., got ...`."""


class ArchiveError(UserError):
    """An archive that is damaged, or that would run code. The message begins with its path."""


@contextmanager
def needing(extra: str, what: str) -> Iterator[None]:
    """A context in which a missing optional package is reported as a `UserError`.

    # Parameters

    extra : `str`
        The extra of this package that installs it, such as `"plot"`.
    what : `str`
        The feature that needs it, such as the name of an option.
    """
    try:
        yield
    except ImportError as error:
        raise UserError(
            f"{what} needs the extra {extra!r}: pip install 'allennlp_nef[{extra}]' ({error})"
        ) from error


def quote(value: Any, length: int = 40) -> str:
    """The `repr` of a value for a message, cut to `length` characters."""
    text = repr(value)
    return text if len(text) <= length else text[: length - 3] + "..."
