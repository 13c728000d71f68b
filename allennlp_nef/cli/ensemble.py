"""`allennlp-nef ensemble`: several taggers in one archive."""

import argparse
import json
import logging
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from allennlp_nef.cli.shared import (
    add_trust,
    add_with_encoder,
    call_with,
    check_outputs,
    checking,
    number,
)
from allennlp_nef.errors import UserError, quote, summary_of
from allennlp_nef.resources import ALIGNER_NAME

if TYPE_CHECKING:
    from allennlp.data import Vocabulary
    from torch.nn import Module

logger = logging.getLogger(__name__)

TRAINING_OPTIONS = ("max_instances", "weighting")
"""Of a dataset reader: members may differ in them, since they change nothing in what is predicted."""
SUMMARY = "Join several trained taggers into one archive, which averages their probabilities."
DETAILS = """
The new archive is used like that of one tagger: predict, evaluate, serve and calibrate take it. The taggers may have
other seeds or other layers, but they need the same dataset reader and the same vocabulary, so the same training data.
All other files, such as a word aligner, and the metrics are those of the first archive.

    %(prog)s runs/seed1/model.tar.gz runs/seed2/model.tar.gz --output ensemble.tar.gz
    %(prog)s runs/nef/model.tar.gz runs/bilstm/model.tar.gz --weights 2 1 --output ensemble.tar.gz

The probabilities that are averaged are those of the answers, so calibrated where a member is calibrated. The threshold
of a quality estimator is the mean of the members' thresholds, until the new archive is calibrated.

The exit status is 2 where an archive cannot be read, or the taggers do not fit together.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add(
        "archives",
        metavar="ARCHIVE",
        nargs="+",
        help="archives of trained taggers, or the folders of runs; two or more",
    )
    add("--output", metavar="FILE", required=True, help="the new archive; a file is overwritten")
    add(
        "--weights",
        metavar="W",
        nargs="+",
        type=number(0),
        help="numbers above 0, one for each archive (default = all equal)",
    )
    add("--json", action="store_true", help="print what was written as JSON")
    add_with_encoder(parser)
    add_trust(parser)


def run(args: argparse.Namespace) -> Iterator[str]:
    results = call_with(ensemble, args)
    if args.json:
        yield json.dumps(results, indent=2)
        return
    for member in results["members"]:
        size, weight = f"{member['parameters']:,} parameters", f"weight {member['weight']:.3g}"
        yield f"{member['archive']}: {member['title']}, {size}, {weight}"
    yield (
        f"wrote {results['output']}: {len(results['members'])} members, {results['parameters']:,} parameters, "
        f"{results['bytes']:,} bytes"
    )


@checking(add_arguments)
def ensemble(
    archives: Sequence[str],
    *,
    output: str,
    weights: Sequence[float] | None = None,
    with_encoder: bool = False,
    trust: bool = False,
) -> dict[str, Any]:
    """Joins taggers into one archive, which averages their probabilities.

    The parameters are the options of `allennlp-nef ensemble`, and the result is what it prints as JSON. Raises
    `UserError`.
    """
    from allennlp.common.checks import ConfigurationError

    from allennlp_nef.cli import archive_files
    from allennlp_nef.models import NefTaggerEnsemble
    from allennlp_nef.predictors.archives import load_predictor

    inputs = [path for archive in archives for path in archive_files.files_of(archive)]
    check_outputs({"output": output}, inputs)
    if len(archives) < 2:
        raise UserError(f"ARCHIVE: expected two archives or more, got {len(archives)}")
    first, *others = archives
    for i, path in enumerate(archives):
        if archive_files.local_path(path) in map(archive_files.local_path, archives[:i]):
            raise UserError(f"ARCHIVE: expected different archives, got {path} twice")
    predictors = [load_predictor(path, trust=trust) for path in archives]
    configs = [archive_files.read_config(path) for path in archives]
    members = [predictor._model for predictor in predictors]
    encoder = archive_files.encoder_of(first, members[0]) if with_encoder else None
    for path, member in zip(archives, members):
        if isinstance(member, NefTaggerEnsemble):
            raise UserError(f"{path}: expected a tagger, got an ensemble; name its members instead")
    parts = [_parts(config, member.vocab) for config, member in zip(configs, members)]
    for path, part in zip(others, parts[1:]):
        difference = _first_difference(parts[0], part)
        if difference:
            name, expected, got = difference
            raise UserError(
                f"{path}: {name}: expected {quote(expected)} as in {first}, got {quote(got)}"
            )
        if archive_files.read_file(path, ALIGNER_NAME) != archive_files.read_file(
            first, ALIGNER_NAME
        ):
            logger.warning(
                "%s: its %s is not that of %s, which the ensemble gets.",
                *(path, ALIGNER_NAME, first),
            )
    reader = predictors[0]._dataset_reader
    model: dict[str, Any] = {
        "type": "nef_tagger_ensemble",
        "members": [_member(config["model"]) for config in configs],
        "weights": weights,
        "constraints": getattr(reader, "tag_scheme", None) if members[0].has_chunks else None,
    }
    try:
        joined = NefTaggerEnsemble(
            members[0].vocab, list(members), model["weights"], model["constraints"]
        )
    except ConfigurationError as error:
        raise UserError(summary_of(error)) from error
    if "metrics" in configs[0]["model"]:
        model["metrics"] = configs[0]["model"]["metrics"]
    archive_files.write_archive(first, Path(output), model, joined.state_dict(), encoder)
    titles = [predictor.description()["title"] for predictor in predictors]
    return {
        "members": [
            {"archive": path, "title": title, "weight": weight, "parameters": _size(member)}
            for path, title, weight, member in zip(archives, titles, joined.weights, members)
        ],
        "parameters": _size(joined),
        "bytes": Path(output).stat().st_size,
        "output": output,
    }


def _parts(config: dict[str, Any], vocab: "Vocabulary") -> dict[str, Any]:
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
    from allennlp.common import Params
    from allennlp.common.params import remove_keys_from_params

    params = Params({name: value for name, value in model.items() if name != "metrics"})
    remove_keys_from_params(params)
    return params.as_dict(quiet=True)


def _size(model: "Module") -> int:
    return sum(weights.numel() for weights in model.parameters())
