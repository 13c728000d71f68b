"""The sentences of a file, and the steps in which the models of archives tagged them."""

from collections import Counter
from itertools import zip_longest
from pathlib import Path
from typing import Any, Dict, Iterator, List, NamedTuple, Sequence

from allennlp.common.checks import ConfigurationError, check_for_gpu
from allennlp.common.util import lazy_groups_of
from allennlp.data import Instance
from allennlp.models import load_archive
from allennlp.predictors import Predictor

from allennlp_nef.commands.request_files import holds_requests, read_requests
from allennlp_nef.errors import DataFormatError, quote
from allennlp_nef.models import NefTagger
from allennlp_nef.predictors.tagging_predictor import Answer, TaggingPredictor


class SketchModel(NamedTuple):
    """A model that keeps a trace of its steps."""

    path: str
    """Of its archive."""
    predictor: TaggingPredictor
    description: Dict[str, Any]
    """That of the predictor; titles differ between models."""


def load_models(
    paths: Sequence[str], cuda_device: int = -1, batch_size: int = 64
) -> List[SketchModel]:
    """The models of archives, which do the same task.

    # Raises

    `DataFormatError`: no such device, no archive, another model than `nef_tagger`, one without steps, another task.
    """
    try:
        check_for_gpu(cuda_device)
    except (ConfigurationError, RuntimeError, ValueError) as error:
        raise DataFormatError(
            f"--cuda-device: expected -1 or the number of a GPU, got {cuda_device} ({_line(error)})"
        ) from error
    predictors = [load_predictor(path, cuda_device, batch_size) for path in paths]
    descriptions = [predictor.description() for predictor in predictors]
    for path, description in zip(paths, descriptions):
        if description["step_name"] is None:
            raise DataFormatError(
                f"{path}: expected a model with neural_easy_first, label_attention or "
                f"position_aware_self_attention to plot, got {description['title']}"
            )
        if description["task"] != descriptions[0]["task"]:
            raise DataFormatError(
                f"{path}: expected a model of the task {descriptions[0]['task']} like {paths[0]}, "
                f"got {description['task']}"
            )
    titles = _told_apart([description["title"] for description in descriptions], paths)
    return [
        SketchModel(path, predictor, {**description, "title": title})
        for path, predictor, description, title in zip(paths, predictors, descriptions, titles)
    ]


def read_answers(
    models: Sequence[SketchModel], path: str, batch_size: int
) -> Iterator[List[Dict[str, Any]]]:
    """For each sentence of a file the answers of the models, each with `trace` and with `gold`, the gold tags or None.

    # Parameters

    models : `Sequence[SketchModel]`
    path : `str`
        Of JSON requests, one a line, or else what the dataset readers of the models read.
    batch_size : `int`
        Sentences that go through a model at once; no more of them are held.

    # Raises

    `DataFormatError`: no sentence, one that cannot be read, or one that the models have other words for. `OSError`.
    """
    is_requests = holds_requests(path)
    streams = [_answers(model.predictor, path, is_requests, batch_size) for model in models]
    number = 0
    for number, answers in enumerate(zip_longest(*streams), 1):
        for model, answer in zip(models, answers):
            if answer is None:
                raise DataFormatError(
                    f"{path}: expected as many sentences for each archive, got {number - 1} for {model.path}"
                )
            _check_words(answers[0]["tokens"], answer["tokens"], models[0], model, path, number)
        yield list(answers)
    if not number:
        raise DataFormatError(f"{path}: expected at least one sentence, got none")


def _answers(
    predictor: TaggingPredictor, path: str, is_requests: bool, batch_size: int
) -> Iterator[Dict[str, Any]]:
    instances = _instances(predictor, path, is_requests)
    for batch in lazy_groups_of(instances, batch_size):
        for answer in predictor.predict_batch_instance(batch):
            gold = answer.metadata.tags if isinstance(answer, Answer) else None
            yield {**answer, "gold": gold}


def _instances(predictor: TaggingPredictor, path: str, is_requests: bool) -> Iterator[Instance]:
    try:
        if is_requests:
            for number, line in read_requests(path):
                yield predictor.instance_of_line(line, f"{path}:{number}: ")
        else:
            yield from predictor._dataset_reader.read(path)
    except (ValueError, ConfigurationError) as error:
        raise DataFormatError(_line(error)) from error


def load_predictor(path: str, cuda_device: int = -1, batch_size: int = 64) -> TaggingPredictor:
    """The predictor of an archive.

    # Raises

    `DataFormatError`: no archive, another model than `nef_tagger`.
    """
    try:
        archive = load_archive(path, cuda_device=cuda_device)
    except Exception as error:  # of whatever reads, unpacks, fetches or builds it
        raise DataFormatError(
            f"{path}: expected the archive of a trained model, got {type(error).__name__}: {_line(error)}"
        ) from error
    if not isinstance(archive.model, NefTagger):
        got = type(archive.model).__name__
        raise DataFormatError(f"{path}: expected a model of the type nef_tagger, got {got}")
    try:
        options = {"trace": True, "batch_size": batch_size}
        predictor: Any = Predictor.from_archive(archive, "nef_tagger", extra_args=options)
    except ConfigurationError as error:
        raise DataFormatError(f"{path}: {_line(error)}") from error
    return predictor


def _told_apart(titles: Sequence[str], paths: Sequence[str]) -> List[str]:
    """Equal titles with the names of the folders that the archives are in, or their paths if these are equal too."""
    folders = [Path(path).resolve() for path in paths]
    folders = [path if path.is_dir() else path.parent for path in folders]
    for names in ([folder.name for folder in folders], paths):
        counts = Counter(titles)
        named = [f"{title} ({name})" for title, name in zip(titles, names)]
        named = [new if counts[title] > 1 else title for title, new in zip(titles, named)]
        if len(set(named)) == len(named):
            break
    return named


def _check_words(
    expected: List[str],
    words: List[str],
    first: SketchModel,
    other: SketchModel,
    path: str,
    number: int,
) -> None:
    if words == expected:
        return
    where = f"{path}: sentence {number}: expected the same words for each archive, got"
    for index, pair in enumerate(zip(expected, words), 1):
        if pair[0] != pair[1]:
            said = [quote(word) for word in pair]
            raise DataFormatError(
                f"{where} {said[0]} for {first.path} and {said[1]} for {other.path} as word {index}"
            )
    raise DataFormatError(
        f"{where} {len(expected)} for {first.path} and {len(words)} for {other.path}"
    )


def _line(error: BaseException) -> str:
    """The first line of its message."""
    lines = str(error).splitlines()
    return lines[0] if lines else type(error).__name__
