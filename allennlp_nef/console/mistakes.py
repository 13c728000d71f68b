"""Tells a mistake of the user from a bug."""

import errno
import re
import traceback
from types import FrameType
from typing import NamedTuple

from allennlp_nef.commands.printing import error_message
from allennlp_nef.errors import UserError, summary_of

# By name: a command that does not need AllenNLP does not import them.
_MISTAKES = (
    "allennlp.common.checks.ConfigurationError",
    "allennlp_nef.models.out_of_memory.OutOfMemoryError",
)
_PROCESS_ERRORS = (
    "allennlp.data.data_loaders.multiprocess_data_loader.WorkerError",
    "torch.multiprocessing.spawn.ProcessRaisedException",
)
_KILLED = "torch.multiprocessing.spawn.ProcessExitedException"
# The last line of an error that another process ended with.
_LAST_LINE = re.compile(
    rf"^\s*(?:allennlp_nef\.errors\.\w+|{'|'.join(map(re.escape, _MISTAKES))}): (.+)$", re.MULTILINE
)
_LOAD_ARCHIVE = "allennlp.models.archival.load_archive"
_ARCHIVE_MODEL = "allennlp.models.archival.archive_model"
_MAKE_PREDICTOR = "allennlp.predictors.predictor.from_archive"
_FROM_PARAMS = "allennlp.common.from_params.from_params"
_UNEXPECTED = "unexpected keyword argument"  # an option that a config has and a class has not
_HINT = "--traceback shows where"
# AllenNLP's messages for a model that nobody registered.
_OF_ALLENNLP_MODELS = re.compile(
    r"'?(biaffine_parser|esim)'? (?:not in acceptable choices|is not a registered name)"
)


class Ending(NamedTuple):
    """How the program ends."""

    status: int
    message: str
    """One line."""


def ending_of(error: BaseException) -> Ending | None:
    """How the program ends after an error of the user's; None where the error is a bug."""
    if _is_interruption(error):
        return Ending(130, "interrupted")
    if _name_of(type(error)) == "allennlp.common.util.SigTermReceived":
        return Ending(143, "terminated")
    message = _message_of(error) if isinstance(error, Exception) else None
    if message is None:
        return None
    status = getattr(error, "exit_status", 2)
    return Ending(status, "; ".join(filter(None, map(str.strip, message.splitlines()))))


def _is_interruption(error: BaseException | None) -> bool:
    """Whether it is an interruption, or an error while AllenNLP archived what an interrupted training left."""
    while error is not None and not isinstance(error, KeyboardInterrupt):
        error = error.__context__
    return error is not None


def _message_of(error: Exception) -> str | None:
    message = _message_of_cause(error)
    archive = _archive_of(error)
    missing = _OF_ALLENNLP_MODELS.search(message or "")
    if missing:
        return (
            f"{archive or 'the config'}: {missing[1]} needs allennlp-models: "
            "pip install --no-deps allennlp-models==2.10.1"
        )
    if message is None or archive is None or archive in message or message.startswith("--"):
        return message
    # It names a file of the archive, in a temporary folder that is gone.
    return f"{archive}: expected the archive of a trained model, got {message}"


def _archive_of(error: Exception) -> str | None:
    """The archive in whose loading an error was raised."""
    for frame, _ in traceback.walk_tb(error.__traceback__):
        if _call_of(frame) == _LOAD_ARCHIVE:
            return str(frame.f_locals["archive_file"])
    return None


def _message_of_cause(error: Exception) -> str | None:
    names = set(map(_name_of, type(error).__mro__))
    if isinstance(error, UserError) or names.intersection(_MISTAKES):
        return str(error)
    if isinstance(error, OSError):
        has_place = error.filename or error.errno == errno.EPIPE
        return error_message(error) if has_place else str(error)
    if _KILLED in names:
        return f"{error}; a training goes on with --recover"
    if names.intersection(_PROCESS_ERRORS):
        found = _LAST_LINE.findall(str(error))
        return found[-1] if found else None
    return _message_by_place(error)


def _message_by_place(error: Exception) -> str | None:
    """The message for an error that comes from a config, an archive or an argument of AllenNLP's commands.

    AllenNLP, and libraries below it, raise errors of any type for these. They are known by the functions in the
    traceback. None for others.
    """
    frames = [frame for frame, _ in traceback.walk_tb(error.__traceback__)]
    calls = list(map(_call_of, frames))
    own_calls = [call for call in calls if call.startswith(("allennlp.", "allennlp_nef."))]
    if not own_calls:
        return None
    place, text = own_calls[-1], _last_line(error)
    if place.startswith("allennlp.common.params."):
        if place.endswith("_overrides"):
            return f"--overrides: {error}"
        if isinstance(error, (AttributeError, TypeError)):
            return f"the config: expected a JSON object, got another value ({text})"
        return str(error) if isinstance(error, RuntimeError) else text  # Jsonnet's errors say where
    if _LOAD_ARCHIVE in calls:
        return f"{type(error).__name__}: {summary_of(error)}"
    if _MAKE_PREDICTOR in calls and _UNEXPECTED in str(error):
        return f"--predictor-args: expected options of the predictor, got {text}"
    if calls[-1] == _ARCHIVE_MODEL:
        return str(error)  # there are no weights: no epoch was finished
    is_bug = calls[-1].startswith("allennlp_nef.") and _UNEXPECTED not in str(error)
    if _FROM_PARAMS in calls and not is_bug:
        last = len(calls) - 1 - calls[::-1].index(_FROM_PARAMS)
        built = frames[last].f_locals["cls"].__name__
        return f"{text} ({built} is built from the config; {_HINT})"
    is_checked = isinstance(error, (AssertionError, LookupError, TypeError, ValueError))
    if place.startswith("allennlp.commands.") and is_checked:
        return f"{text} ({_HINT})"
    return None


def _last_line(error: Exception) -> str:
    """The last line of the traceback; for an `assert` without a message, with its source."""
    text = traceback.format_exception_only(type(error), error)[-1].strip()
    if isinstance(error, AssertionError) and not str(error):
        return f"{text}: {traceback.extract_tb(error.__traceback__)[-1].line}"
    return text


def _call_of(frame: FrameType) -> str:
    """The module and the name of the function of a frame."""
    return f"{frame.f_globals.get('__name__')}.{frame.f_code.co_name}"


def _name_of(kind: type) -> str:
    return f"{kind.__module__}.{kind.__qualname__}"
