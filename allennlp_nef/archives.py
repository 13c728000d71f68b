"""Loads trained models from archives without running code that the archives refer to.

AllenNLP's loader writes members of an archive to any path, evaluates Jsonnet, which can read files, and imports and
calls whatever a dotted `"type"` refers to. Therefore, `checked_archive` unpacks an archive and checks its config before
AllenNLP loads the folder. Torch loads only tensors from the weights (`weights_only`).
"""

import gzip
import io
import json
import os
import re
import tarfile
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from contextvars import ContextVar
from os import PathLike
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Lock
from typing import IO, Any
from unittest.mock import patch

import torch
from allennlp.common import Registrable
from allennlp.common.checks import ConfigurationError, check_for_gpu
from allennlp.common.file_utils import cached_path
from allennlp.models import archival
from allennlp.models.archival import Archive, load_archive
from allennlp.nn.util import read_state_dict
from allennlp.predictors import Predictor
from torch import Tensor

from allennlp_nef.errors import ArchiveError, UserError, describe, quote, raised_in
from allennlp_nef.pretrained.lora import merge_lora
from allennlp_nef.resources import archive_path

HINT = "; trust=True (--trust) skips the safety checks"
MIN_LIMIT, MAX_RATIO = 2**30, 20
"""The limit for an unpacked archive: this many bytes, or this many times its size. Weights hardly compress."""
REJECTED = ("from_archive", "evalb")
"""Registered components that load another archive or run a program."""

_LOADING_ERRORS = (
    *(ConfigurationError, EOFError, KeyError, OSError, RuntimeError, TypeError, ValueError),
    *(tarfile.TarError, zlib.error),
)
_checked: ContextVar[str] = ContextVar("checked", default="")
"""The archive being loaded, whose code must not run."""
_lock = Lock()
_loads = 0
"""How many archives are being loaded, in all threads."""
_resolve_class_name: Any = None
"""AllenNLP's own method, while archives are being loaded."""


def load_predictor(
    path: str,
    cuda_device: int = -1,
    name: str | None = None,
    *,
    trust: bool = False,
    overrides: str | dict[str, Any] = "",
    reader: str = "validation",
    **options: Any,
) -> Any:
    """Loads the predictor of a trained model, whose low-rank updates are merged into the weights.

    # Parameters

    path : `str`
        An archive, a run folder, or the name of a trained model of this package.
    cuda_device : `int`, optional (default = `-1`)
        The GPU number, or -1 for the CPU.
    name : `str`, optional (default = `None`, the default of the model)
        The registered name of the predictor.
    trust : `bool`, optional (default = `False`)
        Skips the safety checks: the archive can run arbitrary code.
    overrides : `str` or `dict[str, Any]`, optional (default = `""`)
        Changes to the config of the archive.
    reader : `str`, optional (default = `"validation"`)
        The dataset reader, "train" or "validation", of a model that has two.
    options
        The options of the predictor.

    # Raises

    `UserError`: no such archive. `ArchiveError`: an archive that is damaged, that was saved by another version of this
    package, or that would run code. `ConfigurationError`: an invalid option.
    """
    archive = load_archive_safely(path, cuda_device, overrides, trust=trust)
    merge_lora(archive.model)
    return Predictor.from_archive(archive, name or "", reader, extra_args=options)


def load_archive_safely(
    archive_file: str | PathLike,
    cuda_device: int = -1,
    overrides: str | dict[str, Any] = "",
    weights_file: Any = None,
    *,
    trust: bool = False,
) -> Archive:
    """AllenNLP's `load_archive`, with safety checks. For parameters and errors, see `load_predictor`."""
    check_for_gpu(cuda_device)
    with checked_archive(os.fspath(archive_file), trust=trust) as folder:
        return load_archive(folder, cuda_device, overrides, weights_file)


@contextmanager
def loading_safely() -> Iterator[None]:
    """Checks every archive that AllenNLP loads for a config: `from_archive`, `_pretrained`, `pretrained`."""
    with (
        patch.object(archival, "load_archive", load_archive_safely),
        patch.object(archival, "extracted_archive", _unpacked),
    ):
        yield


@contextmanager
def _unpacked(archive: str, cleanup: bool = True) -> Iterator[str]:
    """AllenNLP's `extracted_archive`, safely. The folder is always removed."""
    with TemporaryDirectory(prefix="archive-") as folder:
        unpack(archive, folder)
        yield folder


@contextmanager
def checked_archive(path: str, *, trust: bool = False) -> Iterator[str]:
    """Yields a path that AllenNLP's `load_archive` can load safely: the folder of an unpacked, checked archive.

    If AllenNLP cannot load it, the context raises an `ArchiveError`. With `trust`, nothing is unpacked or checked. For
    paths and errors, see `load_predictor`.
    """
    path = archive_path(path)
    if "://" not in path and not os.path.exists(path):
        raise UserError(f"{path}: no such file")
    folder = str(cached_path(path))
    with ExitStack() as stack:
        if not trust:
            if not os.path.isdir(folder):
                file, folder = folder, stack.enter_context(TemporaryDirectory(prefix="archive-"))
                unpack(file, folder)
            check_config(folder, path)
            stack.enter_context(_checking_names(path))
        try:
            yield folder
        except Exception as error:
            reason = _reason(error)
            if reason is None:
                raise
            raise ArchiveError(f"{path}: {reason}".replace(f"{folder}/", "")) from error


