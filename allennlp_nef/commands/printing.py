import sys
from collections.abc import Iterable
from typing import TextIO

from allennlp_nef.errors import UserError


def print_lines(lines: Iterable[str], file: TextIO | None = None) -> None:
    """Prints lines, to standard output by default. Letters that the terminal does not have become escapes."""
    for line in lines:
        stream = sys.stdout if file is None else file
        if stream is None:  # the user closed it
            raise UserError("standard output: expected a stream that is open, got a closed one")
        encoding = stream.encoding or "utf-8"
        print(line.encode(encoding, "backslashreplace").decode(encoding), file=stream)
