"""`allennlp-nef tag-corpus`: tags large files in parts."""

import argparse
import json
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict
from inspect import signature
from pathlib import Path
from typing import Any

from allennlp_nef.cli.shared import (
    add_trust,
    call_with,
    check_folder,
    checking,
    integer,
    json_object,
    print_lines,
)
from allennlp_nef.errors import UserError, quote

SUMMARY = (
    "Tag large files in parts, on several processes or hosts, and go on after an interruption."
)
DETAILS = """
Writes FOLDER/part-00000.jsonl and so on, in the order of the sentences; joined, they are the output. The inputs are

    jsonl    JSON objects, one a line, with `tokens` or `sentence`; or with `source`, `target` and, optionally,
             `alignments`. Other fields are kept.
    parquet  columns of the same names
    conll, conllu, wmt
             what the model's dataset reader reads: a file, or for quality estimation the prefix of the files

    %(prog)s runs/pos/model.tar.gz corpus.conllu --output tagged
    %(prog)s runs/qe/model.tar.gz a.jsonl b.jsonl --output tagged --workers 8
    %(prog)s runs/qe/model.tar.gz corpus.parquet --output /shared/tagged --workers 64 --address ray-head:6379

With --workers, processes of Ray tag (pip install 'allennlp_nef[ray]'); without it, this process does. After a kill run
the same command again: it does what is missing. It refuses a folder of another archive, other inputs or other settings.

A sentence that cannot be tagged does not stop the work. It has a message: in JSON and Parquet in the field `error`, in
CoNLL-U in the comment `error`, and in FOLDER/_parts.jsonl.

The exit status is 0; 1 with --strict, where a sentence could not be tagged; 2 where none could, or where the archive,
the inputs or the options are wrong.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("archive", metavar="ARCHIVE", help="archive of a trained tagger, or the folder of a run")
    add("inputs", metavar="INPUT", nargs="+", help="files of one format, or prefixes of files")
    add("--output", metavar="FOLDER", required=True, help="folder to write to, new or not complete")
    add(
        "--format",
        choices=("jsonl", "parquet", "conll", "conllu", "wmt"),
        help="format of the inputs (default: that of names in .jsonl, .parquet or .conllu; else what the model reads)",
    )
    add(
        "--output-format",
        metavar="FORMAT",
        help="jsonl or parquet; or, for inputs of a dataset reader, one that `predict` writes, such as wmt22 (default: "
        "that of the inputs; for wmt, tags)",
    )
    add(
        "--fields",
        nargs="+",
        metavar="FIELD",
        help="fields of the answers that jsonl and parquet get, such as tags probabilities (default: all)",
    )
    add(
        "--columns",
        metavar="JSON",
        help="""fields that have other names in the inputs, such as '{"sentence": "text"}'""",
    )
    add(
        "--predictor-args",
        metavar="JSON",
        help="""options of the predictor, such as '{"threshold": 0.4, "batch_size": 128}'""",
    )
    add("--workers", type=integer(0), default=0, metavar="N", help="number of processes of Ray")
    add(
        "--address",
        metavar="HOST:PORT",
        help="address of a cluster of Ray (default: a new one on this machine)",
    )
    add("--threads", type=integer(1), default=1, metavar="N", help="threads of each process")
    add(
        "--cuda-device",
        type=int,
        default=-1,
        help="a GPU, or -1 for the CPU; with --workers, 0 for a GPU for each process",
    )
    add("--shard-size", type=integer(1), default=2000, metavar="N", help="sentences in each part")
    add("--strict", action="store_true", help="exit status 1 where a sentence cannot be tagged")
    add_trust(parser)
    add("--json", action="store_true", help="print the numbers as JSON")


_ENDINGS = {
    **dict.fromkeys((".jsonl", ".ndjson"), "jsonl"),
    **dict.fromkeys((".parquet", ".pq"), "parquet"),
    ".conllu": "conllu",
}


def run(args: argparse.Namespace) -> Iterator[str]:
    args.say = lambda line: print_lines([line], sys.stderr)
    args.include_package = getattr(args, "include_package", [])
    figures = call_with(tag_corpus, args)
    if args.json:
        yield json.dumps(figures)
    else:
        rate, parts = figures["sentences_per_second"], figures["parts"]
        speed = "" if rate is None else f", {rate:,.0f} a second"
        yield (
            f"{figures['sentences']:,} sentences in {parts:,} part{'s' * (parts != 1)}{speed}: {figures['output']}"
        )
        if figures["errors"]:
            yield f"{figures['errors']:,} of them could not be tagged"
    if args.strict and figures["errors"]:
        sys.exit(1)


@checking(add_arguments)
def tag_corpus(
    archive: str,
    inputs: Sequence[str],
    *,
    output: str,
    format: str | None = None,
    output_format: str | None = None,
    fields: Sequence[str] | None = None,
    columns: str | Mapping[str, str] | None = None,
    predictor_args: str | Mapping[str, Any] | None = None,
    workers: int = 0,
    address: str | None = None,
    threads: int = 1,
    cuda_device: int = -1,
    shard_size: int = 2000,
    include_package: Sequence[str] = (),
    trust: bool = False,
    say: Callable[[str], None] = lambda line: None,
) -> dict[str, Any]:
    """Tags files in parts, and goes on where an earlier run with the same options ended.

    The parameters are the options of `allennlp-nef tag-corpus`, `columns` and `predictor_args` as JSON or as dicts, and
    the result is what it prints as JSON. `say` gets lines that tell of the progress. Raises `UserError`.
    """
    from allennlp_nef.corpora import job
    from allennlp_nef.packages import import_packages
    from allennlp_nef.predictors.archives import check_device

    check_folder(output)
    check_device(cuda_device)
    import_packages(include_package)
    if address is not None and not workers:
        raise UserError("--address: expected --workers with it, got none")
    formats = [format or _ENDINGS.get(Path(path).suffix, "") for path in inputs]
    if "" in formats:
        model_format = _format_of_model(inputs[formats.index("")], archive, trust)
        formats = [own or model_format for own in formats]
    if len(set(formats)) > 1:
        raise UserError(
            f"INPUT: expected files of one format, got {' and '.join(dict.fromkeys(formats))}"
        )
    figures = job.tag_corpus(
        job.Job(
            archive=archive,
            inputs=list(zip(inputs, formats)),
            output=Path(output),
            output_format=_output_format(output_format, formats[0]),
            options={
                **_predictor_options(predictor_args),
                "fields": fields,
                "columns": json_object("--columns", columns) or None,
                "include_package": [name for name in include_package if name != "allennlp_nef"],
            },
            shard_size=shard_size,
            workers=workers,
            address=address,
            threads=threads,
            cuda_device=cuda_device,
            trust=trust,
        ),
        say,
    )
    return asdict(figures)


def _format_of_model(path: str, archive: str, trust: bool) -> str:
    """The format that the model's dataset reader reads, for an input whose name does not say one."""
    from allennlp_nef.corpora.shards import READERS
    from allennlp_nef.predictors.archives import load_predictor

    reader = load_predictor(archive, trust=trust)._dataset_reader  # checked, as its config is not
    for format, kind in READERS.items():
        if isinstance(reader, kind):
            return format
    raise UserError(
        f"{path}: expected a name that ends in {', '.join(_ENDINGS)}, or --format, got {path}"
    )


def _output_format(given: str | None, format: str) -> str:
    """The format of the output."""
    from allennlp_nef.corpora.parts import ROW_FORMATS

    output_format = {"wmt": "tags"}.get(format, format) if given is None else given
    if format in ROW_FORMATS and output_format not in ROW_FORMATS:
        raise UserError(
            f"--output-format: expected {' or '.join(ROW_FORMATS)} for inputs in {format}, got {quote(output_format)}"
        )
    if format == "jsonl" and output_format == "parquet":
        raise UserError(
            "--output-format: expected jsonl for inputs in jsonl, whose fields have no types, got parquet"
        )
    return output_format


def _predictor_options(given: str | Mapping[str, Any] | None) -> dict[str, Any]:
    """The value of --predictor-args, without what the command gives the tagger itself."""
    from allennlp_nef.corpora.tagger import RowTagger
    from allennlp_nef.predictors.archives import load_predictor

    options = json_object("--predictor-args", given)
    own = {*signature(RowTagger).parameters, *signature(load_predictor).parameters} - {"options"}
    for name in options:
        if name in {*own, "model", "dataset_reader", "output_format"}:
            raise UserError(
                f"--predictor-args: expected options of the predictor, got {quote(name)}"
            )
    return options
