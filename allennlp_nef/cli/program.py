"""The `allennlp-nef` program: AllenNLP's commands, plus the components and commands of this package.

It differs from the `allennlp` program: archives are loaded safely, user errors are reported in one line, and a few
commands do more or are this package's own.
"""

import argparse
import errno
import logging
import os
import signal
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from traceback import walk_tb
from typing import Any, NoReturn

TRACEBACK = "--traceback"
LEFT_OUT = ("checklist", "push-to-hf")
"""Commands of AllenNLP that do not run with current versions of the packages that they need."""


class Terminated(KeyboardInterrupt):
    """Raised on SIGTERM, which ends the program like Ctrl-C."""


def main() -> None:
    """Runs the program with the arguments of the command line."""

    def terminate(*_: Any) -> NoReturn:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        raise Terminated

    signal.signal(signal.SIGTERM, terminate)
    sys.exit(run(sys.argv[1:]))


def run(arguments: Sequence[str]) -> int:
    """Runs a command.

    # Returns

    `int`: the exit status, 2 for a mistake in options, configs, data or archives. With `--traceback` anywhere among the
    arguments, such an error is raised. Any other error is a bug and is raised.
    """
    level = os.environ.setdefault("ALLENNLP_LOG_LEVEL", "WARNING")
    logging.basicConfig(format="%(levelname)s: %(message)s", level=level)
    logging.getLogger("filelock").setLevel(logging.WARNING)
    logging.setLogRecordFactory(record_on_own_line)
    logging.raiseExceptions = False  # if a log cannot be written, for example to a full disk

    from allennlp.common.util import import_module_and_submodules

    shows_traceback = TRACEBACK in arguments
    command = [argument for argument in arguments if argument != TRACEBACK] or ["--help"]
    try:
        args = parse(command)
        for package in getattr(args, "include_package", []):
            import_module_and_submodules(package)
        args.func(args)
    except BrokenPipeError:  # the reader of our output has stopped, such as `head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except KeyboardInterrupt as error:
        report(f"interrupted: {error}" if error.args else "interrupted")
        return 143 if isinstance(error, Terminated) else 130
    except Exception as error:
        if shows_traceback or not is_mistake(error):
            raise
        report(f"error: {message_of(error)}")
        return 2
    return 0


def parse(command: Sequence[str]) -> argparse.Namespace:
    """Parses the options of a command of AllenNLP, this package, or a plugin."""
    from allennlp.commands import ArgumentParserWithDefaults, Subcommand
    from allennlp.common.plugins import import_plugins

    from allennlp_nef.cli import REPLACED
    from allennlp_nef.cli.subcommands import subcommand_of
    from allennlp_nef.cli.train_and_evaluate import SafeEvaluate, SafeTrain
    from allennlp_nef.version import VERSION

    class Parser(ArgumentParserWithDefaults):
        """Reports an unknown option as an error of its command, in one line."""

        def parse_known_args(self, *args: Any, **options: Any) -> Any:
            namespace, unknown = super().parse_known_args(*args, **options)
            if unknown:
                self.error(f"unknown arguments: {' '.join(unknown)}")
            return namespace, unknown

        def error(self, message: str) -> NoReturn:
            self.exit(2, f"{self.prog}: error: {message} (see {self.prog} --help)\n")

    import_plugins()
    names = sorted(set(Subcommand.list_available()) - set(LEFT_OUT))
    subcommands: dict[str, Any] = {name: Subcommand.by_name(name) for name in names}
    subcommands |= {name: subcommand_of(name) for name in REPLACED}
    subcommands |= {"train": SafeTrain, "evaluate": SafeEvaluate}
    parser = Parser(
        prog="allennlp-nef",
        description="Train, evaluate and run sequence taggers and MT quality estimators.",
    )
    parser.add_argument("--version", action="version", version=f"allennlp-nef {VERSION}")
    commands = parser.add_subparsers(title="Commands", metavar="COMMAND", required=True)
    for _, subcommand in sorted(subcommands.items()):
        subparser = subcommand().add_subparser(commands)
        if subcommand.requires_plugins:
            help_text = "additional packages to include"
            subparser.add_argument("--include-package", action="append", default=[], help=help_text)
    return parser.parse_args(command)


