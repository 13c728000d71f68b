"""Archives: loads trained models without running code that their files refer to.

AllenNLP's loader writes members of an archive to any path, evaluates Jsonnet, which can read files, and imports and
calls whatever a dotted `"type"` refers to. The functions that do so are wrapped here; the wrappers take effect only in
`safe_archives`. Torch loads the weights and reads only tensors (`weights_only`).
"""

import gzip
import json
import os
import re
import shutil
import tarfile
import tempfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from functools import wraps
from pathlib import Path
from typing import Any

from allennlp.common import Params, Registrable
from allennlp.common.checks import ConfigurationError, check_for_gpu
from allennlp.models import archival
from allennlp.nn import util
from allennlp.predictors import Predictor

from allennlp_nef.errors import ArchiveError, UserError, quote
from allennlp_nef.resources import archive_path

HINT = "; trust=True (--trust) skips the safety checks"
MIN_LIMIT, MAX_RATIO = 2**30, 20
"""The limit for an unpacked archive: this number of bytes, or this many times its size. Weights hardly compress."""
REJECTED = ("from_archive", "evalb")
"""Registered components that load another archive or run a program."""

_is_safe: ContextVar[bool] = ContextVar("is_safe", default=False)
_is_building: ContextVar[bool] = ContextVar("is_building", default=False)
_archive: ContextVar[str] = ContextVar("archive", default="archive")  # that is being loaded


@contextmanager
def _set(variable: ContextVar[bool], value: bool) -> Iterator[None]:
    token = variable.set(value)
    try:
        yield
    finally:
        variable.reset(token)


def safe_archives() -> AbstractContextManager[None]:
    """A context in which AllenNLP's `load_archive`, no matter who calls it, does not run code from archives.

    It raises an `ArchiveError` for an archive that is damaged or that would run code.
    """
    return _set(_is_safe, True)


def load_predictor(
    path: str,
    cuda_device: int = -1,
    name: str | None = None,
    *,
    trust: bool = False,
    overrides: str | dict[str, Any] = "",
    **options: Any,
) -> Any:
    """The predictor of a trained model.

    # Parameters

    path : `str`
        An archive, the folder of a training run, or the name of a trained model of this package.
    cuda_device : `int`, optional (default = `-1`)
        The number of a GPU, or -1 for the CPU.
    name : `str`, optional (default = `None`, the default of the model)
        The registered name of the predictor.
    trust : `bool`, optional (default = `False`)
        Skips the safety checks: the archive can run arbitrary code.
    overrides : `str` or `dict[str, Any]`, optional (default = `""`)
        Changes to the config of the archive.
    options
        The options of the predictor.

    # Raises

    `UserError`: no such archive. `ArchiveError`: an archive that is damaged, that was saved by another version of this
    package, or that would run code. `ConfigurationError`: an invalid option.
    """
    archive = load_archive_safely(path, cuda_device, trust=trust, overrides=overrides)
    return Predictor.from_archive(archive, name or "", extra_args=options)


def load_archive_safely(
    path: str,
    cuda_device: int = -1,
    *,
    trust: bool = False,
    overrides: str | dict[str, Any] = "",
) -> archival.Archive:
    """Loads an archive. For the parameters and errors see `load_predictor`."""
    check_for_gpu(cuda_device)
    with _set(_is_safe, not trust):
        return archival.load_archive(archive_path(path), cuda_device, overrides)


