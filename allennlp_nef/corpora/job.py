"""Tags the files of a corpus: plans shards, tags those whose parts are missing, and notes what is there.

The output folder has a file for each part, which is there when it is whole; `MANIFEST`, what the parts are of; and
`PARTS`, a line for each part. The run that works in the folder has the lock of `PARTS`.
"""

import fcntl
import json
import os
import platform
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from itertools import chain, islice
from pathlib import Path
from typing import Any, TextIO

import torch
from tqdm import tqdm  # type: ignore[import-untyped]

from allennlp_nef.corpora.parts import (
    DRAFT,
    Record,
    ShardTagger,
    cannot_write,
    digest_of_archive,
    part_name,
    writing_file,
)
from allennlp_nef.corpora.ray_workers import ray_records
from allennlp_nef.corpora.shards import Input, Shard, plan
from allennlp_nef.errors import UserError
from allennlp_nef.version import VERSION

MANIFEST = "_manifest.json"
PARTS = "_parts.jsonl"
SHOWN = 5
"""How many messages about sentences are shown."""


@dataclass
class Job:
    """What is tagged, how, and by how many processes."""

    archive: str
    inputs: Sequence[tuple[str, str]]
    """A path and a format each, all of one format."""
    output: Path
    output_format: str
    options: dict[str, Any]
    """Those of the `RowTagger` that change the output."""
    shard_size: int = 2000
    workers: int = 0
    """Processes of Ray; 0 for this process alone."""
    address: str | None = None
    """Of a cluster of Ray."""
    threads: int = 1
    """Of torch, in each process."""
    cuda_device: int = -1
    trust: bool = False
    """Whether the archive may run code."""

    def tagger_arguments(self, inputs: Sequence[Input], digest: str) -> dict[str, Any]:
        """The arguments of the `ShardTagger`."""
        options = {**self.options, "archive": self.archive, "threads": self.threads}
        # Ray shows each process its own GPU, as the first one.
        device = min(self.cuda_device, 0) if self.workers else self.cuda_device
        return {
            "inputs": inputs,
            "output": str(self.output),
            "output_format": self.output_format,
            "digest": digest,
            "tagger": {**options, "cuda_device": device, "trust": self.trust},
        }

    def manifest(self, inputs: Sequence[Input], shards: Sequence[Shard]) -> dict[str, Any]:
        """What the parts are of, for `MANIFEST`."""
        described = []
        for source in inputs:
            files = {part: file._asdict() for part, file in source.files.items()}
            described.append({**source._asdict(), "files": files})
        return {
            "archive": {"path": self.archive, "sha256": digest_of_archive(self.archive)},
            "inputs": described,
            "settings": {
                "output_format": self.output_format,
                "shard_size": self.shard_size,
                **self.options,
            },
            "versions": {
                "allennlp_nef": VERSION,
                "torch": torch.__version__,
                "python": platform.python_version(),
            },
            "sentences": sum(shard.sentences for shard in shards),
            "parts": len(shards),
        }


@dataclass
class Figures:
    """What the output folder holds, and how fast this run was."""

    output: str
    format: str
    sentences: int
    errors: int
    parts: int
    parts_before: int
    """How many of them were there before this run."""
    seconds: float
    sentences_per_second: float | None
    """Null where nothing was left to do."""


def tag_corpus(job: Job, say: Callable[[str], None]) -> Figures:
    """Does the job.

    # Parameters

    job : `Job`
    say : `Callable[[str], None]`
        Gets lines for the user.

    # Raises

    `UserError`: a mistake in the options, the archive or the inputs, other parts in the folder, no sentence that can be
    tagged.
    """
    inputs, shards = plan(job.inputs, job.shard_size)
    manifest = job.manifest(inputs, shards)
    _check_folder(job.output, manifest)
    with _locked(job.output) as notes:
        records = _read_records(job.output)
        before = len(records)
        todo = [
            shard for shard in shards if part_name(shard.number, job.output_format) not in records
        ]
        if before:
            others = f"tagging the other {len(todo)}" if todo else "nothing is missing"
            say(f"{job.output}: {before} of {len(shards)} parts are there, {others}")
        started = time.monotonic()
        if todo:
            arguments = job.tagger_arguments(inputs, manifest["archive"]["sha256"])
            tagger = ShardTagger(**arguments)  # also where others tag: it finds mistakes
            for path in job.output.glob(f"{DRAFT}*"):
                path.unlink()
            _write_json(job.output / MANIFEST, manifest)
            if not before:
                notes.truncate(0)  # of another plan, whose parts are gone
            tagger.warn_about(todo)
            if job.workers:
                del tagger
                has_gpu = job.cuda_device >= 0
                ray_options = (job.workers, job.threads, has_gpu, job.address)
                with ray_records(arguments, todo, *ray_options) as tagged:
                    _follow(tagged, todo, records, notes)
            else:
                _follow(map(tagger.tag, todo), todo, records, notes)
        seconds = time.monotonic() - started
        figures = Figures(
            output=str(job.output),
            format=job.output_format,
            sentences=_count(records, "sentences"),
            errors=_count(records, "errors"),
            parts=len(records),
            parts_before=before,
            seconds=seconds,
            sentences_per_second=sum(shard.sentences for shard in todo) / seconds if todo else None,
        )
        messages = list(
            islice(
                chain.from_iterable(records[part]["messages"] for part in sorted(records)), SHOWN
            )
        )
        if figures.errors == figures.sentences:
            for name in (*records, MANIFEST):  # for the corrected command
                (job.output / name).unlink(missing_ok=True)
            raise UserError(f"{job.output}: no sentence could be tagged: {messages[0]}")
        if todo:
            _write_json(job.output / MANIFEST, {**manifest, "figures": asdict(figures)})
    for message in messages:
        say(f"not tagged: {message}")
    if figures.errors > len(messages):
        hidden = figures.errors - len(messages)
        say(f"not tagged: {hidden} more; {job.output / PARTS} has the messages")
    return figures


