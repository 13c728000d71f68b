"""`allennlp-nef tag-corpus`: tags large files with Ray Data, on one machine or on a cluster."""

import argparse
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import PurePath
from typing import Any

from allennlp_nef.cli.arguments import (
    add_archive,
    add_predictor_args,
    json_object,
    options_of,
    positive,
)
from allennlp_nef.errors import UserError, require_extra
from allennlp_nef.resources import archive_path

DETAILS = """
The INPUTs are files or folders of files of one format:

    text     one sentence per line
    json     one JSON object per line, with the fields of a request, such as `sentence`, or `source` and `target`
    parquet  columns of the same names

FOLDER gets the rows with the answer fields, as JSON lines, or as Parquet for Parquet inputs. A row that cannot be
tagged has a message in the `error` field.

    %(prog)s runs/pos/model.tar.gz a.txt b.txt --output tagged --workers 8
    %(prog)s runs/qe/model.tar.gz s3://data/corpus --format parquet --output s3://data/tagged --workers 64 \\
        --gpus-per-worker 1 --address auto --id-column id

All machines of a cluster must be able to read the archive and the inputs, and to write to FOLDER. With --id-column, Ray
writes checkpoints to FOLDER.checkpoints: if a job is interrupted, run the same command again.
"""
FORMATS = {".txt": "text", ".json": "json", ".jsonl": "json", ".parquet": "parquet"}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_archive(parser)
    add_predictor_args(parser)
    add = parser.add_argument
    add("inputs", metavar="INPUT", nargs="+", help="files and folders")
    add("--output", metavar="FOLDER", required=True, help="new folder for the results")
    add(
        "--format",
        choices=sorted(set(FORMATS.values())),
        help="format of the inputs (default = by extension: .txt, .json, .jsonl or .parquet)",
    )
    add("--fields", nargs="+", metavar="FIELD", help="fields of the answers (default = all)")
    add(
        "--columns",
        type=json_object,
        default={},
        metavar="JSON",
        help="""fields with other names in the inputs, as {field: name}, such as '{"sentence": "text"}'""",
    )
    add("--id-column", metavar="NAME", help="column of unique IDs: write checkpoints, and resume")
    add("--workers", type=positive, default=1, metavar="N", help="processes that tag")
    add(
        "--gpus-per-worker",
        type=float,
        default=0,
        metavar="X",
        help="such as 1, or 0.5 for two processes per GPU",
    )
    add("--address", help="address of a Ray cluster (default = start Ray on this machine)")


def run(args: argparse.Namespace) -> Iterator[str]:
    tag_corpus(**options_of(args, tag_corpus), **args.predictor_args)
    yield f"wrote {args.output}"


def tag_corpus(
    archive: str,
    inputs: Sequence[str],
    *,
    output: str,
    format: str | None = None,
    fields: Sequence[str] | None = None,
    columns: Mapping[str, str] | None = None,
    id_column: str | None = None,
    workers: int = 1,
    gpus_per_worker: float = 0,
    address: str | None = None,
    include_package: Sequence[str] = (),
    trust: bool = False,
    **options: Any,
) -> None:
    """Tags files with Ray Data: reads them, maps them with `Tagger`, and writes a folder.

    The parameters are the options of `allennlp-nef tag-corpus`, and those of the predictor.

    # Raises

    `UserError`: an archive, inputs or options that cannot be used.
    """
    with require_extra("ray", "tag-corpus"):
        import ray
        from pyarrow.fs import FileSystem, FileType
        from ray.data.checkpoint import CheckpointConfig

    from allennlp_nef.corpora import Tagger

    formats = {format or FORMATS.get(PurePath(path).suffix) for path in inputs}
    kind = formats.pop()
    if kind is None or formats:
        raise UserError(f"expected --format, or inputs that all end in one of {', '.join(FORMATS)}")
    archive, output, *paths = map(_absolute, (archive_path(archive), output, *inputs))
    filesystem, folder = FileSystem.from_uri(output)
    if id_column is None and filesystem.get_file_info(folder).type != FileType.NotFound:
        raise UserError(f"{output}: already there; expected a new folder")
    if kind == "text":
        options["input_format"] = "text"
    options |= {"fields": fields, "columns": columns, "trust": trust}
    options["include_package"] = list(include_package)
    tagger = Tagger(archive, **options)  # raises errors before any work starts, on the CPU
    if not ray.is_initialized():
        # Reading and writing need a process, and the filter of finished rows another one.
        num_cpus = None if address else max(os.cpu_count() or 1, workers + 2)
        ray.init(address, num_cpus=num_cpus, log_to_driver=False)
    context = ray.data.DataContext.get_current().copy()
    context.execution_options.preserve_order = True
    if id_column is not None:
        context.checkpoint_config = CheckpointConfig(
            id_column, f"{output}.checkpoints", delete_checkpoint_on_success=False
        )
    with ray.data.DataContext.current(context):
        if kind == "text":
            rows = ray.data.read_text(paths, drop_empty_lines=False)
            rows = rows.rename_columns({"text": tagger.inputs[tagger.predictor.text_field]})
        else:
            rows = {"json": ray.data.read_json, "parquet": ray.data.read_parquet}[kind](paths)
        tagger.inputs_in(rows.schema().names)
        tagged = rows.map_batches(
            Tagger,
            fn_constructor_args=[archive],
            # Ray hides the GPUs of other workers.
            fn_constructor_kwargs={**options, "cuda_device": 0 if gpus_per_worker else -1},
            compute=ray.data.ActorPoolStrategy(size=workers),
            num_gpus=gpus_per_worker or None,
            batch_format="pyarrow",
        )
        if kind == "parquet":
            tagged.write_parquet(output)
        else:
            tagged.write_json(output, date_format="iso")


def _absolute(path: str) -> str:
    return path if "://" in path else os.path.abspath(path)
