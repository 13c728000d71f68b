"""Tags the files of a corpus: plans shards, tags those whose parts are missing, and notes what is there."""

import platform
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch
from tqdm import tqdm  # type: ignore[import-untyped]

from allennlp_nef.bulk.manifest import (
    OutputFolder,
    Plan,
    Record,
    digest_of_archive,
    locked,
    part_name,
)
from allennlp_nef.bulk.ray_workers import ray_records
from allennlp_nef.bulk.shard_tagger import ShardTagger
from allennlp_nef.bulk.shards import Input, Shard, plan
from allennlp_nef.errors import UserError
from allennlp_nef.version import VERSION


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

    def plan(self, inputs: Sequence[Input], shards: Sequence[Shard]) -> Plan:
        """The content of the manifest."""
        described = []
        for each in inputs:
            files = {part: file._asdict() for part, file in each.files.items()}
            described.append({**each._asdict(), "files": files})
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
    with locked(job.output):
        planned = job.plan(inputs, shards)
        folder = OutputFolder(job.output, planned)
        before = len(folder.records)
        parts = {part_name(shard.number, job.output_format): shard for shard in shards}
        todo = [shard for part, shard in parts.items() if part not in folder.records]
        if before:
            rest = f"tagging the other {len(todo)}" if todo else "nothing is missing"
            say(f"{job.output}: {before} of {len(shards)} parts are there, {rest}")
        started = time.monotonic()
        if todo:
            _tag(job, job.tagger_arguments(inputs, planned["archive"]["sha256"]), todo, folder)
        seconds = time.monotonic() - started
        figures = Figures(
            output=str(job.output),
            format=job.output_format,
            sentences=folder.count("sentences"),
            errors=folder.count("errors"),
            parts=len(folder.records),
            parts_before=before,
            seconds=seconds,
            sentences_per_second=sum(each.sentences for each in todo) / seconds if todo else None,
        )
        messages = folder.messages()
        if figures.errors == figures.sentences:
            folder.clear()  # for the corrected command
            raise UserError(f"{job.output}: no sentence could be tagged: {messages[0]}")
        if todo:
            folder.write({"figures": asdict(figures)})
    for message in messages:
        say(f"not tagged: {message}")
    if figures.errors > len(messages):
        say(f"not tagged: {figures.errors - len(messages)} more; {folder.parts} has the messages")
    return figures


def _tag(
    job: Job, arguments: Mapping[str, Any], shards: Sequence[Shard], folder: OutputFolder
) -> None:
    tagger = ShardTagger(**arguments)  # also where others tag: it finds mistakes
    folder.start()
    tagger.warn_about(shards)
    if not job.workers:
        _follow(map(tagger.tag, shards), shards, folder)
        return
    del tagger
    has_gpu = job.cuda_device >= 0
    with ray_records(arguments, shards, job.workers, job.threads, has_gpu, job.address) as records:
        _follow(records, shards, folder)


def _follow(records: Iterator[Record], shards: Sequence[Shard], folder: OutputFolder) -> None:
    """Notes each part that is done, and shows how far the work is."""
    is_terminal = sys.stderr is not None and sys.stderr.isatty()
    done = folder.count("sentences")
    with tqdm(
        total=done + sum(shard.sentences for shard in shards),
        initial=done,
        unit=" sentences",
        mininterval=0.5 if is_terminal else 30,
    ) as progress:
        for record in records:
            folder.add(record)
            errors = folder.count("errors")
            if errors:
                progress.set_postfix(errors=errors, refresh=False)
            progress.update(record["sentences"])
