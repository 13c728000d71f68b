"""The sentences of a file, tagged by the models of archives, with the trace of each."""

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import zip_longest
from pathlib import Path
from typing import Any, NamedTuple

from allennlp.common.checks import ConfigurationError
from allennlp.common.util import lazy_groups_of
from allennlp.data import Instance

from allennlp_nef.commands.request_files import holds_requests, read_requests
from allennlp_nef.errors import DataFormatError, UserError, quote, summary_of
from allennlp_nef.predictors.archives import check_device, load_predictor
from allennlp_nef.predictors.tagging_predictor import Answer, TaggingPredictor


class SketchedAnswer(dict[str, Any]):
    """The answer for a sentence of a file, with `trace`, and with `gold`: the gold tags or None."""

    instance: Instance
    """The sentence."""


class SketchModel(NamedTuple):
    """A model that keeps a trace."""

    path: str
    """The path of its archive."""
    predictor: TaggingPredictor
    description: dict[str, Any]
    """The description of the predictor, with a title that no other model has and without examples."""


def load_models(
    paths: Sequence[str], cuda_device: int = -1, batch_size: int = 64, trust: bool = False
) -> list[SketchModel]:
    """Loads the models of archives.

    # Raises

    `UserError`: no such device, what `load_predictor` raises, a model that keeps no trace, models of different tasks.
    """
    check_device(cuda_device)
    options: dict[str, Any] = {"trace": True, "batch_size": batch_size, "trust": trust}
    predictors = [load_predictor(path, cuda_device, **options) for path in paths]
    descriptions = [predictor.description() for predictor in predictors]
    for path, description in zip(paths, descriptions):
        if description["step_name"] is None:
            raise UserError(
                f"{path}: expected a model with neural_easy_first, label_attention or "
                f"position_aware_self_attention to plot, got {description['title']}"
            )
        if description["task"] != descriptions[0]["task"]:
            raise UserError(
                f"{path}: expected a model of the task {descriptions[0]['task']} like {paths[0]}, "
                f"got {description['task']}"
            )
    titles = _distinct([description["title"] for description in descriptions], paths)
    return [
        # The page of replays shows the description, but no other sentences than those of the file.
        SketchModel(path, predictor, {**description, "title": title, "examples": None})
        for path, predictor, description, title in zip(paths, predictors, descriptions, titles)
    ]


def read_answers(
    models: Sequence[SketchModel], path: str, batch_size: int
) -> Iterator[list[SketchedAnswer]]:
    """Tags the sentences of a file. Yields, for each sentence, the answer of each model.

    # Parameters

    models : `Sequence[SketchModel]`
    path : `str`
        A file of JSON requests, one a line, or what the dataset readers of the models read.
    batch_size : `int`
        How many sentences go through a model at once. No more than these are held in memory.

    # Raises

    `DataFormatError`: no sentence, a sentence that cannot be read, or other words for one model than for another.
    `OSError`.
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
) -> Iterator[SketchedAnswer]:
    instances = instances_of(predictor, path, is_requests)
    for batch in lazy_groups_of(instances, batch_size):
        for instance, answer in zip(batch, predictor.predict_batch_instance(batch)):
            gold = answer.metadata.tags if isinstance(answer, Answer) else None
            sketched = SketchedAnswer(answer, gold=gold)
            sketched.instance = instance
            yield sketched


def instances_of(predictor: TaggingPredictor, path: Any, is_requests: bool) -> Iterator[Instance]:
    """The sentences of a file of requests, or of what the reader of the model reads. Raises `DataFormatError`."""
    try:
        if is_requests:
            for number, line in read_requests(path):
                yield predictor.instance_of_line(line, f"{path}:{number}: ")
        else:
            yield from predictor._dataset_reader.read(path)
    except (
        ConfigurationError
    ) as error:  # of a reader, such as AllenNLP's for a data set without instances
        raise DataFormatError(summary_of(error)) from error


def _distinct(titles: Sequence[str], paths: Sequence[str]) -> list[str]:
    """The titles, each one different. To equal ones it adds the archive's folder, or its path if that is equal too."""
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
    expected: list[str],
    words: list[str],
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
            one, another = map(quote, pair)
            raise DataFormatError(
                f"{where} {one} for {first.path} and {another} for {other.path} as word {index}"
            )
    raise DataFormatError(
        f"{where} {len(expected)} for {first.path} and {len(words)} for {other.path}"
    )
