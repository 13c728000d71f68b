from contextlib import nullcontext
from typing import Any, ContextManager

from allennlp.common.checks import ConfigurationError, check_for_gpu
from allennlp.models import Model, load_archive
from allennlp.predictors import Predictor

from allennlp_nef.errors import ArchiveError, UserError, summary_of
from allennlp_nef.models import NefTagger
from allennlp_nef.modules.registered_name import registered_name
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
    """Loads the model of an archive with its predictor.

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
    loading: ContextManager[None] = nullcontext() if trust else safe_archives()
    try:
        with loading:
            archive = load_archive(path, cuda_device=cuda_device)
    except ArchiveError:
        raise
    except (
        Exception
    ) as error:  # each step from fetching it to building the model raises errors of its own
        raise UserError(
            f"{path}: expected the archive of a trained model, got {type(error).__name__}: {summary_of(error)}"
        ) from error
    if not isinstance(archive.model, NefTagger):
        got = registered_name(Model, archive.model)
        raise UserError(f"{path}: expected a model of the type nef_tagger, got {got}")
    try:
        predictor: Any = Predictor.from_archive(archive, name, extra_args=options)
    except ConfigurationError as error:
        raise UserError(f"{path}: {summary_of(error)}") from error
    except TypeError as error:
        if "unexpected keyword argument" not in str(error):
            raise
        raise UserError(f"options: expected those of the predictor, got {error}") from error
    return predictor