def _follow(
    tagged: Iterator[Record], todo: Sequence[Shard], records: dict[str, Record], notes: TextIO
) -> None:
    """Notes each part that is done, and shows how far the work is."""
    is_terminal = sys.stderr is not None and sys.stderr.isatty()
    done = _count(records, "sentences")
    with tqdm(
        total=done + sum(shard.sentences for shard in todo),
        initial=done,
        unit=" sentences",
        mininterval=0.5 if is_terminal else 30,
    ) as progress:
        for record in tagged:
            try:
                notes.write(json.dumps(record) + "\n")
                notes.flush()
            except OSError as error:
                raise cannot_write(Path(notes.name), error) from error
            records[record["part"]] = _shortened(record)
            errors = _count(records, "errors")
            if errors:
                progress.set_postfix(errors=errors, refresh=False)
            progress.update(record["sentences"])


@contextmanager
def _locked(folder: Path) -> Iterator[TextIO]:
    """`PARTS` of a folder, open to add lines, while no other run has it. At the end it is removed where no part is.

    # Raises

    `UserError`: another run has the folder.
    """
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / PARTS
    # A file that is open for writing: on a network file system, the lock of a folder may hold for one host alone.
    with open(path, "a", encoding="utf-8") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise UserError(
                f"{folder}: expected a folder that no other run writes to, got one that is in use"
            ) from error
        try:
            if path.read_bytes()[-1:] not in (b"", b"\n"):  # a run was killed while it wrote
                file.write("\n")
            yield file
        finally:
            if not any(folder.glob("part-[0-9]*")):
                path.unlink(missing_ok=True)
            if not os.listdir(folder):
                folder.rmdir()


def _check_folder(folder: Path, manifest: Mapping[str, Any]) -> None:
    """Raises a `UserError` for a folder with other files, or with parts of something else: it names what differs."""
    path = folder / MANIFEST
    if not path.exists():
        own = (DRAFT, PARTS)
        if folder.exists() and any(not name.startswith(own) for name in os.listdir(folder)):
            raise UserError(
                f"{folder}: expected a new or empty folder, or one that {MANIFEST} is in, got other files"
            )
        return
    try:
        old = _described(json.loads(path.read_text(encoding="utf-8")))
    except (AttributeError, KeyError, OSError, RecursionError, TypeError, ValueError) as error:
        raise UserError(f"{path}: expected a manifest of tag-corpus, got another file") from error
    new = _described(manifest)
    for name in {**old, **new} if any(folder.glob("part-[0-9]*")) else ():
        before, now = old.get(name, "null"), new.get(name, "null")
        if before != now:
            raise UserError(
                f"{folder}: expected {name} {before}, as for the parts in the folder, got {now}: remove the folder, or "
                "name another --output"
            )


def _described(manifest: Mapping[str, Any]) -> dict[str, str]:
    """What has to be the same where the work goes on: for each thing, a text that differs where it does."""
    inputs = []
    for source in manifest["inputs"]:
        digests = [file["sha256"][:12] for _, file in sorted(source["files"].items())]
        inputs.append(f"{source['format']} SHA-256 {' '.join(digests)}")
    return {
        "the archive": f"SHA-256 {manifest['archive']['sha256'][:12]}",
        "the inputs": ", ".join(inputs),
        **{name: json.dumps(value) for name, value in manifest["settings"].items()},
    }


def _read_records(folder: Path) -> dict[str, Record]:
    """The records of the parts that are there. A damaged line is none: its part is made again."""
    records: dict[str, Record] = {}
    with open(folder / PARTS, encoding="utf-8", errors="replace") as file:
        for line in file:
            try:
                record = json.loads(line)
                part = folder / record["part"]
                if part.is_file() and part.stat().st_size == record["bytes"]:
                    records[part.name] = _shortened(record)
            except (KeyError, RecursionError, TypeError, ValueError):
                continue
    return records


def _shortened(record: Record) -> Record:
    """A record with the first messages alone, for the memory."""
    numbers = {name: int(record[name]) for name in ("sentences", "errors")}
    return {**numbers, "messages": list(record["messages"][:SHOWN])}


def _count(records: Mapping[str, Record], name: str) -> int:
    return sum(record[name] for record in records.values())


def _write_json(path: Path, content: Mapping[str, Any]) -> None:
    with writing_file(path) as draft:
        draft.write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")
