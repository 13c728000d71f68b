"""The sentences of the files that commands get: JSON requests, or data for a dataset reader."""

import json
import os
from collections.abc import Iterator

from allennlp.common.checks import ConfigurationError
from allennlp.data import Instance

from allennlp_nef.data.formats.data_paths import DataPath, holds_paths, name_of
from allennlp_nef.data.formats.text_files import read_lines
from allennlp_nef.errors import DataFormatError, summary_of
from allennlp_nef.predictors.base import TaggingPredictor

MAX_BYTES = 2**20
"""How much of the first line is read."""


def holds_requests(path: str) -> bool:
    """Whether a file holds JSON requests, one a line.

    It does if its name ends in `.jsonl`, or if its first line that is not blank is a JSON object or begins like one.
    A `.json` file with the paths of a data set does not. Any other input is for a dataset reader, and need not be the
    name of a file.
    """
    if path.endswith(".jsonl"):
        return True
    if not os.path.isfile(path) or holds_paths(path):
        return False
    with open(path, "rb") as file:
        start = file.read(MAX_BYTES).decode("utf-8-sig", "replace").lstrip()
    first = start.split("\n", 1)[0]
    try:
        return isinstance(json.loads(first), dict)
    except (ValueError, RecursionError):
        return first.startswith('{"')


def instances_of(
    predictor: TaggingPredictor, path: DataPath, is_requests: bool = False
) -> Iterator[Instance]:
    """The sentences of a file of requests, or of what the reader of the model reads. Raises `DataFormatError`."""
    try:
        if is_requests:
            for number, line in enumerate(read_lines(name_of(path)), 1):
                if line.strip():
                    yield predictor.instance_of_line(line, f"{path}:{number}: ")
        else:
            yield from predictor._dataset_reader.read(path)
    except ConfigurationError as error:  # of a reader, such as AllenNLP's for no instances
        raise DataFormatError(summary_of(error)) from error


def read_instances(
    predictor: TaggingPredictor, path: DataPath, is_requests: bool = False
) -> list[Instance]:
    """Those of `instances_of`, at least one. Raises `DataFormatError`."""
    instances = list(instances_of(predictor, path, is_requests))
    if not instances:
        raise DataFormatError(f"{name_of(path)}: expected at least one sentence, got none")
    return instances
