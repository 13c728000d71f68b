"""`allennlp-nef check-archive`: what archives hold, and whether loading them could run code."""

import argparse
import json
import os
import tempfile
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from allennlp_nef.errors import UserError, printable, quote, summary_of
from allennlp_nef.resources import ALIGNER_NAME, TRANSFORMER_NAME

SUMMARY = (
    "Show what archives hold, and whether loading them could run code; nothing of them is run."
)
DETAILS = """
Prints the members of each archive with their sizes in bytes, the type and the labels of the model, the versions that
saved it, and a line for each check:

    members     it is whole; all are files or folders, with different names inside of one folder, and not too large
    config      plain JSON; registered names as types; nothing to download or to run
    vocabulary  a folder of text files
    weights     tensors only
    other       meta.json, examples.jsonl and aligner.json.gz can be read
    files       no file outside of the archive is needed, such as a pretrained transformer or another archive

    %(prog)s model.tar.gz
    %(prog)s runs/*/model.tar.gz --json

Commands that load archives make the same checks, unless they get --trust. Name the packages whose components a model
has with --include-package, as there.

The exit status is 1 where a check fails, 2 where an archive cannot be found.
"""

READERS = ("dataset_reader", "validation_dataset_reader")
OF_TRANSFORMERS = ("transformer_pair", "word_pieces")
"""The types that take the transformer of an archive."""
FILE_OPTIONS = ("aligner", "archive_file", "override_weights_file", "pretrained_file")
"""Those that name a file which is read where a component is built."""
MAX_LABELS = 20
"""So many are printed as text."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "archives", metavar="ARCHIVE", nargs="+", help="archives of models, or the folders of runs"
    )
    parser.add_argument("--json", action="store_true", help="print a JSON array of reports")


def run(args: argparse.Namespace) -> Iterator[str]:
    """Yields the reports, and then ends the program with status 1 where a check failed."""
    reports = list(map(check_archive, args.archives))
    if args.json:
        yield json.dumps(reports, indent=2)
    else:
        for report in reports:
            yield from map(printable, _lines(report))
    if not all(check["passed"] for report in reports for check in report["checks"].values()):
        raise SystemExit(1)


def check_archive(archive: str) -> dict[str, Any]:
    """
    Checks an archive without running anything of it.

    # Parameters

    archive : `str`
        The path of an archive, or of the folder of a run.

    # Returns

    `dict[str, Any]`
        Its `members` with their sizes, what it holds, and `checks`: by name whether each `passed`, and the `problem`.
        `archives` are those that the model is built from.

    # Raises

    `UserError`: there is no such archive.
    """
    from allennlp_nef.cli.archive_files import fetched

    try:
        local = fetched(archive)
    except (OSError, ValueError) as error:
        raise UserError(f"{archive}: expected an archive, got {summary_of(error)}") from error
    report: dict[str, Any] = {
        "archive": archive,
        "members": {},
        **dict.fromkeys(("model", "reader", "labels", "tensors", "numbers")),
        "versions": {},
        "archives": [],
        "checks": {},
    }
    checks: dict[str, Callable[[dict[str, Any], Path], None]] = {
        "members": partial(_check_members, local=local),
        "config": _check_config,
        "vocabulary": _check_vocabulary,
        "weights": _check_weights,
        "other": _check_other,
        "files": _check_files,
    }
    with tempfile.TemporaryDirectory() as folder:
        if os.path.isdir(local):
            folder = local
        for name, check in checks.items():
            problem = None
            try:
                check(report, Path(folder))
            except Exception as error:  # noqa: BLE001  # each library has its own for damaged files
                problem = _problem_of(error, archive, folder)
            report["checks"][name] = {"passed": problem is None, "problem": problem}
            if name == "members" and problem is not None:
                break
    return report


def _problem_of(error: Exception, archive: str, folder: str) -> str:
    from allennlp_nef.predictors.archives import HINT

    kind = "" if isinstance(error, UserError) else f"{type(error).__name__}: "
    message = kind + summary_of(error)
    for known in (f"{archive}: ", f"; {HINT}", folder + os.sep):
        message = message.replace(known, "")
    return message


def _check_members(report: dict[str, Any], folder: Path, local: str) -> None:
    from allennlp_nef.predictors.archives import unpack

    if local != str(folder):
        report["members"] = unpack(local, str(folder), report["archive"])
        return
    for file in sorted(folder.rglob("*")):
        if file.is_file():
            report["members"][file.relative_to(folder).as_posix()] = file.stat().st_size


def _config_in(folder: Path) -> dict[str, Any]:
    """The config, as far as it can be read; `check_config` says what is wrong."""
    from allennlp.models.archival import CONFIG_NAME

    from allennlp_nef.predictors.archives import read_config

    try:
        return read_config((folder / CONFIG_NAME).read_text(encoding="utf-8"))
    except (FileNotFoundError, ValueError):
        return {}


def _check_config(report: dict[str, Any], folder: Path) -> None:
    from allennlp.models.archival import CONFIG_NAME

    from allennlp_nef.predictors.archives import check_config

    if not (folder / CONFIG_NAME).is_file():
        raise UserError(f"expected a file {CONFIG_NAME}, got none")
    config = _config_in(folder)
    for fact, name in (("model", "model"), ("reader", "dataset_reader")):
        part = config.get(name)
        report[fact] = part.get("type") if isinstance(part, dict) else part
    archives = [part.get("archive_file") for _, part in _objects_in(config)]
    report["archives"] = [path for path in archives if isinstance(path, str)]
    check_config(str(folder / CONFIG_NAME), report["archive"])


def _check_vocabulary(report: dict[str, Any], folder: Path) -> None:
    files = {
        file.stem: file.read_text(encoding="utf-8").splitlines()
        for file in (folder / "vocabulary").glob("*.txt")
    }
    if "non_padded_namespaces" not in files:
        raise UserError("expected a folder with non_padded_namespaces.txt, got none")
    report["labels"] = files.get("labels")


def _check_weights(report: dict[str, Any], folder: Path) -> None:
    import torch
    from allennlp.models.archival import get_weights_path

    from allennlp_nef.saved_versions import versions_of
    from allennlp_nef.tensor_files import load_tensors

    state = load_tensors(get_weights_path(str(folder)), map_location="cpu")
    tensors = state.values() if isinstance(state, dict) else ()
    if not tensors or not all(isinstance(tensor, torch.Tensor) for tensor in tensors):
        raise UserError("expected a dict of tensors, got another object")
    report.update(tensors=len(tensors), numbers=sum(tensor.numel() for tensor in tensors))
    report["versions"] = {name: str(version) for name, version in versions_of(state).items()}


def _check_other(report: dict[str, Any], folder: Path) -> None:
    from allennlp.common.meta import META_NAME, Meta

    from allennlp_nef.data.aligners import load_aligner
    from allennlp_nef.data.saved_examples import read_saved_examples

    if (folder / META_NAME).exists():
        report["versions"]["AllenNLP"] = str(Meta.from_path(folder / META_NAME).version)
    if (folder / ALIGNER_NAME).exists():
        load_aligner(str(folder / ALIGNER_NAME))
    read_saved_examples(folder)


def _check_files(report: dict[str, Any], folder: Path) -> None:
    from allennlp_nef.predictors.archives import built_parts
    from allennlp_nef.pretrained import ENCODER_WEIGHTS_NAME

    transformer = folder / TRANSFORMER_NAME
    has_transformer = (transformer / "config.json").exists() and any(transformer.glob("tokenizer*"))
    has_encoder = (transformer / ENCODER_WEIGHTS_NAME).exists()
    held = {"aligner"} if (folder / ALIGNER_NAME).exists() else set()
    built = built_parts(_config_in(folder))
    for place, part in _objects_in({name: built.get(name) for name in (*READERS, "model")}):
        needed = {
            option: f"the file {quote(part[option])}"
            for option in FILE_OPTIONS
            if option not in held and isinstance(part.get(option), str)
        }
        is_ours = str(part.get("type")) in OF_TRANSFORMERS
        is_held = has_transformer and (has_encoder or part.get("save_weights", True))
        if (is_ours and not is_held) or (not is_ours and "model_name" in part):
            name = quote(part["model_name"]) if "model_name" in part else "of its default"
            needed = {"model_name": f"the pretrained transformer {name}", **needed}
        for option, what in needed.items():
            raise UserError(f"{place}.{option}: needs {what}, which is not in the archive")


def _objects_in(config: Any, place: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    """The objects of a config with their places, such as `model.encoder`."""
    from allennlp_nef.predictors.archives import items_of

    if isinstance(config, dict):
        yield place, config
    for key, part in items_of(config):
        yield from _objects_in(part, f"{place}.{key}".lstrip("."))


def _lines(report: Mapping[str, Any]) -> Iterator[str]:
    """The report as text."""
    members, labels, tensors = (report[name] for name in ("members", "labels", "tensors"))
    yield f"{report['archive']}: {len(members)} files, {sum(members.values()):,} bytes"
    for name, size in members.items():
        yield f"    {size:>13,}  {name}"
    lines = {name: report[name] for name in ("model", "reader")}
    if labels:
        dots = ["..."] if len(labels) > MAX_LABELS else []
        lines["labels"] = f"{len(labels)}: {', '.join([*labels[:MAX_LABELS], *dots])}"
    if tensors:
        lines["weights"] = f"{tensors} tensors, {report['numbers']:,} numbers"
    lines["saved with"] = ", ".join(map(" ".join, report["versions"].items()))
    lines["built from"] = ", ".join(report["archives"])
    for name, line in lines.items():
        if line:
            yield f"  {name:<12}{line}"
    for name, check in report["checks"].items():
        yield f"  {name:<12}" + ("passed" if check["passed"] else f"FAILED: {check['problem']}")
