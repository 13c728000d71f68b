"""Files by their names: those that come with the package, and those that archives hold besides the model."""

import json
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from allennlp_nef.errors import UserError, quote

ALIGNER_NAME = "aligner.json.gz"
TRANSFORMER_NAME = "transformer"
"""The folder of the configuration and the tokenizer of a pretrained transformer."""
EXTRA_NAMES = (ALIGNER_NAME, "examples.jsonl", TRANSFORMER_NAME)
"""What callbacks write into the folder of a run, and its archive holds besides AllenNLP's own files."""
_PACKAGE = Path(__file__).resolve().parent


def folders() -> dict[str, Path]:
    """The folders "training_configs", "fixtures" and "demo".

    In an installed package the first two lie in `allennlp_nef/examples`, in a checkout at its top level.
    """
    installed = _PACKAGE / "examples"
    parent = installed if installed.is_dir() else _PACKAGE.parent
    examples = {name: parent / name for name in ("training_configs", "fixtures")}
    return {**examples, "demo": _PACKAGE / "demo"}


def trained_models() -> dict[str, dict[str, Any]]:
    """The trained models that come with the package, by their names.

    # Returns

    `dict[str, dict[str, Any]]`
        Of each: the `path` of its archive, the `task`, the languages, the training `data` and their license, the
        `scores` on a `split` of these data in fractions of 1, and the `command` that trained it.
    """
    folder = _PACKAGE / "trained_models"
    models: dict[str, dict[str, Any]] = json.loads((folder / "models.json").read_text("utf-8"))
    return {
        name: {"path": str(folder / f"{name}.tar.gz"), **model} for name, model in models.items()
    }


def archive_path(archive: str) -> str:
    """The path of an archive. A name of `trained_models` stands for that model where no file has this name.

    Nor has the folder of a run. Other folders do not count, such as one with data of the same name.

    # Raises

    `UserError`: the name of neither a file nor such a model. What may be a path, or an address, is returned as it is.
    """
    is_archive = os.path.isfile(archive) or os.path.isfile(os.path.join(archive, "config.json"))
    if is_archive or not re.fullmatch(r"[\w-]*", archive):
        return archive
    models = trained_models()
    if archive not in models:
        raise UserError(
            f"{archive or quote(archive)}: expected the path of an archive, or one of the trained models "
            f"{', '.join(models)}; got neither"
        )
    return str(models[archive]["path"])


def extra_files(folder: str | Path) -> list[Path]:
    """Those of `EXTRA_NAMES` in the folder of a run or of an extracted archive, for whoever writes an archive."""
    return [path for path in (Path(folder) / name for name in EXTRA_NAMES) if path.exists()]


def is_archived(extras: Mapping[str, Any]) -> bool:
    """Whether AllenNLP passes these to a `from_params` for a component of an archive, not of a training."""
    return "serialization_dir" in extras and "local_rank" not in extras


def archived_path(name: str, extras: Mapping[str, Any]) -> str | None:
    """The path of one of `EXTRA_NAMES` in the archive that AllenNLP loads; None where there is none.

    A training also names its folder, but there the file may be that of a run which is recovered: not every run would
    find it.

    # Parameters

    name : `str`
    extras : `Mapping[str, Any]`
        What AllenNLP passes to a `from_params`.
    """
    path = Path(extras.get("serialization_dir") or "", name)
    return str(path) if is_archived(extras) and path.exists() else None
