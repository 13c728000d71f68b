"""Loads archives of models without running code that they hold or name.

AllenNLP's `load_archive` unpacks an archive, evaluates its config, builds what the config names, and loads the
weights. `safe_archives` puts safe steps in place of these, for whoever calls it: the predictors, AllenNLP's commands,
and configs that start from an archive.
"""

import os
import shutil
import tarfile
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import wraps
from types import SimpleNamespace
from typing import Any

import torch
from allennlp.common import Params, Registrable, file_utils
from allennlp.common import util as allennlp_util
from allennlp.common.checks import ConfigurationError
from allennlp.models import archival
from transformers import dynamic_module_utils

from allennlp_nef.errors import ArchiveError, quote
from allennlp_nef.predictors.config_checks import not_registered, problems_of, read_config
from allennlp_nef.predictors.unpacking import HINT, unpack
from allennlp_nef.tensor_files import TensorFileError, load_tensors

MAX_DEPTH = 5
"""A model may be built from another archive, and that one's from a third."""


class _Loading(threading.local):
    """What this thread loads: the name of an archive, its path, and how many archives are built from it."""

    name = path = ""
    depth = 0
    is_trusted = False


_loading = _Loading()


@contextmanager
def trusted() -> Iterator[None]:
    """A context in which this thread loads archives as AllenNLP does, also while other threads load theirs safely."""
    _loading.is_trusted, before = True, _loading.is_trusted
    try:
        yield
    finally:
        _loading.is_trusted = before


def _unless_trusted(owner: Any, name: str, value: Any) -> Any:
    """A function that does what `value` does, and in threads that trust archives what the attribute did before."""
    before = vars(owner)[name]
    if not callable(value) or not callable(before):
        return value

    @wraps(value)
    def call(*arguments: Any, **options: Any) -> Any:
        return (before if _loading.is_trusted else value)(*arguments, **options)

    return call


class _Replacements:
    """Gives attributes other values as long as a context is open, in any thread that does not trust archives."""

    def __init__(self, replacements: Callable[[], list[tuple[Any, str, Any]]]) -> None:
        self._replacements = replacements
        self._old: list[tuple[Any, str, Any]] = []
        self._lock = threading.Lock()
        self._open = 0

    @contextmanager
    def __call__(self) -> Iterator[None]:
        with self._lock:
            if not self._open:
                new = [each for each in self._replacements() if each[1] in vars(each[0])]
                self._old = [(owner, name, vars(owner)[name]) for owner, name, _ in new]
                for owner, name, value in new:
                    setattr(owner, name, _unless_trusted(owner, name, value))
            self._open += 1
        try:
            yield
        finally:
            with self._lock:
                self._open -= 1
                if not self._open:
                    for owner, name, value in self._old:
                        setattr(owner, name, value)


def _restrictions() -> list[tuple[Any, str, Any]]:
    find = vars(Registrable)["resolve_class_name"].__func__

    def resolve_class_name(cls: Any, name: str) -> Any:
        if not _loading.is_trusted and not_registered(cls, name):
            raise ConfigurationError(
                f"expected a registered name of {cls.__name__}, got {quote(name)}; {HINT}"
            )
        return find(cls, name)

    def download(name: str) -> None:
        raise ConfigurationError(
            f"expected an installed model of spaCy, got {quote(name)}: python -m spacy download installs it"
        )

    return [
        (Registrable, "resolve_class_name", classmethod(resolve_class_name)),
        (torch, "load", load_tensors),
        (allennlp_util, "spacy_download", download),
        (dynamic_module_utils, "TIME_OUT_REMOTE_CODE", 0),  # does not ask whether to run code
    ]


only_registered = _Replacements(_restrictions)
"""A context in which configs build registered components only, and `torch.load` loads tensors only."""


def _resolved(archive_file: Any) -> str:
    _loading.name, _loading.path = str(archive_file), file_utils.cached_path(archive_file)
    return _loading.path


@contextmanager
def _extracted(path: str, cleanup: bool = True) -> Iterator[str]:
    with ExitStack() as stack:
        folder = tempfile.mkdtemp()
        stack.callback(shutil.rmtree, folder, ignore_errors=True)
        unpack(path, folder, _loading.name if path == _loading.path else path)
        yield folder
        if not cleanup:
            stack.pop_all()


def _config(path: str, overrides: Any = "") -> Params:
    if not _loading.is_trusted:
        check_config(path, _loading.name)
    return Params.from_file(path, overrides)


def check_config(path: str, name: str) -> None:
    """Checks the file of a config, and that the vocabulary beside it is no archive, which AllenNLP would unpack.

    Raises an `ArchiveError` for the archive `name`; no error where there is no such file.
    """
    if os.path.isfile(os.path.join(os.path.dirname(path), "vocabulary")):
        raise ArchiveError(f"{name}: vocabulary: expected a folder, got a file")
    if not os.path.exists(path):
        return  # AllenNLP's error says so
    file = os.path.basename(path)
    try:
        with open(path, encoding="utf-8") as opened:
            problems = problems_of(read_config(opened.read()))
    except OSError as error:
        raise ArchiveError(
            f"{name}: {file}: expected a file that can be read, got {error.strerror!r}"
        ) from error
    except ValueError as error:
        raise ArchiveError(f"{name}: {file}: {error}") from error
    for place, problem in problems.items():
        raise ArchiveError(f"{name}: {file}: {place}: {problem}; {HINT}")


def _restricted(step: Callable[..., Any]) -> Callable[..., Any]:
    """A step of `load_archive` that builds what the config names."""

    @wraps(step)
    def run(*arguments: Any) -> Any:
        name, depth = _loading.name, _loading.depth
        if depth >= MAX_DEPTH:
            raise ArchiveError(
                f"{name}: expected at most {MAX_DEPTH} archives that are built one from another"
            )
        _loading.depth = depth + 1
        try:
            with only_registered():
                return step(*arguments)
        except TensorFileError as error:
            raise ArchiveError(f"{name}: {str(error).splitlines()[0]}") from error
        finally:
            _loading.name, _loading.depth = name, depth

    return run


def _steps() -> list[tuple[Any, str, Any]]:
    return [
        # Other archives, such as that of a vocabulary, AllenNLP unpacks itself.
        (tarfile.TarFile, "extraction_filter", staticmethod(tarfile.data_filter)),
        (archival, "cached_path", _resolved),
        (archival, "extracted_archive", _extracted),
        (archival, "Params", SimpleNamespace(from_file=_config)),
        (archival, "_load_dataset_readers", _restricted(archival._load_dataset_readers)),
        (archival, "_load_model", _restricted(archival._load_model)),
    ]


safe_archives = _Replacements(_steps)
"""A context in which AllenNLP's `load_archive`, whoever calls it, runs no code of archives.

It raises an `ArchiveError` for an archive that is damaged, or that would run code: see docs/trust.md. While it is open
it holds for all threads but those in the context `trusted`.
"""
