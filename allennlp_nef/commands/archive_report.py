"""The work of `check-archive`."""

import argparse
import json
import os
import tempfile
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import torch
from allennlp.common.file_utils import cached_path
from allennlp.common.meta import META_NAME, Meta
from allennlp.models.archival import CONFIG_NAME, get_weights_path

from allennlp_nef.data.aligners import load_aligner
from allennlp_nef.data.saved_examples import read_examples
from allennlp_nef.errors import UserError, quote, summary_of
from allennlp_nef.predictors.archives import (
    HINT,
    built_parts,
    check_config,
    items_of,
    read_config,
    unpack,
)
from allennlp_nef.resources import ALIGNER_NAME, TRANSFORMER_NAME
from allennlp_nef.saved_versions import versions_of
from allennlp_nef.tensor_files import load_tensors
from allennlp_nef.text import printable

READERS = ("dataset_reader", "validation_dataset_reader")
OF_TRANSFORMERS = ("transformer_pair", "word_pieces")
"""The types that take the transformer of an archive."""
FILE_OPTIONS = ("aligner", "archive_file", "override_weights_file", "pretrained_file")
"""Those that name a file which is read where a component is built."""
MAX_LABELS = 20
"""So many are printed as text."""


def check_archives(args: argparse.Namespace) -> Iterator[str]:
    """Yields what to print, and then ends the program with status 1 where a check failed."""
    reports = [_Report(path) for path in args.archives]
    if args.json:
        yield json.dumps([report.as_json() for report in reports], indent=2)
    else:
        for report in reports:
            yield from map(printable, report.as_text())
    if any(report.failures for report in reports):
        raise SystemExit(1)


