import argparse
import sys
from typing import Callable, Iterator

from allennlp_nef.commands.figures import printable
from allennlp_nef.commands.output_files import reason_of
from allennlp_nef.errors import DataFormatError


def printed(
    lines: Callable[[argparse.Namespace], Iterator[str]],
) -> Callable[[argparse.Namespace], None]:
    """The `func` of a command: prints what it yields, or an error and an exit status of 2 (130 where interrupted)."""

    def run(args: argparse.Namespace) -> None:
        status = 2
        try:
            for line in lines(args):
                # What the terminal has no letters for is written as escapes.
                encoding = sys.stdout.encoding or "utf-8"
                print(line.encode(encoding, "backslashreplace").decode(encoding))
            return
        except DataFormatError as error:
            message = str(error)
        except OSError as error:
            name = error.filename or "standard output"
            message = (
                f"{name}: expected a file or folder that can be used, got {reason_of(error)!r}"
            )
        except KeyboardInterrupt:
            message, status = "interrupted", 130
        print(f"error: {printable(message)}", file=sys.stderr)
        sys.exit(status)

    return run
