"""How a command ends: it reports an error that the user can mend on one line, and a bug with its traceback."""

import errno
import logging
import os
import re
import select
import sys
import traceback
from collections.abc import Callable, Iterator

from allennlp_nef.commands.command import print_lines
from allennlp_nef.commands.output_files import reason_of
from allennlp_nef.errors import UserError
from allennlp_nef.text import printable

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
    Runs a command. Reports an error that the user can mend on one line; a bug is raised.

    # Parameters

    run : `Callable[[], object]`
    shows_traceback : `bool`, optional (default = `False`)
        Whether such an error is reported with its traceback, too.

    # Returns

    `int`
        The exit status: 0; 2 for an error that the user can mend, or that of the `UserError`; 130 and 143 where the
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
        _write_to_log_files(error)
        if shows_traceback:
            traceback.print_exc()
        # Ends progress bars, and their lines.
        traceback.clear_frames(error.__traceback__)
        print_lines([f"error: {printable(message)}"], sys.stderr)
        return getattr(error, "exit_status", status)
    return 0


def error_message(error: BaseException) -> str | None:
    """The message, on one line, for an error that the user can mend; None for a bug. The type of the error decides."""
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


def _write_to_log_files(error: BaseException) -> None:
    """Writes an error with its traceback to the log files, as AllenNLP does."""
    information = (type(error), error, error.__traceback__)
    record = logging.LogRecord(
        "allennlp_nef", logging.CRITICAL, __file__, 0, "The program ended", (), information
    )
    for handler in log_files():
        handler.handle(record)


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
