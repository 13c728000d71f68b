"""Runs programs in the process of the tests, where most of what they import is loaded already."""

import importlib
import os
import sys
import traceback
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

from tests.conftest import restored


def run_script(path, *arguments):
    """Calls `main()` of a script of `benchmarks`; returns its exit status. Exceptions pass through."""
    path = Path(path)
    with restored():
        sys.argv = [str(path), *map(str, arguments)]
        try:
            importlib.import_module(path.stem).main()
        except SystemExit as end:
            return end.code or 0
    return 0


def call_in_process(command, stdout, stderr, cwd, env):
    """A stand-in for `subprocess.call` for commands of this Python: a script, or `-m allennlp`.

    An exception is written to stderr, and makes the status 1, as at the end of a program.
    """
    from allennlp.commands import main

    python, *command = command
    if python != sys.executable:
        raise ValueError(f"expected a command of {sys.executable}, got {python}")
    with redirect_stdout(stdout), redirect_stderr(stderr):
        try:
            if command[0] != "-m":
                return run_script(*command)
            with restored():
                os.chdir(cwd)
                sys.argv = command[1:]
                main(prog="allennlp")
        except Exception:  # noqa: BLE001  # as the interpreter does
            traceback.print_exc(file=stderr)
            return 1
    return 0
