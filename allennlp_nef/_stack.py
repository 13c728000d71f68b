"""Says how to install AllenNLP where it cannot be imported; imported before everything else."""

import sys
from typing import Tuple

_MODERN = (
    "pip install -r requirements.txt",
    "pip install --no-deps -r requirements-no-deps.txt",
)
_LEGACY = ("pip install -r requirements-legacy.txt",)


def install_commands(python: Tuple[int, ...] = sys.version_info[:2]) -> Tuple[str, ...]:
    """The commands that, run in the checkout, install AllenNLP for this version of Python."""
    return _MODERN if python >= (3, 11) else _LEGACY


def _import_allennlp() -> None:
    try:
        # What the package extends: versions that do not fit together fail in one of these.
        import allennlp.models
        import allennlp.predictors  # noqa: F401
    except Exception as error:  # AttributeError and ValueError among others
        raise ImportError(
            "allennlp_nef needs AllenNLP 2.10.1, which cannot be imported here "
            f"({type(error).__name__}: {error}). In the checkout of allennlp_nef, run\n    "
            + "\n    ".join(install_commands())
        ) from error


_import_allennlp()
