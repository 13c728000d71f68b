from typing import Any

from allennlp.common.checks import ConfigurationError
from allennlp.models import load_archive
from allennlp.predictors import Predictor

from allennlp_nef.errors import UserError, first_line
from allennlp_nef.models import NefTagger
from allennlp_nef.predictors.tagging_predictor import TaggingPredictor
from allennlp_nef.saved_versions import compared_versions, saved_versions


def load_predictor(path: str, cuda_device: int = -1, **options: Any) -> TaggingPredictor:
    """Loads the model of an archive with its predictor.

    # Parameters

    path : `str`
        The archive, or the folder of a training run.
    cuda_device : `int`, optional (default = `-1`)
        The number of a GPU, or -1 for the CPU.
    options
        Those of `TaggingPredictor`.

    # Raises

    `UserError`: not an archive that can be loaded, a model other than `nef_tagger`, a wrong option.
    """
    try:
        archive = load_archive(path, cuda_device=cuda_device)
    except (
        Exception
    ) as error:  # each step from fetching it to building the model raises errors of its own
        raise UserError(
            f"{path}: expected the archive of a trained model, got {type(error).__name__}: {first_line(error)}"
            f"{_versions_of(path)}"
        ) from error
    if not isinstance(archive.model, NefTagger):
        got = type(archive.model).__name__
        raise UserError(f"{path}: expected a model of the type nef_tagger, got {got}")
    try:
        predictor: Any = Predictor.from_archive(archive, "nef_tagger", extra_args=options)
    except ConfigurationError as error:
        raise UserError(f"{path}: {first_line(error)}") from error
    return predictor


def _versions_of(path: str) -> str:
    """What to add to the message of an error in loading an archive: its versions, where they can be read."""
    try:
        saved_versions(path)
    except Exception:  # noqa: BLE001  # it is no archive, which the message says
        return ""
    return f" ({compared_versions(path)})"
