import sys
from collections.abc import Iterable
from typing import TextIO

from allennlp_nef.commands.output_files import reason_of
from allennlp_nef.errors import UserError
from allennlp_nef.text import printable


def print_lines(lines: Iterable[str], file: TextIO | None = None) -> None:
    """Prints lines, to standard output by default. Letters that the terminal does not have become escapes."""
    for line in lines:
        stream = sys.stdout if file is None else file
        if stream is None:  # the user closed it
            raise UserError("standard output: expected a stream that is open, got a closed one")
        encoding = stream.encoding or "utf-8"
        print(line.encode(encoding, "backslashreplace").decode(encoding), file=stream)


def error_message(error: Exception) -> str:
    """The message for a `UserError` or an `OSError`."""
    if isinstance(error, OSError):
        name = error.filename or "standard output"
        return f"{name}: expected a file or folder that can be used, got {reason_of(error)!r}"
    return str(error)


def print_error(message: str) -> None:
    """Prints `error: ` and a message to standard error, on one line."""
    print_lines([f"error: {printable(message)}"], sys.stderr)
