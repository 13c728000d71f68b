"""The files that come with the package: example configs, small data and the page."""

from pathlib import Path
from typing import Dict

_PACKAGE = Path(__file__).resolve().parent


def folders() -> Dict[str, Path]:
    """The folders "training_configs", "fixtures" and "demo".

    In an installed package the first two lie in `allennlp_nef/examples`, in a checkout at its top level.
    """
    installed = _PACKAGE / "examples"
    parent = installed if installed.is_dir() else _PACKAGE.parent
    examples = {name: parent / name for name in ("training_configs", "fixtures")}
    return {**examples, "demo": _PACKAGE / "demo"}
