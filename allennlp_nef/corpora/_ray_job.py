"""The job of `tag-corpus`: one Ray Data pipeline per input. Needs the `ray` extra."""

import codecs
import hashlib
import io
import json
import logging
import os
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from pathlib import PurePosixPath
from typing import Any

import numpy
import pyarrow
import ray
from allennlp.common.file_utils import cached_path
from allennlp.models.archival import get_weights_path
from pyarrow import parquet
from pyarrow.fs import FileSelector, FileSystem, FileType
from ray.data.block import BlockAccessor
from ray.data.datasource import BlockBasedFileDatasink, FileBasedDatasource

from allennlp_nef.corpora.tagger import ERROR, Tagger
from allennlp_nef.errors import UserError
from allennlp_nef.resources import archive_path

logger = logging.getLogger(__name__)

FORMATS = {".txt": "text", ".json": "json", ".jsonl": "json", ".parquet": "parquet"}
LINE = "line"
# The file with the settings in the folder of a finished input. Parquet readers ignore it.
MARKER = "_SUCCESS"
NUM_LINES = 4096  # read at once
BATCH_SIZE = 1024  # rows per call of the tagger
BLOCK_SIZE = 2**24  # bytes per task, which Ray retries if its worker dies


class LineSource(FileBasedDatasource):
    """Reads lines of text, as bytes.

    `ray.data.read_text` loads whole files, and also splits lines at characters such as U+2028.
    """

    def _read_stream(self, f: pyarrow.NativeFile, path: str) -> Iterator[pyarrow.Table]:
        lines = io.BufferedReader(f)
        if lines.peek(3).startswith(codecs.BOM_UTF8):
            lines.read(3)
        while batch := [line.rstrip(b"\r\n") for line in islice(lines, NUM_LINES)]:
            yield pyarrow.table({LINE: batch})


class LineSink(BlockBasedFileDatasink):
    """Writes lines of text."""

    def write_block_to_file(self, block: BlockAccessor, file: pyarrow.NativeFile) -> None:
        for line in block.to_arrow()[LINE].to_pylist():
            file.write(line.encode() + b"\n")


class LineTagger(Tagger):
    """A `Tagger` of lines: text or JSON objects in, JSON objects out. Bytes that are not UTF-8 become escapes, and
    their line gets an error.

    `ray.data.read_json` loads whole files, requires the same types in all lines, and turns some strings into dates.
    """

    def rows_of(self, batch: pyarrow.Table) -> list[dict[str, Any]]:
        return [self._row_of(line) for line in batch[LINE].to_pylist()]

    def __call__(self, batch: pyarrow.Table) -> pyarrow.Table:
        rows, tagged = self.rows_of(batch), []
        for row, answer in zip(rows, self.answers(rows)):
            new = {name: answer[name] for name in self.new_fields(row) if name in answer}
            result = {**row, **new, ERROR: answer.get(ERROR)}
            tagged.append(json.dumps(result, default=_decode, ensure_ascii=False))
        return pyarrow.table({LINE: tagged})

    def _row_of(self, line: bytes) -> dict[str, Any]:
        """Returns the row of a line. Lines that cannot be decoded or parsed stay bytes, which are not sentences."""
        is_text = self.predictor.input_format == "text"
        name = self.inputs[self.predictor.text_field] if is_text else LINE
        try:
            row = {name: line.decode()} if is_text else json.loads(line)
        except (ValueError, RecursionError):
            row = None
        return row if isinstance(row, dict) else {name: line}


def _decode(line: bytes) -> str:
    return line.decode("utf-8", "backslashreplace")


