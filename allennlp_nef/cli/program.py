"""The `allennlp-nef` program: AllenNLP's commands, plus the components and commands of this package.

It differs from the `allennlp` program: archives are loaded safely, user errors are reported in one line, and a few
commands do more or are this package's own.
"""

import argparse
import errno
import gc
import logging
import os
import signal
import sys
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from traceback import walk_tb
from typing import Any, NoReturn
from unittest.mock import patch

from allennlp_nef.cli import COMMANDS
from allennlp_nef.cli.outputs import print_lines
from allennlp_nef.errors import UserError, describe, raised_in
from allennlp_nef.version import VERSION

TRACEBACK = "--traceback"
OF_ALLENNLP = {
    "build-vocab": "Build the vocabulary of a config.",
    "cached-path": "Show, download or remove cached files.",
    "count-instances": "Count the instances of a config.",
    "diff": "Compare the weights of two checkpoints.",
    "evaluate": "Score a model on labeled data.",
    "find-lr": "Find a learning rate.",
    "print-results": "Print the metrics of several trainings.",
    "test-install": "Test the installation of AllenNLP.",
    "train": "Train a model, and save it as an archive.",
}
"""The commands of AllenNLP, with their summaries. Two more, `checklist` and `push-to-hf`, do not run with current
versions of the packages that they need."""
WITHOUT_COMPONENTS = ("align-words", "examples", "label-post-edits", "models", "score-tags")
"""Commands that use neither components nor plugins."""


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

    shows_traceback = TRACEBACK in arguments
    command = [argument for argument in arguments if argument != TRACEBACK] or ["--help"]
    try:
        with without_collecting():
            args = parse(command)
            if command[0] in {*COMMANDS} - {*WITHOUT_COMPONENTS}:
                import_components(is_of_allennlp=command[0] == "options")
            import_packages(getattr(args, "include_package", []))
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


@contextmanager
def without_collecting() -> Iterator[None]:
    """Turns off garbage collection in a context, and exempts all objects made so far from it.

    Importing torch makes many objects and no garbage. Searching them, also at exit, takes a second.
    """
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.enable()


class Parser(argparse.ArgumentParser):
    """Shows default values, and reports an unknown option as an error of its command, in one line."""

    def add_argument(self, *args: Any, **options: Any) -> argparse.Action:
        if options.get("default") and options.get("action") is None:
            options["help"] = f"{options.get('help', '')} (default = {options['default']})"
        return super().add_argument(*args, **options)

    def parse_known_args(self, *args: Any, **options: Any) -> Any:
        namespace, unknown = super().parse_known_args(*args, **options)
        if unknown:
            self.error(f"unknown arguments: {' '.join(unknown)}")
        return namespace, unknown

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"{self.prog}: error: {message} (see {self.prog} --help)\n")


def parse(command: Sequence[str]) -> argparse.Namespace:
    """Parses the options of a command of this package, of AllenNLP, or of a plugin. Imports only what this needs."""
    parser = Parser(
        prog="allennlp-nef",
        description="Train, evaluate and run sequence taggers and MT quality estimators.",
    )
    parser.add_argument("--version", action="version", version=f"allennlp-nef {VERSION}")
    commands = parser.add_subparsers(title="Commands", metavar="COMMAND", required=True)
    name = command[0]
    if name in COMMANDS:
        add_command(commands, name)
    elif not name.startswith("-"):
        import_components(is_of_allennlp=True)
        add_allennlp_commands(commands)
    for other, summary in sorted({**COMMANDS, **OF_ALLENNLP}.items()):
        if other not in commands.choices:  # only for the list of commands
            commands.add_parser(other, help=summary)
    for subparser in commands.choices.values():
        help_text = "additional packages to include"
        subparser.add_argument("--include-package", action="append", default=[], help=help_text)
    return parser.parse_args(command)


