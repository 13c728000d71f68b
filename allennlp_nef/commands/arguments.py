import argparse
import math
import sys
from collections.abc import Callable


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
