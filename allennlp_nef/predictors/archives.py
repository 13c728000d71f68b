import re
import tarfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pickle import UnpicklingError
from typing import Any

from allennlp.common.checks import ConfigurationError, check_for_gpu
from allennlp.models import Model, load_archive
from allennlp.predictors import Predictor

from allennlp_nef.errors import ArchiveError, MissingExtraError, UserError, summary_of
from allennlp_nef.models import NefTagger
from allennlp_nef.modules.registered_name import registered_name
from allennlp_nef.predictors.checked_predictor import CheckedPredictor
from allennlp_nef.predictors.safe_archives import safe_archives, trusted
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
    name: str | None = "nef_tagger",
    *,
    trust: bool = False,
    **options: Any,
) -> Any:
    """Loads the model of an archive with its predictor, one of this package's.

    An archive from elsewhere cannot run code, unless it is trusted: see docs/trust.md.

    # Parameters

    path : `str`
        The archive, or the folder of a training run.
    cuda_device : `int`, optional (default = `-1`)
        The number of a GPU, or -1 for the CPU.
    name : `str`, optional (default = `"nef_tagger"`)
        The registered name of the predictor. "nef_tagger" is `word_qe` for a model of quality estimation. None is the
        default of the model.
    trust : `bool`, optional (default = `False`)
        Whether the archive may do what AllenNLP lets it do, such as call any function of Python.
    options
        Those of the predictor, a `TaggingPredictor` where the model is a tagger.

    # Raises

    `UserError`: not an archive that can be loaded, one that would run code, a predictor of taggers and a model other
    than `nef_tagger`, a predictor of another package or none, a wrong option.
    """
    with trusted() if trust else safe_archives(), naming_archive(path):
        archive = load_archive(path, cuda_device=cuda_device)
    got = registered_name(Model, archive.model)
    chosen: Any = name or archive.model.default_predictor
    try:
        kind = _kind_of(chosen) if chosen else Predictor
        if issubclass(kind, TaggingPredictor) and not isinstance(archive.model, NefTagger):
            raise UserError(f"{path}: expected a model of the type nef_tagger, got {got}")
        # Others are not built: those of AllenNLP may download a model of spaCy.
        if not issubclass(kind, CheckedPredictor):
            names = sorted(Predictor.list_available())
            ours = ", ".join(each for each in names if issubclass(_kind_of(each), CheckedPredictor))
            default = "" if name else f", the default of {got}"
            raise UserError(f"{path}: expected one of the predictors {ours}, got {chosen}{default}")
        return Predictor.from_archive(archive, chosen, extra_args=options)
    except ConfigurationError as error:
        raise UserError(f"{path}: {summary_of(error)}") from error


@contextmanager
def naming_archive(path: str) -> Iterator[None]:
    """A context in which an archive is loaded. What its files or its config cause is a `UserError` that names it."""
    try:
        yield
    except (ArchiveError, MissingExtraError):
        raise
    except (*_CAUSED_BY_ARCHIVES, RuntimeError) as error:
        if type(error) is RuntimeError and not _RUNTIME_ERRORS.search(str(error)):
            raise
        raise UserError(
            f"{path}: expected the archive of a trained model, got {type(error).__name__}: {summary_of(error)}"
        ) from error


# The errors of torch and of AllenNLP for weights that do not fit the model, and those of Jsonnet for a config.
_RUNTIME_ERRORS = re.compile(
    "in loading state_dict|Error loading state dict for|^(STATIC|RUNTIME) ERROR: "
)
# What fetching and unpacking an archive, reading its files, and building what its config names raise. A RuntimeError is
# torch's or Jsonnet's.
_CAUSED_BY_ARCHIVES = (
    ConfigurationError,
    EOFError,
    OSError,
    UnicodeDecodeError,
    UnpicklingError,
    UserError,
    tarfile.TarError,
    zlib.error,
)


def _kind_of(name: str) -> type[Predictor]:
    """The class of a registered name."""
    return Predictor.resolve_class_name(name)[0]
