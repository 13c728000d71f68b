"""Loads files that `torch.save` wrote, such as the weights of a model, and calls nothing that they name."""

import os
import pickle
import re
import tarfile
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch

from allennlp_nef.errors import UserError

_torch_load = torch.load
_REFUSED = re.compile(r"GLOBAL (\S+)")
_OF_FILES = re.compile("PytorchStreamReader|weights_only|Invalid argument$")  # the last: cut off


class TensorFileError(UserError):
    """A file that holds more than tensors. The message names the file, and what it would call."""


def load_tensors(file: Any, map_location: Any = None, **options: Any) -> Any:
    """As `torch.load`, but for files of tensors, numbers, strings, and lists, tuples and dicts of these only.

    # Parameters

    file : `str`, `PathLike` or a binary file
    map_location : optional (default = `None`)
        That of `torch.load`.
    options
        Further options of `torch.load`. They change nothing: they are there so that this function can stand in for it.

    # Raises

    `TensorFileError`: a file that holds something else, or is damaged. `OSError`: a file that cannot be read.
    """
    with explaining_weights(file):
        _check_container(file)
        return _torch_load(file, map_location=map_location, weights_only=True)


@contextmanager
def explaining_weights(file: Any) -> Iterator[None]:
    """A context in which torch loads a file. Raises a `TensorFileError` for what `load_tensors` raises it for."""
    try:
        yield
    except (EOFError, LookupError, OSError, RuntimeError, pickle.UnpicklingError) as error:
        if isinstance(error, (OSError, RuntimeError)) and not _OF_FILES.search(str(error)):
            raise  # no such file, no memory, or no such device
        name = os.path.basename(os.fspath(file)) if _is_path(file) else "weights"
        found = _REFUSED.search(str(error))
        got = found[1] if found else str(error).split("\n")[0]
        is_restricted = isinstance(error, pickle.UnpicklingError)
        # torch's advice is to load the file all the same
        if not is_restricted or got.startswith("Weights only load failed"):
            got = "another or a damaged file"
        raise TensorFileError(f"{name}: expected tensors only, got {got}") from error


def _check_container(file: Any) -> None:
    """Refuses what torch reads and does not write today: tar files, which it unpacks, programs, and compressed data,
    which may be far larger than the file."""
    if _is_path(file):
        with open(file, "rb") as opened:
            _check_container(opened)
        return
    start = file.tell()
    size = file.seek(0, os.SEEK_END) - start
    file.seek(start)
    try:
        tarfile.open(fileobj=file, mode="r:").close()
    except tarfile.TarError:
        pass
    else:
        raise pickle.UnpicklingError("a tar file")
    if zipfile.is_zipfile(file):
        with zipfile.ZipFile(file) as container:
            entries = container.infolist()
        if any(os.path.basename(entry.filename) == "constants.pkl" for entry in entries):
            raise pickle.UnpicklingError("a TorchScript program")
        if sum(entry.file_size for entry in entries) > size:
            raise pickle.UnpicklingError("compressed data")
    file.seek(start)


def _is_path(file: Any) -> bool:
    return isinstance(file, (str, os.PathLike))