def unpack(path: str, folder: str) -> None:
    """Unpacks an archive (.tar.gz): regular files and folders inside `folder`, and nothing else.

    # Raises

    `ArchiveError`: the file is damaged or not an archive, a member is not a regular file or has a path outside the
    folder, or the members are too large.
    """
    total, limit = 0, max(MIN_LIMIT, MAX_RATIO * os.path.getsize(path))
    try:
        with tarfile.open(path, "r:gz") as archive:
            for member in archive:
                total += member.size
                if total > limit:
                    raise ArchiveError(f"{path}: unpacks to more than {limit >> 20} MiB{HINT}")
                if not (member.isreg() or member.isdir()):
                    raise ArchiveError(f"{path}: {quote(member.name)} is not a regular file{HINT}")
                archive.extract(member, folder, filter="data")
            # Read on to the checksum of gzip, which stands behind the last member.
            while archive.fileobj.read(2**20):
                pass
    except tarfile.FilterError as error:
        raise ArchiveError(f"{path}: {error}{HINT}") from error
    except (tarfile.TarError, EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise ArchiveError(f"{path}: damaged, or not an archive ({error})") from error


def check_config(path: Path) -> None:
    """Raises an `ArchiveError` if the config of an archive would import, run or download anything."""
    where = f"{_archive.get()}: {path.name}"
    try:
        config = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise ArchiveError(f"{where}: expected JSON ({error}){HINT}") from error
    if not isinstance(config, dict) or not {"dataset_reader", "model"} <= config.keys():
        raise ArchiveError(f"{where}: expected an object with dataset_reader and model")
    if (path.parent / "vocabulary").is_file():  # AllenNLP would unpack it
        raise ArchiveError(f"{where}: expected a folder vocabulary, got a file{HINT}")
    for place, value in _values(config):
        is_type = place[-1] == "type" and isinstance(value, str) and "." in value
        is_code = place[-1] in ("_pretrained", "trust_remote_code") and value not in (None, False)
        if is_type or is_code or (_is_read(place) and _is_address(value)):
            raise ArchiveError(f"{where}: {'.'.join(place)}: rejected {quote(value)}{HINT}")


def _values(part: Any, place: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    """All values in a config, with the keys that lead to them."""
    for key, value in part.items() if isinstance(part, dict) else enumerate(part):
        yield (*place, str(key)), value
        if isinstance(value, dict | list):
            yield from _values(value, (*place, str(key)))


def _is_read(place: tuple[str, ...]) -> bool:
    """Whether a value is used when an archive is loaded. AllenNLP leaves out some options of the model."""
    left_out = place[0] == "model" and {"pretrained_file", "initializer"} & set(place)
    built = ("dataset_reader", "validation_dataset_reader", "vocabulary", "model")
    return place[0] in built and not left_out


def _is_address(value: Any) -> bool:
    return isinstance(value, str) and bool(re.search(r"[A-Za-z][\w+.-]*:\s*/\s*/", value))


def _when_safe(owner: Any, name: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Replaces a function of AllenNLP in `safe_archives` by one that gets the original as its first argument."""
    original = getattr(owner, name)

    def replace(function: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(original)
        def call(*args: Any, **options: Any) -> Any:
            if not _is_safe.get():
                return original(*args, **options)
            return function(original, *args, **options)

        setattr(owner, name, call)
        return function

    return replace


@_when_safe(archival, "cached_path")
def _find(original: Callable[..., Any], path: Any) -> Any:
    path = archive_path(str(path))
    _archive.set(path)
    if "://" not in path and not os.path.exists(path):
        raise UserError(f"{path}: no such file")
    return original(path)


@_when_safe(archival, "extracted_archive")
@contextmanager
def _extract(original: Callable[..., Any], path: str, cleanup: bool = True) -> Iterator[str]:
    folder = tempfile.mkdtemp()
    try:
        unpack(path, folder)
        yield folder
    except BaseException:
        cleanup = True
        raise
    finally:
        if cleanup:
            shutil.rmtree(folder, ignore_errors=True)


class _ArchivedParams(Params):
    """The `Params` of AllenNLP's loader."""

    @classmethod
    def from_file(cls, params_file: Any, *args: Any, **options: Any) -> Params:
        if _is_safe.get():
            check_config(Path(params_file))
        return Params.from_file(params_file, *args, **options)


archival.Params = _ArchivedParams  # type: ignore[misc]


@_when_safe(archival, "_load_dataset_readers")
@_when_safe(archival, "_load_model")
def _build(original: Callable[..., Any], *args: Any) -> Any:
    try:
        with _set(_is_building, True):
            return original(*args)
    except ArchiveError:
        raise
    except (ConfigurationError, OSError, RuntimeError, TypeError, UserError, UnicodeError) as error:
        lines = str(getattr(error, "message", error)).splitlines()
        if isinstance(error, RuntimeError):
            lines = lines[:2]  # after a title, there is a line for each weight that does not fit
        reason = " ".join(" ".join(lines).split())[:300]
        if isinstance(error, RuntimeError | TypeError):
            if not re.search("state.dict|unexpected keyword argument", reason):
                raise
            reason += (
                " (saved by another version of this package, or --weights-file of another model?)"
            )
        raise ArchiveError(f"{_archive.get()}: cannot be loaded: {reason}") from error


@_when_safe(util, "read_state_dict")
def _read_weights(original: Callable[..., Any], path: Any, *args: Any, **options: Any) -> Any:
    if not os.path.exists(path):
        raise ArchiveError(f"{_archive.get()}: the weights {path} do not exist")
    try:
        return original(path, *args, **options)
    except Exception as error:  # torch raises errors of any type for damaged files
        if not _is_building.get():
            raise
        name = f"{_archive.get()}: {os.path.basename(path)}"
        raise ArchiveError(f"{name}: damaged, or holds more than tensors") from error


_resolve_class_name = vars(Registrable)["resolve_class_name"].__func__


@wraps(_resolve_class_name)
def _resolve_safely(cls: type, name: str) -> Any:
    if _is_building.get() and ("." in name or name in REJECTED):
        raise ArchiveError(f"{_archive.get()}: rejected the component {quote(name)}{HINT}")
    return _resolve_class_name(cls, name)


Registrable.resolve_class_name = classmethod(_resolve_safely)  # type: ignore[assignment]