class _Report:
    """What an archive holds, and the results of its checks."""

    def __init__(self, path: str) -> None:
        try:
            local = cached_path(path)
        except (OSError, ValueError) as error:
            raise UserError(f"{path}: expected an archive, got {summary_of(error)}") from error
        self.path = path
        self.members: dict[str, int] = {}
        names = ("model", "reader", "labels", "tensors", "numbers")
        self.facts: dict[str, Any] = {**dict.fromkeys(names), "versions": {}, "archives": []}
        """`archives` are those that the model is built from."""
        self.checks: dict[str, str | None] = {}
        """What is wrong, or None, by the name of the check."""
        self._parsed: dict[str, Any] = {}
        """The config."""
        with tempfile.TemporaryDirectory() as folder:
            if os.path.isdir(local):
                folder = local
            if self._passes("members", lambda: self._read_members(local, folder), folder):
                checks = {
                    "config": self._config,
                    "vocabulary": self._vocabulary,
                    "weights": self._weights,
                    "other": self._other,
                    "files": self._files,
                }
                for name, check in checks.items():
                    self._passes(name, partial(check, Path(folder)), folder)

    @property
    def failures(self) -> list[str]:
        """The names of the checks that failed."""
        return [name for name, problem in self.checks.items() if problem is not None]

    def as_json(self) -> dict[str, Any]:
        checks = {
            name: {"passed": problem is None, "problem": problem}
            for name, problem in self.checks.items()
        }
        return {"archive": self.path, "members": self.members, **self.facts, "checks": checks}

    def as_text(self) -> Iterator[str]:
        yield f"{self.path}: {len(self.members)} files, {sum(self.members.values()):,} bytes"
        for name, size in self.members.items():
            yield f"    {size:>13,}  {name}"
        facts = self.facts
        labels, tensors = facts["labels"], facts["tensors"]
        lines = {name: facts[name] for name in ("model", "reader")}
        if labels:
            dots = ["..."] if len(labels) > MAX_LABELS else []
            lines["labels"] = f"{len(labels)}: {', '.join([*labels[:MAX_LABELS], *dots])}"
        if tensors:
            lines["weights"] = f"{tensors} tensors, {facts['numbers']:,} numbers"
        lines["saved with"] = ", ".join(map(" ".join, facts["versions"].items()))
        lines["built from"] = ", ".join(facts["archives"])
        for name, line in lines.items():
            if line:
                yield f"  {name:<12}{line}"
        for name, problem in self.checks.items():
            yield f"  {name:<12}{'passed' if problem is None else f'FAILED: {problem}'}"

    def _passes(self, name: str, check: Callable[[], None], folder: str) -> bool:
        try:
            check()
        except Exception as error:  # noqa: BLE001  # each library has its own for damaged files
            message = f"{type(error).__name__}: {summary_of(error)}"
            if isinstance(error, UserError):
                message = summary_of(error)
            for known in (f"{self.path}: ", f"; {HINT}", folder + os.sep):
                message = message.replace(known, "")
            self.checks[name] = message
            return False
        self.checks[name] = None
        return True

    def _read_members(self, path: str, folder: str) -> None:
        if path != folder:
            self.members = unpack(path, folder, self.path)
            return
        for file in sorted(Path(folder).rglob("*")):
            if file.is_file():
                self.members[file.relative_to(folder).as_posix()] = file.stat().st_size

    def _config(self, folder: Path) -> None:
        file = folder / CONFIG_NAME
        if not file.is_file():
            raise UserError(f"expected a file {CONFIG_NAME}, got none")
        try:
            config = read_config(file.read_text(encoding="utf-8"))
        except ValueError:
            config = {}  # `check_config` says what is wrong
        self._parsed = config
        for fact, name in (("model", "model"), ("reader", "dataset_reader")):
            part = config.get(name)
            self.facts[fact] = part.get("type") if isinstance(part, dict) else part
        self.facts["archives"] = list(_archive_files(config))
        check_config(str(file), self.path)

    def _vocabulary(self, folder: Path) -> None:
        files = {
            file.stem: file.read_text(encoding="utf-8").splitlines()
            for file in (folder / "vocabulary").glob("*.txt")
        }
        if "non_padded_namespaces" not in files:
            raise UserError("expected a folder with non_padded_namespaces.txt, got none")
        self.facts["labels"] = files.get("labels")

    def _weights(self, folder: Path) -> None:
        state = load_tensors(get_weights_path(str(folder)), map_location="cpu")
        tensors = state.values() if isinstance(state, dict) else ()
        if not tensors or not all(isinstance(each, torch.Tensor) for each in tensors):
            raise UserError("expected a dict of tensors, got another object")
        self.facts.update(tensors=len(tensors), numbers=sum(each.numel() for each in tensors))
        self.facts["versions"] = {name: str(each) for name, each in versions_of(state).items()}

    def _other(self, folder: Path) -> None:
        if (folder / META_NAME).exists():
            self.facts["versions"]["AllenNLP"] = str(Meta.from_path(folder / META_NAME).version)
        if (folder / ALIGNER_NAME).exists():
            load_aligner(str(folder / ALIGNER_NAME))
        read_examples(folder)

    def _files(self, folder: Path) -> None:
        transformer = folder / TRANSFORMER_NAME
        held = {"aligner"} if (folder / ALIGNER_NAME).exists() else set()
        if (transformer / CONFIG_NAME).exists() and any(transformer.glob("tokenizer*")):
            held.add(TRANSFORMER_NAME)
        built = built_parts(self._parsed)
        parts = {name: built.get(name) for name in (*READERS, "model")}
        for place, what in _outside_files(parts, held):
            raise UserError(f"{place}: needs {what}, which is not in the archive")


def _outside_files(config: Any, held: set[str], place: str = "") -> Iterator[tuple[str, str]]:
    """Where a part of a config names something outside of an archive, and what.

    # Parameters

    config
    held : `set[str]`
        What the archive holds: "aligner" and `TRANSFORMER_NAME`.
    """
    if isinstance(config, dict):
        kind = str(config.get("type"))
        is_ours = kind in OF_TRANSFORMERS
        is_held = TRANSFORMER_NAME in held and config.get("save_weights", True)
        if (is_ours and not is_held) or (not is_ours and "model_name" in config):
            name = quote(config["model_name"]) if "model_name" in config else "of its default"
            yield f"{place}.model_name", f"the pretrained transformer {name}"
        for option in {*FILE_OPTIONS} - held:
            if isinstance(config.get(option), str):
                yield f"{place}.{option}", f"the file {quote(config[option])}"
    for key, part in items_of(config):
        yield from _outside_files(part, held, f"{place}.{key}".lstrip("."))


def _archive_files(config: Any) -> Iterator[str]:
    if isinstance(config, dict) and isinstance(config.get("archive_file"), str):
        yield config["archive_file"]
    for _, part in items_of(config):
        yield from _archive_files(part)
