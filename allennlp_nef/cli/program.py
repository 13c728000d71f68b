"""The program `allennlp-nef`: AllenNLP's commands with the components and the commands of this package.

It is a thin layer over `allennlp.commands.main`: archives are loaded safely, mistakes are reported in one line, and a
few options have other defaults.
"""

import logging
import os
import sys
from collections.abc import Sequence

TRACEBACK = "--traceback"


def main() -> None:
    """Runs the program with the arguments of the command line."""
    sys.exit(run(sys.argv[1:]))


def run(arguments: Sequence[str]) -> int:
    """Runs a command.

    # Returns

    `int`: the exit status, 2 for a mistake in options, data or archives. With `--traceback` anywhere among the
    arguments, such a mistake is raised. Everything else that goes wrong is a bug, and is raised.
    """
    level = os.environ.setdefault("ALLENNLP_LOG_LEVEL", "WARNING")
    logging.basicConfig(format="%(levelname)s: %(message)s", level=level)
    logging.getLogger("filelock").setLevel(logging.WARNING)

    from allennlp.commands import main as run_allennlp
    from allennlp.common.checks import ConfigurationError

    from allennlp_nef.errors import UserError
    from allennlp_nef.predictors.archives import safe_archives

    shows_traceback = TRACEBACK in arguments
    command = [argument for argument in arguments if argument != TRACEBACK]
    sys.argv = ["allennlp-nef", *with_defaults(command)]
    try:
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
        print(f"allennlp-nef: error: {message_of(error)}", file=sys.stderr)
        return 2
    return 0


def with_defaults(arguments: Sequence[str]) -> list[str]:
    """The arguments with the defaults of this program: `predict` reads 64 sentences at a time, `serve` has a page.

    `serve ARCHIVE` stands for `serve --archive-path ARCHIVE`.
    """
    command, *options = arguments or ["--help"]
    if command == "predict" and not has_option(options, "--batch-size"):
        options += ["--batch-size", "64"]
    if command == "serve":
        from allennlp_nef.resources import folders

        if options and not options[0].startswith("-"):
            options = ["--archive-path", *options]
        if not has_option(options, "--static-dir"):
            options += ["--static-dir", str(folders()["demo"])]
    return [command, *options]


def has_option(arguments: Sequence[str], name: str) -> bool:
    return any(argument.split("=")[0] == name for argument in arguments)


def is_bug(error: Exception) -> bool:
    """Whether an error is not a mistake of the user, such as an `OSError` that does not name a file."""
    # `cached_path` names the file in the message only.
    is_named = isinstance(error, FileNotFoundError) or getattr(error, "filename", None) is not None
    return isinstance(error, OSError) and not is_named


def message_of(error: Exception) -> str:
    """An error in one line; an `OSError` as its file and the reason of the system."""
    if isinstance(error, OSError) and error.filename is not None:
        return f"{error.filename}: {(error.strerror or str(error)).lower()}"
    message = getattr(error, "message", None) or str(error)  # a `ConfigurationError` quotes itself
    return " ".join(str(message).split())
