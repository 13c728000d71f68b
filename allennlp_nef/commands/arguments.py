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
