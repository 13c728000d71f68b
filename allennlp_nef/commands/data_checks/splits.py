import argparse
import json
from typing import Any, NamedTuple

from allennlp.common import Params
from allennlp.common.checks import ConfigurationError
from allennlp.data import DatasetReader

from allennlp_nef.commands.configs import config_of, overridden
from allennlp_nef.data.dataset_readers import TaggingReader, WmtWordQeReader
from allennlp_nef.data.formats.data_paths import DataPath
from allennlp_nef.errors import UserError, quote, summary_of

NAMES = ("train", "validation", "test")


class Split(NamedTuple):
    """The training, validation or test data."""

    name: str
    """One of `NAMES`."""
    path: DataPath
    reader: TaggingReader


def splits_of(args: argparse.Namespace) -> tuple[dict[str, Any], list[Split]]:
    """
    The config, and the data that it or the options name.

    # Raises

    `UserError`: neither a config nor a reader, or both; no data; a reader of another package.
    """
    if (args.config is None) == (args.reader is None):
        got = "neither" if args.config is None else "both"
        raise UserError(f"expected either a config or --reader, got {got}")
    given = {name: _path(getattr(args, name)) for name in NAMES if getattr(args, name)}
    if args.config is None:
        config = overridden({"dataset_reader": {"type": args.reader}}, args.overrides)
    else:
        config = config_of(args.config, args.overrides)
    paths = {name: given.get(name, config.get(f"{name}_data_path")) for name in NAMES}
    splits = [
        Split(name, path, _reader(config, is_training=name == "train"))
        for name, path in paths.items()
        if path
    ]
    for split in splits:
        if isinstance(split.path, dict) and not isinstance(split.reader, WmtWordQeReader):
            raise UserError(f"{split.name}: expected the path of a file, got {quote(split.path)}")
    if not splits:
        raise UserError("expected data (--train, --dev or --test), got none")
    return config, splits


def _path(text: str) -> DataPath:
    """A path, or the paths of parts as a JSON object."""
    try:
        paths = json.loads(text)
    except (RecursionError, ValueError):
        return text
    return paths if isinstance(paths, dict) else text


def _reader(config: dict[str, Any], is_training: bool) -> TaggingReader:
    name = "dataset_reader"
    if not is_training and config.get(f"validation_{name}"):
        name = f"validation_{name}"
    params = config.get(name)
    if not isinstance(params, dict):
        raise UserError(f"{name}: expected an object with the type of a reader, got {params!r}")
    try:
        kind, _ = DatasetReader.resolve_class_name(str(params.get("type")))
        if not (isinstance(kind, type) and issubclass(kind, TaggingReader)):
            raise UserError(
                f"{name}: expected a reader of tagged sentences, such as conll_tags, got {params['type']}"
            )
        reader: Any = DatasetReader.from_params(Params(dict(params)))
        return reader
    except ConfigurationError as error:
        raise UserError(f"{name}: {summary_of(error)}") from error