def tag_corpus(
    archive: str,
    inputs: Sequence[str],
    *,
    output: str,
    format: str | None = None,
    fields: Sequence[str] | None = None,
    columns: Mapping[str, str] | None = None,
    workers: int = 1,
    gpus_per_worker: float = 0,
    address: str | None = None,
    include_package: Sequence[str] = (),
    trust: bool = False,
    **options: Any,
) -> Iterator[str]:
    """Tags files with Ray Data, and yields the folder of each input when it is finished.

    # Parameters

    archive, fields, columns, include_package, trust, options
        See `Tagger`.
    inputs : `Sequence[str]`
        Files and folders, or addresses such as `s3://bucket/folder`.
    output : `str`
        The folder for the results. The rows of an input are written to the subfolder `<name of the input>.tagged`, in
        the order of its file names. Finished inputs are skipped.
    format : `str`, optional (default = `None`, by the ending of each input)
        "text", "json" or "parquet". Results are JSON, or Parquet for Parquet inputs.
    workers : `int`, optional (default = `1`)
        The number of tagging processes.
    gpus_per_worker : `float`, optional (default = `0`)
    address : `str`, optional (default = `None`, Ray starts on this machine)
        The address of a Ray cluster. Has no effect if Ray is already running in this process.

    # Raises

    `UserError`: an archive, inputs or options that cannot be used, an input that was finished with other options, or an
    input of which no row can be tagged.
    """
    archive = absolute(archive_path(archive))
    options |= {"archive": archive, "fields": fields, "columns": columns, "trust": trust}
    options["include_package"] = list(include_package)
    settings = json.dumps({**options, "sha256": checksum(archive)}, sort_keys=True).encode()
    is_adaptive = options.get("threshold") == "adaptive"
    if is_adaptive:
        options["threshold"] = None
    filesystem, folder = FileSystem.from_uri(absolute(output))
    jobs: dict[str, tuple[str, str]] = {}  # the path and the format of an input, by its folder
    for path in map(absolute, inputs):
        kind = format or FORMATS.get(PurePosixPath(path).suffix)
        if kind is None:
            raise UserError(f"{path}: expected --format, or an ending of {', '.join(FORMATS)}")
        if not exists(*FileSystem.from_uri(path)):
            raise UserError(f"{path}: no such file or folder")
        target = f"{folder}/{PurePosixPath(path).name}.tagged"
        if target in jobs:
            raise UserError(f"{path}: another input has the same name")
        jobs[target] = path, kind
    waiting = {
        target: job for target, job in jobs.items() if not is_finished(filesystem, target, settings)
    }
    if not waiting:
        return
    # Raises errors before any work starts, on the CPU.
    taggers = {kind: _tagger(kind)(**_arguments(kind, options)) for _, kind in waiting.values()}
    if not ray.is_initialized():
        # Reading and writing also need a process.
        num_cpus = None if address else max(os.cpu_count() or 1, workers + 1)
        ray.init(address, num_cpus=num_cpus, log_to_driver=False)
    context = ray.data.DataContext.get_current().copy()
    context.execution_options.preserve_order = True
    context.target_max_block_size = BLOCK_SIZE
    cuda_device = 0 if gpus_per_worker else -1  # Ray hides the GPUs of other workers

    def tag(path: str, kind: str, tagger: type[Tagger]) -> Any:
        if kind == "parquet":
            rows = ray.data.read_parquet(path)
            taggers[kind].inputs_in(rows.schema().names)
        else:
            rows = ray.data.read_datasource(LineSource(path))
        return rows.map_batches(
            tagger,
            fn_constructor_kwargs=_arguments(kind, options, cuda_device),
            compute=ray.data.ActorPoolStrategy(size=workers),
            num_gpus=gpus_per_worker or None,
            batch_size=BATCH_SIZE,
            batch_format="pyarrow",
        )

    with ray.data.DataContext.current(context):
        if is_adaptive:  # over all inputs
            scored = (tag(*job, _probabilities(job[1])) for job in jobs.values())
            bad = [batch["p"] for each in scored for batch in each.iter_batches()]
            predictor = next(iter(taggers.values())).predictor
            options["threshold"] = predictor.adaptive_threshold(numpy.concatenate(bad))
            options["threshold_from"] = "adaptive"
        for target, (path, kind) in waiting.items():
            if exists(filesystem, target):  # from a job that was interrupted
                filesystem.delete_dir(target)
            tagged = tag(path, kind, _tagger(kind))
            if kind == "parquet":
                tagged.write_parquet(target, filesystem=filesystem)
            else:
                sink = LineSink(target, filesystem=filesystem, file_format="jsonl")
                tagged.write_datasink(sink)
            filesystem.create_dir(target)  # Ray writes nothing for an input without rows
            number = wrong = 0
            first = None
            for error in errors_in(filesystem, target, kind):
                number += 1
                wrong += error is not None
                first = first or error
            if wrong and wrong == number:
                raise UserError(f"{path}: no row can be tagged; the first error is: {first}")
            if wrong:
                message = "%s: %d of %d rows have an error, such as: %s"
                logger.warning(message, path, wrong, number, first)
            with filesystem.open_output_stream(f"{target}/{MARKER}") as file:
                file.write(settings)
            yield target


def _probabilities(kind: str) -> type[Tagger]:
    """Returns a tagger whose batches are the probabilities of BAD for all words."""

    class Probabilities(_tagger(kind)):  # type: ignore[misc]
        def __call__(self, batch: pyarrow.Table) -> pyarrow.Table:
            answers = self.answers(self.rows_of(batch))
            bad = [p for answer in answers for p in answer.get("bad_probabilities", ())]
            return pyarrow.table({"p": pyarrow.array(bad, pyarrow.float64())})

    return Probabilities


def _tagger(kind: str) -> type[Tagger]:
    return Tagger if kind == "parquet" else LineTagger


def _arguments(kind: str, options: dict[str, Any], cuda_device: int = -1) -> dict[str, Any]:
    own_format = "text" if kind == "text" else "json"
    return {**options, "input_format": own_format, "cuda_device": cuda_device}


def errors_in(filesystem: FileSystem, target: str, kind: str) -> Iterator[str | None]:
    """Yields the error of each row in the folder of an input, or None."""
    for each in filesystem.get_file_info(FileSelector(target)):
        if kind == "parquet":
            table = parquet.read_table(each.path, columns=[ERROR], filesystem=filesystem)
            yield from table[ERROR].to_pylist()
        else:
            with filesystem.open_input_stream(each.path) as file:
                for line in io.BufferedReader(file):
                    yield json.loads(line)[ERROR]


def absolute(path: str) -> str:
    """Returns the absolute path; addresses are returned unchanged."""
    return path if "://" in path else os.path.abspath(path)


def checksum(archive: str) -> str:
    """Returns the SHA-256 of an archive, or of the weights in a run folder."""
    path = cached_path(archive)
    with open(get_weights_path(path) if os.path.isdir(path) else path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def exists(filesystem: FileSystem, path: str) -> bool:
    return filesystem.get_file_info(path).type != FileType.NotFound


def is_finished(filesystem: FileSystem, target: str, settings: bytes) -> bool:
    """Returns whether an input is finished. Raises a `UserError` if it was tagged with other settings."""
    marker = f"{target}/{MARKER}"
    if not exists(filesystem, marker):
        return False
    with filesystem.open_input_stream(marker) as file:
        if file.read() != settings:
            raise UserError(f"{target}: tagged with another archive or other options")
    return True
