"""What reaches the terminal: the parser of the command line, scores, warnings that a user can act on, and errors.

An error that the user can fix is one line, a bug is a traceback.
"""

import argparse
import errno
import logging
import os
import re
import select
import sys
import traceback
import warnings
from collections.abc import Callable, Iterator
from typing import Any

from overrides import overrides
from tqdm import tqdm  # type: ignore[import-untyped]

from allennlp_nef.cli.shared import print_lines, reason_of
from allennlp_nef.errors import UserError, printable


class Parser(argparse.ArgumentParser):
    """An `ArgumentParser` that raises a `UserError`, and shows default values as AllenNLP's does."""

    def add_argument(self, *names: Any, **options: Any) -> Any:
        default = options.get("default")
        is_switch = str(options.get("action")).startswith("store_") or default == argparse.SUPPRESS
        if default not in (None, "", [], ()) and not is_switch:
            options["help"] = f"{options.get('help', '')} (default = {default})"
        return super().add_argument(*names, **options)

    def error(self, message: str) -> Any:
        raise UserError(f"{message} ({self.prog} --help shows the options)")


def add_include_package(parser: argparse.ArgumentParser) -> None:
    """Adds the option that AllenNLP's commands have."""
    parser.add_argument(
        "--include-package",
        type=str,
        action="append",
        default=[],
        help="additional packages to include",
    )


# Warnings of other packages that a user can do nothing about: the beginning of the message, and the category.
IGNORED_WARNINGS = (
    ("User provided device_type of 'cuda'", UserWarning),
    ("You are using a non-supported Python version", FutureWarning),
    ("pkg_resources is deprecated as an API", UserWarning),
    ("Python 3.14 will", DeprecationWarning),
)
# Messages below a warning that are shown: those of functions, by the name of the logger, and single ones.
_SHOWN_FUNCTIONS = {
    ("allennlp.training.callbacks.console_logger", "on_epoch"),  # the table of scores
    ("allennlp.common.util", "dump_metrics"),  # the result of `train` and `evaluate`
    ("allennlp.commands.test_install", "_run_test"),
}
_SHOWN_MESSAGES = (
    "Epoch %d/%d",
    "Ran out of patience. Stopping training.",
    "Training interrupted by the user, and no best model has been saved. No model archive created.",
    "Training interrupted by the user. Attempting to create a model archive using the current best epoch weights.",
)
# Logged warnings of processes that work together, which a user can do nothing about.
_HIDDEN_MESSAGES = re.compile(
    r"vocabulary serialization directory|Parameter local_rank for class|Worker \d+ completed|terminating worker"
)
_LOGGERS = ("allennlp", "allennlp_nef", "allennlp_server")


def ignore_warnings() -> None:
    """Ignores the `IGNORED_WARNINGS` in this process and in those that it starts. The user's own filters come first."""
    own = []
    for message, category in IGNORED_WARNINGS:
        warnings.filterwarnings("ignore", re.escape(message), category, append=True)
        own.append(f"ignore:{message}:{category.__name__}")
    # The last filter in the variable prevails.
    given = os.environ.get("PYTHONWARNINGS")
    os.environ["PYTHONWARNINGS"] = ",".join([*own, given] if given else own)


def set_up_logging() -> None:
    """Sends log messages to a `TerminalHandler`.

    If the environment has ALLENNLP_LOG_LEVEL or ALLENNLP_DEBUG, messages are shown as in AllenNLP's own program.
    """
    logging.getLogger("filelock").setLevel(logging.WARNING)  # as AllenNLP does
    if {"ALLENNLP_LOG_LEVEL", "ALLENNLP_DEBUG"} & set(os.environ):
        name = "DEBUG" if os.environ.get("ALLENNLP_DEBUG") else os.environ["ALLENNLP_LOG_LEVEL"]
        level = getattr(logging, name, logging.INFO)
        logging.basicConfig(
            format="%(asctime)s - %(levelname)s - %(name)s - %(message)s", level=level
        )
        return
    handler = TerminalHandler()
    handler.setFormatter(logging.Formatter("%(message)s"))
    logging.basicConfig(handlers=[handler])
    # A training gives the root logger handlers that print everything. These must not see messages of AllenNLP.
    for name in _LOGGERS:
        logger = logging.getLogger(name)
        logger.handlers[:] = [handler]
        logger.setLevel(logging.INFO)
        logger.propagate = False
    logging.getLogger().filters[:] = [handler.take]


