"""The program `allennlp-nef`: the commands of AllenNLP and of allennlp_nef, in any folder, without plugin files.

This module lies outside the package, so that `main` can tell the package how it is to be imported.
"""

import multiprocessing
import sys
from collections.abc import Sequence
from contextlib import ExitStack

imports_without_components = False
"""Read by `allennlp_nef/__init__.py`: whether importing the package leaves the components unregistered."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the program with the arguments of the command line, and returns its exit status."""
    global imports_without_components
    imports_without_components = True
    try:
        from allennlp_nef.cli.program import run
    except KeyboardInterrupt:
        print("error: interrupted", file=sys.stderr)
        return 130
    finally:
        imports_without_components = False
    return run(sys.argv[1:] if arguments is None else arguments)


if __name__ == "__main__":
    # Under the name that `allennlp_nef/__init__.py` looks for.
    from allennlp_nef_console import main as _main

    sys.exit(_main())

if multiprocessing.current_process().name != "MainProcess":
    # A process that the program spawned, as distributed training does. It imports the program before anything else.
    from allennlp_nef.cli.terminal import set_up_logging

    set_up_logging()
    if "--trust" not in sys.argv:
        from allennlp_nef.cli.allennlp_program import load_safely

        _to_the_end = ExitStack()  # never closed
        load_safely(_to_the_end)
