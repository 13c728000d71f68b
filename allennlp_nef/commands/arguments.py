import argparse
import sys
from typing import Callable


def integer(minimum: int) -> Callable[[str], int]:
    """The `type` of an argument: an integer of at least `minimum`, and no more than an index can be."""

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


def add_parser(
    parsers: argparse._SubParsersAction, name: str, summary: str, details: str
) -> argparse.ArgumentParser:
    """The parser of a command; `details` are printed as they stand."""
    return parsers.add_parser(
        name,
        help=summary,
        description=f"{summary}\n{details}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
