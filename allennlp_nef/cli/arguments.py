"""Arguments of the commands: those that several commands have, and the parsers of their values."""

import argparse
import errno
import math
import os
from collections.abc import Callable
from inspect import signature
from typing import Any

from allennlp_nef.data.files import parse_object
from allennlp_nef.errors import UserError, quote

ARCHIVE_HELP = "model archive, run folder, or packaged model, such as qe-multilingual"
PREDICTOR_OPTIONS = """\
    threshold        quality estimation: minimum probability of BAD for tagging a word BAD, or "adaptive"
    min_probability  tagger: leave out spans with a lower probability, such as 0.8
    tokenizer        tagger: how to split sentences, such as "just_spaces" (default: as in training)
    keep_fields      true: answers repeat the other fields of their requests
    max_tokens       maximum number of words in a sentence (default = 1000)
"""


def options_of(args: argparse.Namespace, function: Callable[..., Any]) -> dict[str, Any]:
    """Returns the command line options that are parameters of a function."""
    return {
        name: value for name, value in vars(args).items() if name in signature(function).parameters
    }


_OF_COMMANDS = {
    *("archive", "path", "name", "cuda_device", "overrides", "trust", "reader"),
    *("page", "columns", "fields", "include_package"),
}
"""The parameters of functions that also take the options of a predictor."""


def json_object(text: str) -> dict[str, Any]:
    """Parses a JSON object, as the `type` of an argument."""
    try:
        return parse_object(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from error


def predictor_args(text: str) -> dict[str, Any]:
    """Parses the options in `--predictor-args`, none of which is an option of the command."""
    options = json_object(text)
    if taken := sorted(options.keys() & _OF_COMMANDS):
        raise argparse.ArgumentTypeError(f"not an option of the predictor: {', '.join(taken)}")
    if options.get("threshold") is not None:  # a wrong one is noticed before the model is loaded
        threshold(str(options["threshold"]))
    return options


def read_config(path: str, overrides: str = "") -> dict[str, Any]:
    """Reads a Jsonnet config, with overrides."""
    from allennlp.common import Params

    if os.path.isdir(path):  # Jsonnet would abort
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), path)
    config: Any = Params.from_file(path, overrides).params
    if not isinstance(config, dict):
        raise UserError(f"{path}: expected an object, got {quote(config)}")
    return config


def positive(text: str) -> int:
    """Parses an integer of at least 1, as the `type` of an argument."""
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError(f"expected an integer of at least 1, got {text}")
    return value


def add_trust(parser: argparse.ArgumentParser) -> None:
    """Adds `--trust` to a command that loads archives."""
    parser.add_argument(
        "--trust",
        action="store_true",
        help="skip the safety checks (the archive can run arbitrary code); only for archives you trust",
    )


def add_archive(parser: argparse.ArgumentParser) -> None:
    """Adds the argument ARCHIVE, and `--trust`."""
    parser.add_argument("archive", metavar="ARCHIVE", help=ARCHIVE_HELP)
    add_trust(parser)


def add_cuda_device(parser: argparse.ArgumentParser) -> None:
    """Adds `--cuda-device` to a command that runs a model."""
    parser.add_argument(
        "--cuda-device", type=int, default=-1, metavar="I", help="GPU number, or -1 for the CPU"
    )


def add_batches(parser: argparse.ArgumentParser) -> None:
    """Adds `--batch-size` and `--cuda-device` to a command that runs a model."""
    parser.add_argument(
        "--batch-size", type=positive, default=64, metavar="N", help="sentences in a batch"
    )
    add_cuda_device(parser)


def add_predictor_args(parser: argparse.ArgumentParser) -> None:
    """Adds `--predictor-args`."""
    parser.add_argument(
        "--predictor-args",
        type=predictor_args,
        default={},
        metavar="JSON",
        help="""options of the predictor, such as '{"max_tokens": 200}'""",
    )


def add_predictor(parser: argparse.ArgumentParser) -> None:
    """Adds ARCHIVE, and the options of a command that loads any predictor."""
    add_archive(parser)
    add_predictor_args(parser)
    add = parser.add_argument
    add("--predictor", metavar="NAME", help="predictor (default = the model's own)")
    add("-o", "--overrides", default="", metavar="JSON", help="changes to the archive's config")
    add_cuda_device(parser)


def threshold(text: str) -> float | str:
    """Parses the value of `--threshold`."""
    if text == "adaptive":
        return text
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 0 <= value <= 1:
        raise argparse.ArgumentTypeError(f"expected a number from 0 to 1, or adaptive, got {text}")
    return value


def add_threshold(parser: argparse.ArgumentParser) -> None:
    """Adds `--threshold` to a command that predicts with a quality estimator."""
    parser.add_argument(
        "--threshold",
        type=threshold,
        metavar="NUMBER",
        help="quality estimation: minimum probability of BAD for tagging a word BAD (default = the model's), or "
        "'adaptive': the one with the highest expected MCC over the whole input",
    )