def add_command(commands: Any, name: str) -> argparse.ArgumentParser:
    """Adds the parser of a command of this package, whose module is imported."""
    module = import_module(f"allennlp_nef.cli.{name.replace('-', '_')}")
    parser: argparse.ArgumentParser = commands.add_parser(
        name,
        help=COMMANDS[name],
        description=f"{COMMANDS[name]}\n{module.DETAILS}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    module.add_arguments(parser)
    parser.set_defaults(func=lambda args: print_lines(module.run(args)))
    return parser


def add_allennlp_commands(commands: Any) -> None:
    """Adds the parsers of the commands of AllenNLP and its plugins."""
    from allennlp.commands import Subcommand

    from allennlp_nef.cli.train_and_evaluate import add_train_and_evaluate

    add_train_and_evaluate(commands)
    others = {*commands.choices, *COMMANDS, "checklist", "push-to-hf"}
    for name in sorted({*Subcommand.list_available()} - others):
        Subcommand.by_name(name)().add_subparser(commands)


def import_components(is_of_allennlp: bool) -> None:
    """Registers the components of this package and of plugins. AllenNLP's own commands get all of AllenNLP, too."""
    from allennlp.common import plugins

    from allennlp_nef import components  # noqa: F401

    # `serve` is a command of this package.
    others = [name for name in plugins.DEFAULT_PLUGINS if name != "allennlp_server"]
    if is_of_allennlp:
        with patch.object(plugins, "DEFAULT_PLUGINS", others):
            plugins.import_plugins()
    else:
        sys.path.append(os.getcwd())
        import_packages(filter(find_spec, others))
        for name in plugins.discover_plugins():
            import_module(name)


def import_packages(names: Iterable[str]) -> None:
    """Imports the packages of `--include-package`, with their modules."""
    for name in names:
        from allennlp.common.util import import_module_and_submodules

        import_module_and_submodules(name)


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
    if isinstance(error, UserError):
        return True

    from allennlp.common.checks import ConfigurationError
    from allennlp.common.file_utils import cached_path

    if isinstance(error, OSError):
        # `cached_path` names the file only in the message.
        is_named = isinstance(error, FileNotFoundError) or error.filename is not None
        return is_named or error.errno == errno.ENOSPC or raised_in(error, cached_path)
    if isinstance(error, ImportError) and raised_in(error, import_packages):
        return True
    *_, (frame, _) = walk_tb(error.__traceback__)
    is_of_command = frame.f_globals["__name__"].startswith("allennlp.commands.")
    return isinstance(error, ConfigurationError) or is_of_command or place_of(error) is not None


def place_of(error: Exception) -> str | None:
    """Returns what was being read, built from a config, or saved when an error was raised."""
    import torch
    from allennlp.common import FromParams, Params
    from allennlp.common.params import parse_overrides, with_overrides
    from allennlp.common.util import prepare_environment
    from allennlp.predictors import Predictor

    places: dict[Any, str] = {  # with local variables
        Params.from_file: "{params_file}",
        parse_overrides: "--overrides: expected JSON, such as '{{\"trainer.num_epochs\": 2}}'",
        with_overrides: "--overrides",
        FromParams.from_params: "{cls.__name__}",
        Predictor.from_archive: "predictor",
        prepare_environment: "random seeds",
        torch.save: "cannot save (is the disk full?)",  # torch raises its own error for a full disk
    }
    codes = {getattr(each, "__func__", each).__code__: place for each, place in places.items()}
    frames = [frame for frame, _ in walk_tb(error.__traceback__) if frame.f_code in codes]
    return codes[frames[-1].f_code].format(**frames[-1].f_locals) if frames else None


def message_of(error: Exception) -> str:
    """Formats an error as one line."""
    message = describe(error)
    if isinstance(error, UserError):
        return message

    from allennlp.common.checks import ConfigurationError
    from allennlp.common.file_utils import CACHE_DIRECTORY

    if isinstance(error, ConfigurationError):
        return message
    if isinstance(error, OSError):
        file = error.filename or ""
        if not file and error.errno == errno.ENOSPC:
            return f"no space left for the output, or in {tempfile.gettempdir()} (TMPDIR)"
        if file and not os.path.exists(file) and Path(CACHE_DIRECTORY).is_relative_to(file):
            message += " (ALLENNLP_CACHE_ROOT sets another folder for downloads)"
        return message
    place = place_of(error)
    if place is not None and place not in message:
        message = f"{place}: {message}"
    return f"{message} ({TRACEBACK} shows where)"
