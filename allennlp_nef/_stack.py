"""Says how to install AllenNLP where it cannot be imported; imported before everything else."""

import importlib
import logging
import sys
from contextlib import contextmanager, suppress
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from typing import ContextManager, Iterator, List, Optional, Set, Tuple

from allennlp_nef._deferred import deferring

_logger = logging.getLogger(__name__)
_ROOT = Path(__file__).resolve().parent.parent
# The versions of requirements-no-deps.txt, which installed packages do not have.
_WITHOUT_DEPENDENCIES = "allennlp==2.10.1 allennlp-server==1.0.0 fairscale==0.4.13 torchvision=="
# What AllenNLP 2.10.1 and its transformers import at the start and use in few components.
_DEFERRED = ("nltk", "scipy.stats", "sklearn", "spacy", "torchvision")
# Scripts of allennlp-models. One tries to download data of nltk when it is imported.
_SCRIPTS = ("allennlp_models.rc.tools",)


def install_commands(
    python: Tuple[int, ...] = sys.version_info[:2], root: Path = _ROOT
) -> List[str]:
    """The commands that install AllenNLP for this version of Python, in any folder."""
    is_checkout = (root / "pyproject.toml").is_file()
    package = f'-e "{root}[serve,plot]"' if is_checkout else '"allennlp_nef[serve,plot]"'
    commands = [f"pip install {package}"]
    if python >= (3, 11):
        torchvision = "0.16.2" if python < (3, 12) else "0.28.0"
        commands.append(f"pip install --no-deps {_WITHOUT_DEPENDENCIES}{torchvision}")
    return commands


def _deferring() -> ContextManager[None]:
    return deferring(_DEFERRED if sys.version_info >= (3, 11) else ())


def import_plugins() -> None:
    """Imports AllenNLP's plugins, and before them all of AllenNLP, as AllenNLP's own function of this name does.

    Of allennlp-models the parts are left out whose packages are not installed.
    """
    from allennlp.common import plugins, util

    import_all = util.import_module_and_submodules
    excluded = {"allennlp.sanity_checks", "allennlp.tools", *_SCRIPTS}  # the first two as there

    def import_plugin(name: str, exclude: Optional[Set[str]] = None) -> None:
        if name == "allennlp_models":
            for part in iter_modules(import_module(name).__path__, f"{name}."):
                try:
                    import_all(part.name, excluded)
                except ModuleNotFoundError as error:
                    _logger.info("%s is left out: %s", part.name, error)
        else:
            import_all(name, exclude or excluded)

    with _listing_folders_once():
        with _deferring():
            import_plugin("allennlp")
            with suppress(ModuleNotFoundError):  # it is not installed
                import_plugin("allennlp_models")
        plugins.import_module_and_submodules = import_plugin  # type: ignore[assignment]
        plugins.import_plugins()


@contextmanager
def _listing_folders_once() -> Iterator[None]:
    """Lists the folders of `sys.path` once. AllenNLP forgets the lists for each module of a plugin."""
    invalidate = importlib.invalidate_caches
    invalidate()
    importlib.invalidate_caches = lambda: None
    try:
        yield
    finally:
        importlib.invalidate_caches = invalidate


def _import_allennlp() -> None:
    try:
        # What the package extends: versions that do not fit together fail in one of these.
        with _deferring():
            import allennlp.commands
            import allennlp.models
            import allennlp.predictors  # noqa: F401
    except Exception as error:  # AttributeError and ValueError among others
        raise ImportError(
            "allennlp_nef needs AllenNLP 2.10.1, which cannot be imported here "
            f"({type(error).__name__}: {error}). To install it, run\n    "
            + "\n    ".join(install_commands())
        ) from error


_import_allennlp()
