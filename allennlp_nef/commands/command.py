"""What all commands share: their type, options, tables and output."""

import argparse
import math
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, TextIO

from allennlp_nef.errors import UserError


class Command(NamedTuple):
    """A command of this package, for AllenNLP's program and for `allennlp-nef`.

    The module of a command is imported for every help text, so it imports what is slow only within `run`.
    """

    name: str
    summary: str
    """One line."""
    details: str
    """Printed as they stand, but for `%(prog)s`, the program with the command, and `%%`, a percent sign."""
    add_arguments: Callable[[argparse.ArgumentParser], None]
    run: Callable[[argparse.Namespace], Iterator[str]]
    """Does the work, and yields the lines to print. Raises `UserError` or `OSError` for a mistake of the user."""
    needs_components: bool
    """Whether it loads models: then the components of this package and of plugins have to be registered."""

    def parser_options(self) -> dict[str, Any]:
        """The arguments of its `ArgumentParser`."""
        return {
            "description": f"{self.summary}\n{self.details}",
            "formatter_class": argparse.RawDescriptionHelpFormatter,
        }


def integer(minimum: int) -> Callable[[str], int]:
    """The `type` of an argument: an integer of at least `minimum`, and at most the largest index."""

    def parse(text: str) -> int:
        try:
            value = int(text)
        except ValueError:
            value = minimum - 1
        if not minimum <= value <= sys.maxsize:
            raise argparse.ArgumentTypeError(
                f"expected an integer of at least {minimum}, got {text!r}"
            )
        return value

    return parse


def number(minimum: float) -> Callable[[str], float]:
    """The `type` of an argument: a finite number of at least `minimum`."""

    def parse(text: str) -> float:
        try:
            value = float(text)
        except ValueError:
            value = math.nan
        if not minimum <= value < math.inf:
            raise argparse.ArgumentTypeError(
                f"expected a number of at least {minimum:g}, got {text!r}"
            )
        return value

    return parse


def add_trust(parser: argparse.ArgumentParser) -> None:
    """Adds the option of commands that load archives; `args.trust` goes to `load_predictor`."""
    parser.add_argument(
        "--trust",
        action="store_true",
        help="let archives do what AllenNLP lets them do, such as call any function; for archives of one's own",
    )


def print_lines(lines: Iterable[str], file: TextIO | None = None) -> None:
    """Prints lines, to standard output by default. Letters that the terminal does not have become escapes."""
    for line in lines:
        stream = sys.stdout if file is None else file
        if stream is None:  # the user closed it
            raise UserError("standard output: expected a stream that is open, got a closed one")
        encoding = stream.encoding or "utf-8"
        print(line.encode(encoding, "backslashreplace").decode(encoding), file=stream)


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