class TerminalHandler(logging.Handler):
    """Prints scores to standard output and warnings to standard error; passes all messages on to log files."""

    def take(self, record: logging.LogRecord) -> bool:
        """A filter of the root logger: handles what is logged there, and keeps it from the logger's own handlers."""
        self.handle(record)
        return False

    @overrides
    def emit(self, record: logging.LogRecord) -> None:
        for handler in log_files():
            handler.handle(record)
        handlers = logging.getLogger().handlers
        if all(isinstance(handler, logging.FileHandler) for handler in handlers):
            return  # another process of a distributed training prints
        text = self.format(record)
        if record.levelno >= logging.WARNING:
            if not _HIDDEN_MESSAGES.match(text):
                with tqdm.external_write_mode(
                    sys.stderr
                ):  # on a line of its own, beside progress bars
                    print_lines([f"{record.levelname.lower()}: {text}"], sys.stderr)
        elif (record.name, record.funcName) in _SHOWN_FUNCTIONS or record.msg in _SHOWN_MESSAGES:
            print_lines([text])


CLOSED_PIPE = 141  # 128 and the number of the signal, as shells count
# Types by their names: not every command imports their modules.
_SIGNALS = {
    "builtins.KeyboardInterrupt": (130, "interrupted"),
    "allennlp.common.util.SigTermReceived": (143, "terminated"),
}
_MISTAKES = (
    "allennlp.common.checks.ConfigurationError",
    "allennlp_nef.compat.NotInstalledError",
    "allennlp_nef.models.out_of_memory.OutOfMemoryError",
)
_KILLED = "torch.multiprocessing.spawn.ProcessExitedException"
_PROCESS_ERRORS = (
    "allennlp.data.data_loaders.multiprocess_data_loader.WorkerError",
    "torch.multiprocessing.spawn.ProcessRaisedException",
)
# The last line of an error that another process ended with.
_LAST_LINE = re.compile(
    rf"^\s*(?:allennlp_nef\.errors\.\w+|{'|'.join(map(re.escape, _MISTAKES))}): (.+)$", re.MULTILINE
)


def status_of(run: Callable[[], object], shows_traceback: bool = False) -> int:
    """
    Runs a command. Reports an error that the user can fix on one line; a bug is raised.

    # Parameters

    run : `Callable[[], object]`
    shows_traceback : `bool`, optional (default = `False`)
        Whether such an error is reported with its traceback, too.

    # Returns

    `int`
        The exit status: 0; 2 for an error that the user can fix, or that of the `UserError`; 130 and 143 where the
        command was interrupted or terminated; 141 where nothing reads its output any longer, as after `| head`.
    """
    try:
        try:
            run()
        finally:
            if sys.stdout is not None:
                sys.stdout.flush()
    except BaseException as error:
        if isinstance(error, BrokenPipeError) and _leave_closed_pipe():
            return CLOSED_PIPE
        status, message = _SIGNALS.get(_names_of(error)[0], (2, error_message(error)))
        if message is None:
            raise
        # The log files of a training get the traceback, as from AllenNLP.
        details = ("The program ended", (), (type(error), error, error.__traceback__))
        record = logging.LogRecord("allennlp_nef", logging.CRITICAL, __file__, 0, *details)
        for handler in log_files():
            handler.handle(record)
        if shows_traceback:
            traceback.print_exc()
        # Ends progress bars, and their lines.
        traceback.clear_frames(error.__traceback__)
        print_lines([f"error: {printable(message)}"], sys.stderr)
        return getattr(error, "exit_status", status)
    return 0


def error_message(error: BaseException) -> str | None:
    """The message, on one line, for an error that the user can fix; None for a bug. The type of the error decides."""
    names = set(_names_of(error))
    message: str | None = None
    if isinstance(error, UserError) or names.intersection(_MISTAKES):
        message = str(error)
    elif isinstance(
        error, re.error
    ):  # of a config: `initializer`, `regularizer`, `parameter_groups`
        message = f"config: expected a regular expression, got {error.pattern!r} ({error})"
    elif isinstance(error, OSError) and error.filename is not None:
        message = f"{error.filename}: expected a file or folder that can be used, got {reason_of(error)!r}"
    elif isinstance(error, FileNotFoundError) or (
        isinstance(error, OSError) and error.errno in (errno.EPIPE, errno.ENOSPC)
    ):
        message = str(error)
    elif _KILLED in names:
        message = f"{error}; a training goes on with --recover"
    elif names.intersection(_PROCESS_ERRORS):
        message = next(reversed(_LAST_LINE.findall(str(error))), None)
    return message and "; ".join(filter(None, map(str.strip, message.splitlines())))


def log_files() -> Iterator[logging.Handler]:
    """The log files of a training: those of the root logger."""
    for handler in logging.getLogger().handlers:
        if isinstance(handler, logging.FileHandler):
            yield handler


def _leave_closed_pipe() -> bool:
    """Whether the program that read standard output, such as `head`, has ended. Further output then goes nowhere."""
    pipe = select.poll()
    pipe.register(sys.stdout.fileno(), 0)
    is_closed = bool(pipe.poll(0))
    if is_closed:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return is_closed


def _names_of(error: BaseException) -> list[str]:
    """The names of the type of an error, and of those above it."""
    return [f"{kind.__module__}.{kind.__qualname__}" for kind in type(error).__mro__]
