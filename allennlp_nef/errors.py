"""Errors that a user can fix, and their messages. Any module may import them; they need nothing but Python."""

import unicodedata
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from difflib import get_close_matches
from typing import Any


class UserError(ValueError):
    """A mistake of the user: in an option, in data, in an archive, or an optional package that is not installed."""

    exit_status = 2
    """That of a program that ends with it."""


class DataFormatError(UserError):
    """Data that cannot be read. The message is `path:line: expected ..., got ...`."""


class ArchiveError(UserError):
    """An archive that is damaged, or that would run code. The message begins with its path."""


class DataCheckError(UserError):
    """Data that a check found errors in."""

    exit_status = 1


class MissingExtraError(UserError):
    """An extra of this package is not installed."""


class FileError(DataFormatError):
    """A file that is missing or cannot be opened. The message is `path: expected a file, got ...`."""


OnError = Callable[[DataFormatError], None]
"""What a reader does with a sentence that cannot be read. If it returns, the reader goes on after the sentence."""


def raise_error(error: DataFormatError) -> None:
    """The `OnError` that raises the error."""
    raise error


@contextmanager
def needing(extra: str, what: str) -> Iterator[None]:
    """A context in which a missing package is a `UserError` that names the extra which installs it.

    # Parameters

    extra : `str`
        A name in the optional dependencies of this package.
    what : `str`
        What needs it, such as an option.
    """
    try:
        yield
    except ImportError as error:
        raise MissingExtraError(
            f"{what}: expected the extra {extra}, which is not installed: pip install 'allennlp_nef[{extra}]' "
            f"({error})"
        ) from error


def quote(value: Any, length: int = 40) -> str:
    """`value` as it stands in a message: its `repr`, cut to `length` characters."""
    text = repr(value)
    return text if len(text) <= length else text[: length - 3] + "..."


def unknown_option(place: str, name: str, options: Iterable[str], kind: str = "options") -> str:
    """The message for an option, or another kind of name, that does not exist: the nearest one, and all that do."""
    known = sorted(options)
    nearest = get_close_matches(name, known, 1)
    hint = f"; did you mean {nearest[0]}?" if nearest else ""
    return f"{place}: expected one of the {kind} {', '.join(known)}, got {quote(name)}{hint}"


def summary_of(error: BaseException) -> str:
    """The first and the last line of an error's message, or the name of its type where it has no message."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return "; ".join(dict.fromkeys([*lines[:1], *lines[-1:]])) or type(error).__name__


# Categories and characters that XML or UTF-8 does not have.
_CONTROL = ("Cc", "Cs")
_NO_CHARACTERS = "\ufffe\uffff"


def printable(text: str) -> str:
    """A text on one line, with escapes for what cannot be printed."""
    return "".join(map(_printable, text))


def _printable(letter: str) -> str:
    if unicodedata.category(letter) in _CONTROL or letter in _NO_CHARACTERS:
        return letter.encode("unicode_escape").decode("ascii")
    return letter
