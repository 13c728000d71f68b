"""Errors that users can fix. Any module may import them; they need only the standard library."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from traceback import walk_tb
from typing import Any


class UserError(ValueError):
    """An error in an option, in data or in an archive, or a missing optional package."""


class DataFormatError(UserError):
    """Data that cannot be read. The message is `path:line: expected ..., got ...`."""


class ArchiveError(UserError):
    """An archive that is damaged, or that would run code. The message begins with its path."""


@contextmanager
def require_extra(extra: str, what: str) -> Iterator[None]:
    """Reports a missing optional package as a `UserError` within a context.

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
    """Returns the `repr` of a value for a message, cut to `length` characters."""
    text = repr(value)
    return text if len(text) <= length else text[: length - 3] + "..."


def describe(error: BaseException) -> str:
    """Formats an error as one line. An `OSError` becomes its file and the system's message."""
    if isinstance(error, OSError) and error.filename is not None:
        return f"{error.filename}: {(error.strerror or str(error)).lower()}"
    # A `ConfigurationError` quotes itself.
    message = " ".join(str(getattr(error, "message", None) or error).split())
    speaks = isinstance(error, OSError | ImportError | RuntimeError | TypeError | ValueError)
    if message and (speaks or hasattr(error, "message")):
        return message
    return f"{type(error).__name__}: {message}"  # such as the key of a `KeyError`


def raised_in(error: BaseException, *functions: Callable[..., Any]) -> bool:
    """Returns whether an error was raised while one of the functions was running."""
    codes = {getattr(function, "__func__", function).__code__ for function in functions}
    return any(frame.f_code in codes for frame, _ in walk_tb(error.__traceback__))