def _reason(error: Exception) -> str | None:
    """Returns why AllenNLP cannot load an archive; None for bugs, and for errors raised outside of loading."""
    if isinstance(error, ArchiveError) or not raised_in(error, load_archive):
        return None
    if raised_in(error, read_state_dict):  # torch can raise any type of error for damaged files
        if isinstance(error, FileNotFoundError):
            return f"expected the weights of a model, got no file {error.filename}"
        return "the weights are damaged, or are more than tensors"
    if not isinstance(error, _LOADING_ERRORS):
        return None
    reason = describe(error)
    if re.search("state.dict|unexpected keyword argument", reason):
        # The message may list all weights.
        hint = "saved by another version of this package, or --weights-file of another model?"
        reason = f"{reason[:300]} ({hint})"
    return f"cannot be loaded: {reason}"


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
            # Read on to gzip's checksum, which follows the last member.
            while archive.fileobj.read(2**20):
                pass
    except tarfile.FilterError as error:
        raise ArchiveError(f"{path}: {error}{HINT}") from error
    except (tarfile.TarError, EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise ArchiveError(f"{path}: damaged, or not an archive ({error})") from error


def check_config(folder: str, archive: str) -> None:
    """Raises an `ArchiveError` if the config in an archive's folder would import, run or download anything."""
    where = f"{archive}: config.json"
    try:
        config = json.loads(Path(folder, "config.json").read_text("utf-8"))
    except FileNotFoundError as error:
        raise ArchiveError(
            f"{archive}: expected an archive or a run folder, got no config.json"
        ) from error
    except (OSError, ValueError, RecursionError) as error:
        raise ArchiveError(f"{where}: expected JSON ({error}){HINT}") from error
    if not isinstance(config, dict) or not {"dataset_reader", "model"} <= config.keys():
        raise ArchiveError(f"{where}: expected an object with dataset_reader and model")
    if Path(folder, "vocabulary").is_file():  # AllenNLP would unpack it
        raise ArchiveError(f"{where}: expected a folder vocabulary, got a file{HINT}")
    for place, value in _values(config):
        is_type = place[-1] == "type" and isinstance(value, str) and "." in value
        is_code = place[-1] in ("_pretrained", "trust_remote_code") and value not in (None, False)
        if is_type or is_code or (_is_read(place) and _is_address(value)):
            raise ArchiveError(f"{where}: {'.'.join(place)}: rejected {quote(value)}{HINT}")


def _values(part: Any, place: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Yields all values in a config, with the keys that lead to them."""
    for key, value in part.items() if isinstance(part, dict) else enumerate(part):
        yield (*place, str(key)), value
        if isinstance(value, dict | list):
            yield from _values(value, (*place, str(key)))


def _is_read(place: tuple[str, ...]) -> bool:
    """Returns whether a value is used when an archive is loaded. AllenNLP drops some options of the model."""
    left_out = place[0] == "model" and {"pretrained_file", "initializer"} & set(place)
    built = ("dataset_reader", "validation_dataset_reader", "vocabulary", "model")
    return place[0] in built and not left_out


def _is_address(value: Any) -> bool:
    return isinstance(value, str) and bool(re.search(r"[A-Za-z][\w+.-]*:\s*/\s*/", value))


@contextmanager
def _checking_names(archive: str) -> Iterator[None]:
    """Rejects components of AllenNLP that would run code, while this thread loads an archive.

    The check is installed while any thread loads an archive.
    """
    global _loads, _resolve_class_name
    token = _checked.set(archive)
    with _lock:
        if not _loads:
            _resolve_class_name = vars(Registrable)["resolve_class_name"]
            Registrable.resolve_class_name = classmethod(_resolve_safely)  # type: ignore[assignment]
        _loads += 1
    try:
        yield
    finally:
        with _lock:
            _loads -= 1
            if not _loads:
                Registrable.resolve_class_name = _resolve_class_name  # type: ignore[method-assign]
        _checked.reset(token)


def _resolve_safely(cls: type, name: str) -> Any:
    archive = _checked.get()
    if archive and ("." in name or name in REJECTED):
        raise ArchiveError(f"{archive}: rejected the component {quote(name)}{HINT}")
    return _resolve_class_name.__func__(cls, name)


def copy_archive(path: str, output: Path, changes: Mapping[str, Callable[[bytes], bytes]]) -> None:
    """Copies an archive, changing the contents of some of its files."""
    with tarfile.open(path) as old, tarfile.open(output, "w:gz", compresslevel=1) as new:
        for member in old:
            file: IO[bytes] | None = old.extractfile(member) if member.isfile() else None
            change = changes.get(os.path.normpath(member.name))
            if file is not None and change is not None:
                content = change(file.read())
                member.size, file = len(content), io.BytesIO(content)
            new.addfile(member, file)


def change_weights(change: Callable[[dict[str, Tensor]], dict[str, Tensor]], file: bytes) -> bytes:
    """Returns the contents of a file of weights after a change of the weights, for `copy_archive`."""
    weights = torch.load(io.BytesIO(file), map_location="cpu", weights_only=True)
    changed = io.BytesIO()
    torch.save(change(weights), changed)
    return changed.getvalue()
