"""The work of `ensemble`."""

import argparse
import json
import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from allennlp.common import Params
from allennlp.common.checks import ConfigurationError
from allennlp.common.params import remove_keys_from_params
from allennlp.data import Vocabulary

from allennlp_nef.commands.archive_files import (
    check_output,
    local_path,
    read_config,
    read_file,
    write_archive,
)
from allennlp_nef.errors import UserError, quote, summary_of
from allennlp_nef.models import NefTaggerEnsemble
from allennlp_nef.predictors.archives import load_predictor
from allennlp_nef.resources import ALIGNER_NAME

logger = logging.getLogger(__name__)

TRAINING_OPTIONS = ("max_instances", "weighting")
"""Of a dataset reader: members may differ in them, since they change nothing in what is predicted."""


def write_ensemble(args: argparse.Namespace) -> Iterator[str]:
    """Writes the archive, and yields what to print."""
    paths = args.archives
    check_output(args.output, *paths)
    if len(paths) < 2:
        raise UserError(f"ARCHIVE: expected two archives or more, got {len(paths)}")
    for number, path in enumerate(paths):
        if local_path(path) in map(local_path, paths[:number]):
            raise UserError(f"ARCHIVE: expected different archives, got {path} twice")
    predictors = [load_predictor(path, trust=args.trust) for path in paths]
    configs = [read_config(path) for path in paths]
    members = [predictor._model for predictor in predictors]
    parts = [_parts(config, each.vocab) for config, each in zip(configs, members)]
    for path, member in zip(paths, members):
        if isinstance(member, NefTaggerEnsemble):
            raise UserError(f"{path}: expected a tagger, got an ensemble; name its members instead")
    for path, each in zip(paths[1:], parts[1:]):
        difference = _first_difference(parts[0], each)
        if difference:
            name, expected, got = difference
            raise UserError(
                f"{path}: {name}: expected {quote(expected)} as in {paths[0]}, got {quote(got)}"
            )
        if read_file(path, ALIGNER_NAME) != read_file(paths[0], ALIGNER_NAME):
            logger.warning(
                "%s: its %s is not that of %s, which the ensemble gets.",
                *(path, ALIGNER_NAME, paths[0]),
            )
    reader = predictors[0]._dataset_reader
    model: dict[str, Any] = {
        "type": "nef_tagger_ensemble",
        "members": [_member(config["model"]) for config in configs],
        "weights": args.weights,
        "constraints": getattr(reader, "tag_scheme", None) if members[0].has_chunks else None,
    }
    try:
        ensemble = NefTaggerEnsemble(
            members[0].vocab, list(members), model["weights"], model["constraints"]
        )
    except ConfigurationError as error:
        raise UserError(summary_of(error)) from error
    if "metrics" in configs[0]["model"]:
        model["metrics"] = configs[0]["model"]["metrics"]
    output = Path(args.output)
    output.parent.mkdir(parents=True, exist_ok=True)
    write_archive(paths[0], output, model, ensemble.state_dict())
    titles = [predictor.description()["title"] for predictor in predictors]
    results = {
        "members": [
            {"archive": path, "title": title, "weight": weight, "parameters": _size(member)}
            for path, title, weight, member in zip(paths, titles, ensemble.weights, members)
        ],
        "parameters": _size(ensemble),
        "bytes": output.stat().st_size,
        "output": args.output,
    }
    yield json.dumps(results, indent=2) if args.json else _as_text(results)


def _parts(config: dict[str, Any], vocab: Vocabulary) -> dict[str, Any]:
    """What the members have to have in common."""
    readers = {
        name: {key: value for key, value in config[name].items() if key not in TRAINING_OPTIONS}
        for name in ("dataset_reader", "validation_dataset_reader")
        if config.get(name)
    }
    names = sorted(vocab.get_namespaces())
    words = {name: vocab.get_index_to_token_vocabulary(name) for name in names}
    return {**readers, "vocabulary": words}


def _first_difference(one: Any, other: Any, name: str = "") -> tuple[str, Any, Any] | None:
    """The name of the first value in which nested dicts differ, and both values; None where they do not."""
    if not (isinstance(one, dict) and isinstance(other, dict)):
        return None if one == other else (name, one, other)
    for key in dict.fromkeys([*one, *other]):
        inner = f"{name}.{key}" if name else str(key)
        difference = _first_difference(one.get(key), other.get(key), inner)
        if difference:
            return difference
    return None


def _member(model: dict[str, Any]) -> dict[str, Any]:
    """The config of a member: without metrics, and without what AllenNLP leaves out where it loads a model."""
    params = Params({name: value for name, value in model.items() if name != "metrics"})
    remove_keys_from_params(params)
    return params.as_dict(quiet=True)


def _size(model: Any) -> int:
    return sum(each.numel() for each in model.parameters())


def _as_text(results: dict[str, Any]) -> str:
    lines = [
        f"{each['archive']}: {each['title']}, {each['parameters']:,} parameters, weight {each['weight']:.3g}"
        for each in results["members"]
    ]
    lines.append(
        f"wrote {results['output']}: {len(lines)} members, {results['parameters']:,} parameters, "
        f"{results['bytes']:,} bytes"
    )
    return "\n".join(lines)
