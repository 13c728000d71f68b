import argparse
import codecs
import json
import logging
import random
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

from allennlp_nef.commands.data_checks.report import as_text
from allennlp_nef.commands.data_checks.sentences import files_of, view_of
from allennlp_nef.commands.data_checks.splits import Split, splits_of
from allennlp_nef.commands.data_checks.statistics import Statistics
from allennlp_nef.commands.data_checks.training import SAMPLE, training_needs
from allennlp_nef.data.formats.text_files import read_bytes
from allennlp_nef.errors import DataCheckError, DataFormatError, FileError

_LOGGER = "allennlp_nef.data"


class Errors:
    """The errors of a split."""

    def __init__(self, limit: int) -> None:
        self.count = 0
        self.first: list[str] = []
        """At most `limit`."""
        self._limit = limit

    def add(self, error: DataFormatError) -> None:
        """Counts an error."""
        self.count += 1
        if self.count <= self._limit:
            self.first.append(str(error))


class Found(NamedTuple):
    """What was read of a split."""

    split: Split
    statistics: Statistics
    used: list[int]
    """The numbers of the sentences that a training takes, from 0."""
    sample: list[Any]
    """Examples of some of these."""
    errors: Errors
    warnings: list[str]


def check_data(args: argparse.Namespace) -> Iterator[str]:
    """
    Yields the report.

    # Raises

    `UserError`: a wrong option or config, a file that is missing. `DataCheckError`, after the report: errors in data.
    """
    config, splits = splits_of(args)
    found = [_read(split, args.max_errors) for split in splits]
    results = _results(config, found)
    yield json.dumps(results, indent=2) if args.json else as_text(results)
    number = sum(each.errors.count for each in found)
    if number:
        raise DataCheckError(
            f"expected data without errors, got {number} error{'s' * (number > 1)}"
        )


def _read(split: Split, max_errors: int) -> Found:
    reader, errors, statistics = split.reader, Errors(max_errors), Statistics()
    used: list[int] = []
    sample: list[Any] = []
    draw = random.Random(0)
    reader.on_error = errors.add
    with _warnings() as warnings:
        view = view_of(reader, split.path)
        try:
            for number, example in enumerate(reader.examples(split.path)):  # type: ignore[arg-type]
                if len(used) == reader.max_instances:
                    break
                statistics.add(view(example))
                if reader.is_too_long(example):
                    continue
                used.append(number)
                if len(sample) < SAMPLE:
                    sample.append(example)
                elif draw.random() * len(used) < SAMPLE:
                    sample[draw.randrange(SAMPLE)] = example
        except FileError:
            raise
        except DataFormatError as error:  # after which there is nothing to go on with
            errors.add(error)
    return Found(split, statistics, used, sample, errors, warnings)


def _facts(path: str) -> dict[str, Any]:
    """What the bytes of a file say before they are decoded."""
    data = read_bytes(path)
    return {
        "path": path,
        "bytes": len(data),
        "byte_order_mark": data.startswith(codecs.BOM_UTF8),
        "crlf": b"\r\n" in data,
    }


@contextmanager
def _warnings() -> Iterator[list[str]]:
    """The messages that readers log meanwhile, for the report in place of the log."""

    class Handler(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            messages.append(record.getMessage())

    messages: list[str] = []
    logger, handler = logging.getLogger(_LOGGER), Handler(logging.WARNING)
    propagate, logger.propagate = logger.propagate, False
    logger.addHandler(handler)
    try:
        yield messages
    finally:
        logger.removeHandler(handler)
        logger.propagate = propagate


def _results(config: dict[str, Any], found: list[Found]) -> dict[str, Any]:
    training = next((each.statistics for each in found if each.split.name == "train"), None)
    data = {
        each.split.name: {
            "path": each.split.path,
            "files": [_facts(file) for file in files_of(each.split.reader, each.split.path)],
            **each.statistics.as_json(),
            "left_out_sentences": len(each.statistics.lengths) - len(each.used),
            **_unseen(each.statistics, training),
            "overlap": {
                other.split.name: each.statistics.overlap(other.statistics)
                for other in found[:number]
            },
            "warnings": each.warnings,
            "errors": {"count": each.errors.count, "first": each.errors.first},
        }
        for number, each in enumerate(found)
    }
    used = {
        each.split.name: (each.split.reader, each.statistics, each.used, each.sample)
        for each in found
        if each.split.name != "test"
    }
    return {"data": data, "training": training_needs(config, used)}


def _unseen(statistics: Statistics, training: Statistics | None) -> dict[str, Any]:
    """What the training data lack; nothing for the training data themselves."""
    if training is None or training is statistics:
        return {}
    labels = statistics.labels.most_common() if training.labels else ()
    return {
        "unseen": statistics.unseen(training),
        "unseen_labels": {label: count for label, count in labels if label not in training.labels},
    }