def report(line: str) -> None:
    """Prints a line to standard error, below any progress bar."""
    for bar in progress_bars():  # end its line
        bar.close()
    print(f"allennlp-nef: {line}", file=sys.stderr)


def record_on_own_line(*args: Any, **options: Any) -> logging.LogRecord:
    """Returns a log record. Clears progress bars, so its message starts on a new line."""
    for bar in progress_bars():
        bar.clear()
    return logging.LogRecord(*args, **options)


def progress_bars() -> list[Any]:
    """Returns the active progress bars."""
    from tqdm import tqdm  # type: ignore[import-untyped]

    return list(tqdm._instances)


def is_mistake(error: Exception) -> bool:
    """Returns whether an error is in options, configs, data or archives, or is caused by a full disk.

    Errors that AllenNLP raises while it reads a config and builds its objects are mistakes in the config. Errors that
    its command functions raise themselves are mistakes in the options.
    """
    from allennlp.common.checks import ConfigurationError
    from allennlp.common.file_utils import cached_path
    from allennlp.common.util import import_module_and_submodules

    from allennlp_nef.errors import UserError, raised_in

    if isinstance(error, UserError | ConfigurationError):
        return True
    if isinstance(error, OSError):
        # `cached_path` names the file only in the message.
        is_named = isinstance(error, FileNotFoundError) or error.filename is not None
        return is_named or error.errno == errno.ENOSPC or raised_in(error, cached_path)
    if isinstance(error, ImportError) and raised_in(error, import_module_and_submodules):
        return True
    *_, (frame, _) = walk_tb(error.__traceback__)
    is_of_command = frame.f_globals["__name__"].startswith("allennlp.commands.")
    return is_of_command or place_of(error) is not None


def place_of(error: Exception) -> str | None:
    """Returns what was being read, built from a config, or saved when an error was raised."""
    import torch
    from allennlp.common import FromParams, Params
    from allennlp.common.params import parse_overrides, with_overrides
    from allennlp.common.util import prepare_environment
    from allennlp.predictors import Predictor

    names: dict[Any, Callable[[dict[str, Any]], str]] = {
        Params.from_file: lambda variables: str(variables["params_file"]),
        parse_overrides: lambda _: "--overrides",
        with_overrides: lambda _: "--overrides",
        FromParams.from_params: lambda variables: variables["cls"].__name__,
        Predictor.from_archive: lambda _: "predictor",
        prepare_environment: lambda _: "random seeds",
        # torch raises its own error for a full disk.
        torch.save: lambda _: "cannot save (is the disk full?)",
    }
    names = {getattr(each, "__func__", each).__code__: name for each, name in names.items()}
    frames = [frame for frame, _ in walk_tb(error.__traceback__) if frame.f_code in names]
    return names[frames[-1].f_code](frames[-1].f_locals) if frames else None


def message_of(error: Exception) -> str:
    """Formats an error as one line."""
    from allennlp.common.checks import ConfigurationError
    from allennlp.common.file_utils import CACHE_DIRECTORY

    from allennlp_nef.errors import UserError, describe

    message = describe(error)
    if isinstance(error, OSError):
        file = error.filename
        if file is None and error.errno == errno.ENOSPC:
            return f"no space left for the output, or in {tempfile.gettempdir()} (TMPDIR)"
        is_missing = file is not None and not os.path.exists(file)
        if is_missing and Path(CACHE_DIRECTORY).is_relative_to(file):
            message += " (ALLENNLP_CACHE_ROOT sets another folder for downloads)"
    elif not isinstance(error, UserError | ConfigurationError):
        place = place_of(error)
        if place is not None and place not in message:
            message = f"{place}: {message}"
        message += f" ({TRACEBACK} shows where)"
    return message
