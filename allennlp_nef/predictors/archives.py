from contextlib import nullcontext
from typing import Any, ContextManager, Dict, Optional, Sequence

from allennlp.common.checks import ConfigurationError, check_for_gpu
from allennlp.common.util import import_module_and_submodules
from allennlp.models import Archive, Model, load_archive
from allennlp.predictors import Predictor

from allennlp_nef.errors import ArchiveError, UserError, quote, summary_of
from allennlp_nef.models import NefTagger
from allennlp_nef.modules.registered_name import registered_name
from allennlp_nef.predictors.checked_predictor import CheckedPredictor
from allennlp_nef.predictors.safe_archives import safe_archives
from allennlp_nef.predictors.tagging_predictor import TaggingPredictor


def check_device(number: int) -> None:
    """Raises a `UserError` where there is no GPU of this number; -1 is the CPU."""
    try:
        check_for_gpu(number)
    except (ConfigurationError, RuntimeError, ValueError) as error:
        raise UserError(
            f"--cuda-device: expected -1 or the number of a GPU, got {number} ({summary_of(error)})"
        ) from error


def load_predictor(
    path: str,
    cuda_device: int = -1,
    name: str = "nef_tagger",
    *,
    trust: bool = False,
    **options: Any,
) -> TaggingPredictor:
    """Loads the model of an archive, a tagger, with its predictor.

    An archive from elsewhere cannot run code, unless it is trusted: see docs/trust.md.

    # Parameters

    path : `str`
        The archive, or the folder of a training run.
    cuda_device : `int`, optional (default = `-1`)
        The number of a GPU, or -1 for the CPU.
    name : `str`, optional (default = `"nef_tagger"`)
        The registered name of the predictor. "nef_tagger" is `word_qe` for a model of quality estimation.
    trust : `bool`, optional (default = `False`)
        Whether the archive may do what AllenNLP lets it do, such as call any function of Python.
    options
        Those of `TaggingPredictor`.

    # Raises

    `UserError`: not an archive that can be loaded, one that would run code, a model other than `nef_tagger`, a wrong
    option.
    """
    archive = _load(path, cuda_device, trust)
    if not isinstance(archive.model, NefTagger):
        got = registered_name(Model, archive.model)
        raise UserError(f"{path}: expected a model of the type nef_tagger, got {got}")
    predictor: Any = _predictor_of(archive, path, name, options)
    return predictor


def load_any_predictor(
    path: str,
    cuda_device: int = -1,
    name: Optional[str] = None,
    *,
    trust: bool = False,
    **options: Any,
) -> CheckedPredictor:
    """Loads the model of an archive with a predictor of this package.

    # Parameters

    name : `str`, optional (default = `None`, that of the model)
        The registered name of the predictor.
    path, cuda_device, trust
        See `load_predictor`.
    options
        Those of the predictor.

    # Raises

    `UserError`: not an archive that can be loaded, one that would run code, a predictor of another package or none, a
    wrong option.
    """
    archive = _load(path, cuda_device, trust)
    chosen = name or archive.model.default_predictor
    # Others are not built: those of AllenNLP may download a model of spaCy.
    if chosen is None or not _is_checked(chosen, path):
        ours = [each for each in Predictor.list_available() if _is_checked(each, path)]
        default = "" if name else f", the default of {registered_name(Model, archive.model)}"
        raise UserError(
            f"{path}: expected one of the predictors {', '.join(sorted(ours))}, got {chosen}{default}"
        )
    predictor: Any = _predictor_of(archive, path, chosen, options)
    return predictor


def _is_checked(name: str, path: str) -> bool:
    """Whether a predictor is one of this package's."""
    try:
        return issubclass(Predictor.resolve_class_name(name)[0], CheckedPredictor)
    except ConfigurationError as error:
        raise UserError(f"{path}: {summary_of(error)}") from error


def import_packages(names: Sequence[str]) -> None:
    """Imports packages with their submodules, so that what they register is known. Raises a `UserError`."""
    for name in names:
        try:
            import_module_and_submodules(name)
        except ModuleNotFoundError as error:
            raise UserError(
                f"include_package: expected packages that can be imported, got {quote(name)} ({error})"
            ) from error


def _load(path: str, cuda_device: int, trust: bool) -> Archive:
    loading: ContextManager[None] = nullcontext() if trust else safe_archives()
    try:
        with loading:
            return load_archive(path, cuda_device=cuda_device)
    except ArchiveError:
        raise
    except (
        Exception
    ) as error:  # each step from fetching it to building the model raises errors of its own
        raise UserError(
            f"{path}: expected the archive of a trained model, got {type(error).__name__}: {summary_of(error)}"
        ) from error


def _predictor_of(archive: Archive, path: str, name: str, options: Dict[str, Any]) -> Predictor:
    try:
        return Predictor.from_archive(archive, name, extra_args=options)
    except ConfigurationError as error:
        raise UserError(f"{path}: {summary_of(error)}") from error
    except TypeError as error:
        if "unexpected keyword argument" not in str(error):
            raise
        raise UserError(f"options: expected those of the predictor, got {error}") from error
