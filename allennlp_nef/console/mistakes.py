"""Tells a mistake of the user from a bug."""

import errno
import inspect
import re
import traceback
from collections.abc import Mapping
from types import FrameType
from typing import Any, NamedTuple

from allennlp_nef.commands.printing import error_message
from allennlp_nef.errors import UserError, summary_of, unknown_option

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
_CREATE_KWARGS = "allennlp.common.from_params.create_kwargs"
_ASSERT_EMPTY = "allennlp.common.params.assert_empty"
# An option that a config has and a class has not.
_UNEXPECTED = re.compile("unexpected keyword argument '([^']*)'")
_COMPOSE = "allennlp.modules.seq2seq_encoders.compose_encoder.__init__"
_HINT = "--traceback shows where"
# AllenNLP's messages for a model that nobody registered.
_OF_ALLENNLP_MODELS = re.compile(
    r"'?(biaffine_parser|esim)'? (?:not in acceptable choices|is not a registered name)"
)

Parameters = Mapping[str, inspect.Parameter]


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
    archive = _archive_of(error)
    # An archive with an unknown option may be of another version, which `_message_of_cause` names.
    message = (None if archive else _unknown_option(error)) or _message_of_cause(error)
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


def _unknown_option(error: Exception) -> str | None:
    """The message for an option of a config or of `--predictor-args` that its class does not have; None for others."""
    frames = [(_call_of(frame), frame) for frame, _ in traceback.walk_tb(error.__traceback__)]
    if [call for call, _ in frames[-2:]] == [_CREATE_KWARGS, _ASSERT_EMPTY]:
        values = frames[-2][1].f_locals
        return _unknown_in_config(min(values["params"].keys()), values, values["parameters"])
    unexpected = _UNEXPECTED.search(str(error))
    if unexpected is None or not isinstance(error, TypeError):
        return None
    from allennlp.common.from_params import infer_constructor_params

    name = unexpected[1]
    for call, frame in reversed(frames):
        values = frame.f_locals
        if call == _FROM_PARAMS and name in values.get("kwargs", ()):
            options = infer_constructor_params(values["cls"], values["constructor_to_inspect"])
            return None if name in options else _unknown_in_config(name, values, options)
        if call == _MAKE_PREDICTOR and name in (values["extra_args"] or ()):
            # A class, or a class method that makes the predictor.
            kind = getattr(values["predictor_class"], "__self__", values["predictor_class"])
            constructors = [each.__init__ for each in kind.mro() if "__init__" in vars(each)]
            known = set().union(
                *(_names(inspect.signature(each).parameters) for each in constructors)
            )
            known -= {"model", "dataset_reader", "frozen"}
            return None if name in known else unknown_option("--predictor-args", name, known)
    return None


def _unknown_in_config(name: str, values: dict[str, Any], parameters: Parameters) -> str:
    """`values` are the variables of AllenNLP's function that builds a component."""
    place = values["params"].history.rstrip(".") or "the config"
    known = _names(parameters).difference(values["extras"])
    return unknown_option(f"{place} ({values['cls'].__name__})", name, known)


def _names(parameters: Parameters) -> set[str]:
    """The options that the parameters of a constructor are."""
    is_variable = (inspect.Parameter.VAR_KEYWORD, inspect.Parameter.VAR_POSITIONAL)
    return {n for n, each in parameters.items() if each.kind not in is_variable} - {"self"}


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
    if calls[-1] == _ARCHIVE_MODEL:
        return str(error)  # there are no weights: no epoch was finished
    if calls[-1] == _COMPOSE and "dimensions" in text:
        encoders = frames[-1].f_locals["encoders"]
        dims = ", ".join(f"{e.get_input_dim()} to {e.get_output_dim()}" for e in encoders)
        return f"encoders: expected each input dimension to be the output dimension before it, got {dims}"
    if _FROM_PARAMS in calls and not calls[-1].startswith("allennlp_nef."):
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
