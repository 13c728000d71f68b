"""Files included in the package: example configs and data, web pages, and trained models."""

import json
import os
import re
from pathlib import Path
from typing import Any

from allennlp_nef.errors import UserError

_PACKAGE = Path(__file__).resolve().parent


def folders() -> dict[str, Path]:
    """Returns the folders "training_configs", "fixtures" and "pages".

    The first two are in `allennlp_nef/examples` in an installed package and at the top level of a checkout.
    """
    installed = _PACKAGE / "examples"
    parent = installed if installed.is_dir() else _PACKAGE.parent
    examples = {name: parent / name for name in ("training_configs", "fixtures")}
    return {**examples, "pages": _PACKAGE / "pages"}


def trained_models() -> dict[str, dict[str, Any]]:
    """Returns the trained models that come with the package, by name.

    Each entry has the `path` of the archive, its `task`, `languages`, training `data` and `license`, its `scores` on a
    `split` of that data (fractions of 1), and the `command` that trained it.
    """
    folder = _PACKAGE / "trained_models"
    models: dict[str, dict[str, Any]] = json.loads((folder / "models.json").read_text("utf-8"))
    return {
        name: {"path": str(folder / f"{name}.tar.gz"), **model} for name, model in models.items()
    }


def archive_path(archive: str) -> str:
    """Returns the path of an archive, which may be given by the name of a trained model of this package.

    A file or run folder takes precedence over a model of the same name.

    # Raises

    `UserError`: a plain name that is neither a file nor a trained model.
    """
    is_archive = os.path.isfile(archive) or os.path.isfile(os.path.join(archive, "config.json"))
    if is_archive or not re.fullmatch(r"[\w-]*", archive):
        return archive
    models = trained_models()
    if archive not in models:
        raise UserError(
            f"{archive}: no such file, and no trained model of this package ({', '.join(models)})"
        )
    return str(models[archive]["path"])
