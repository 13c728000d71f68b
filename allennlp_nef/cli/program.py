"""The program `allennlp-nef`: AllenNLP's commands with the components and the commands of this package.

It is a thin layer over `allennlp.commands.main`: archives are loaded safely, user errors are reported in one line, and
a few commands do more (see `allennlp_commands`).
"""

import errno
import logging
import os
import sys
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

TRACEBACK = "--traceback"


def main() -> None:
    """Runs the program with the arguments of the command line."""
    sys.exit(run(sys.argv[1:]))


def run(arguments: Sequence[str]) -> int:
    """Runs a command.

    # Returns

    `int`: the exit status, 2 for an error in options, data or archives. With `--traceback` anywhere among the
    arguments, such an error is raised. Everything else that goes wrong is a bug and is raised.
    """
    level = os.environ.setdefault("ALLENNLP_LOG_LEVEL", "WARNING")
    logging.basicConfig(format="%(levelname)s: %(message)s", level=level)
    logging.getLogger("filelock").setLevel(logging.WARNING)
    logging.setLogRecordFactory(record_on_own_line)

    from allennlp.commands import main as run_allennlp
    from allennlp.common.checks import ConfigurationError

    from allennlp_nef.cli import allennlp_commands, subcommands
    from allennlp_nef.errors import UserError
    from allennlp_nef.predictors.archives import safe_archives
    from allennlp_nef.version import VERSION

    shows_traceback = TRACEBACK in arguments
    command = [argument for argument in arguments if argument != TRACEBACK] or ["--help"]
    if command == ["--version"]:
        print(f"allennlp-nef {VERSION}")
        return 0
    sys.argv = ["allennlp-nef", *command]
    try:
        if command[0] in allennlp_commands.COMMANDS:
            allennlp_commands.extend(command[0])
        elif command[0] in ("serve", "--help", "-h"):
            with suppress(ImportError):  # it registers a command of the same name
                import allennlp_server.commands.server_simple  # noqa: F401
            subcommands.register("serve")
        with safe_archives():
            run_allennlp(prog="allennlp-nef")
    except BrokenPipeError:  # the reader of our output has stopped, such as `head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except KeyboardInterrupt:
        return 130
    except (UserError, ConfigurationError, OSError) as error:
        if shows_traceback or is_bug(error):
            raise
        for bar in progress_bars():  # end its line
            bar.close()
        print(f"allennlp-nef: error: {message_of(error)}", file=sys.stderr)
        return 2
    return 0


def record_on_own_line(*args: Any, **options: Any) -> logging.LogRecord:
    """A log record. Progress bars are cleared, so that its message begins on a line of its own."""
    for bar in progress_bars():
        bar.clear()
    return logging.LogRecord(*args, **options)


def progress_bars() -> list[Any]:
    """The progress bars that are shown."""
    from tqdm import tqdm  # type: ignore[import-untyped]

    return list(tqdm._instances)


def is_bug(error: Exception) -> bool:
    """Whether an error is not the user's, such as an `OSError` without a file name."""
    # `cached_path` names the file in the message only.
    is_named = isinstance(error, FileNotFoundError) or getattr(error, "filename", None) is not None
    is_full = isinstance(error, OSError) and error.errno == errno.ENOSPC
    return isinstance(error, OSError) and not is_named and not is_full


def message_of(error: Exception) -> str:
    """An error in one line; an `OSError` as its file and the system's message."""
    from allennlp.common.file_utils import CACHE_DIRECTORY

    if isinstance(error, OSError) and error.filename is not None:
        message = f"{error.filename}: {(error.strerror or str(error)).lower()}"
        is_missing = not os.path.exists(error.filename)
        if is_missing and Path(CACHE_DIRECTORY).is_relative_to(error.filename):
            message += " (ALLENNLP_CACHE_ROOT sets another folder for downloads)"
        return message
    if isinstance(error, OSError) and error.errno == errno.ENOSPC:
        return f"no space left for the output, or in {tempfile.gettempdir()} (TMPDIR)"
    message = getattr(error, "message", None) or str(error)  # a `ConfigurationError` quotes itself
    return " ".join(str(message).split())
