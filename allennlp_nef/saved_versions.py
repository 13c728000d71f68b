"""The versions of this package and of torch that a model was saved with.

They are in the metadata that torch keeps beside the parameters of a state dict and saves with them. `load_state_dict`
ignores what it does not know there, so other versions of this package load the weights all the same.
"""

import io
import tarfile
from collections.abc import Iterator
from contextlib import contextmanager
from os import PathLike
from pathlib import Path
from typing import Any

import torch

from allennlp_nef.errors import MissingExtraError
from allennlp_nef.tensor_files import load_tensors
from allennlp_nef.version import VERSION

_PathLike = str | PathLike
# The files of weights in an archive and in the folder of a run.
_WEIGHTS = ("weights.th", "best.th")


def running_versions() -> dict[str, str]:
    """The versions of `allennlp_nef` and `torch` in this process."""
    return {"allennlp_nef": VERSION, "torch": str(torch.__version__)}


def record_versions(state: Any) -> None:
    """Records the versions of this process in a state dict that torch made."""
    state._metadata.setdefault("", {}).update(running_versions())


def always_record_versions(model: torch.nn.Module) -> None:
    """Records the versions in each state dict that the model makes from now on."""
    model.register_state_dict_post_hook(_record_versions)


def _record_versions(module: torch.nn.Module, state: Any, prefix: str, metadata: Any) -> None:
    record_versions(state)


def saved_versions(path: _PathLike) -> dict[str, str]:
    """
    The versions of `allennlp_nef` and `torch` that a model was saved with.

    # Parameters

    path : `str` or `PathLike`
        An archive (`model.tar.gz`), the folder of a run, or a file of weights.

    # Returns

    `dict[str, str]`, empty where none are recorded: by versions before 0.2.0, and by other trainers than `nef` for
    models of other packages.

    # Raises

    `OSError` where there is no such file, `KeyError` where an archive has no weights, and the errors of `tarfile` and
    `load_tensors`.
    """
    weights: Any = _weights_in(Path(path)) or path
    if tarfile.is_tarfile(str(weights)):
        with tarfile.open(str(weights)) as archive:
            weights = io.BytesIO(archive.extractfile(_WEIGHTS[0]).read())  # type: ignore[union-attr]
    return versions_of(load_tensors(weights, map_location="cpu"))


def versions_of(state: Any) -> dict[str, str]:
    """Those that are recorded in a state dict."""
    metadata = getattr(state, "_metadata", {}).get("", {})
    return {name: metadata[name] for name in running_versions() if name in metadata}


def compared_versions(path: _PathLike) -> str:
    """A sentence that names the versions that a model was saved with and those of this process. `path` is that of
    `saved_versions`."""
    try:
        saved = saved_versions(path)
    except Exception as error:  # noqa: BLE001  # the error in loading is reported, not this one
        told = f"The versions that the model was saved with cannot be read ({type(error).__name__})"
    else:
        told = f"The model was saved with {_names(saved) or 'versions that it does not name'}"
    return f"{told}; this is {_names(running_versions())}."


@contextmanager
def naming_versions(folder: _PathLike | None, weights: _PathLike | None = None) -> Iterator[None]:
    """
    Ends the message of an error in loading a model with a line that names both versions.

    # Parameters

    folder : `str` or `PathLike`, or None
        That of the extracted archive or of the run. Where it has no weights yet, no line is added.
    weights : `str` or `PathLike`, optional (default = `None`, those in the folder)
    """
    try:
        yield
    except MissingExtraError:
        raise
    except Exception as error:
        path = weights or (folder and _weights_in(Path(folder)))
        if path:
            _add_line(error, compared_versions(path))
        raise


def _weights_in(folder: Path) -> Path | None:
    return next((folder / name for name in _WEIGHTS if (folder / name).is_file()), None)


def _names(versions: dict[str, str]) -> str:
    return " and ".join(f"{name} {version}" for name, version in versions.items())


def _add_line(error: Exception, line: str) -> None:
    message = f"{error}\n{line}"
    if hasattr(error, "message"):  # AllenNLP's ConfigurationError, whose text is not in `args`
        error.message = message
    else:
        error.args = (message,)
