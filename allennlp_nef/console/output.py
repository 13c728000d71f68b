"""What reaches the terminal: the parser of the command line, scores, and warnings that a user can act on."""

import argparse
import logging
import os
import re
import sys
import warnings
from typing import Any

from overrides import overrides
from tqdm import tqdm  # type: ignore[import-untyped]

from allennlp_nef.commands.command import print_lines
from allennlp_nef.commands.reporting import log_files
from allennlp_nef.errors import UserError


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
    ("`torch.cuda.amp.autocast(args...)` is deprecated", FutureWarning),
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
