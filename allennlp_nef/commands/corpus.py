"""What `tag-corpus` does with its arguments."""

import argparse
import json
import sys
from collections.abc import Iterator
from dataclasses import asdict
from inspect import signature
from pathlib import Path
from typing import Any

from allennlp_nef.commands.command import print_lines
from allennlp_nef.commands.output_files import check_folder
from allennlp_nef.corpora.job import Job, tag_corpus
from allennlp_nef.corpora.parts import ROW_FORMATS
from allennlp_nef.corpora.shards import READERS
from allennlp_nef.corpora.tagger import RowTagger
from allennlp_nef.errors import UserError, quote
from allennlp_nef.predictors.archives import check_device, load_predictor

_ENDINGS = {
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".conllu": "conllu",
}


def tag_files(args: argparse.Namespace) -> Iterator[str]:
    """Tags the inputs, and yields what to print."""
    check_folder(args.output)
    check_device(args.cuda_device)
    if args.address is not None and not args.workers:
        raise UserError("--address: expected --workers with it, got none")
    formats: list[str] = [
        args.format or _ENDINGS.get(Path(path).suffix, "") for path in args.inputs
    ]
    if "" in formats:
        path = args.inputs[formats.index("")]
        model_format = _format_of_model(path, args.archive, args.trust)
        formats = [each or model_format for each in formats]
    if len(set(formats)) > 1:
        raise UserError(
            f"INPUT: expected files of one format, got {' and '.join(dict.fromkeys(formats))}"
        )
    job = Job(
        archive=args.archive,
        inputs=list(zip(args.inputs, formats)),
        output=Path(args.output),
        output_format=_output_format(args.output_format, formats[0]),
        options={
            **_predictor_options(args.predictor_args),
            "fields": args.fields,
            "columns": _object(args.columns, "--columns") or None,
            "include_package": [
                each for each in getattr(args, "include_package", []) if each != "allennlp_nef"
            ],
        },
        shard_size=args.shard_size,
        workers=args.workers,
        address=args.address,
        threads=args.threads,
        cuda_device=args.cuda_device,
        trust=args.trust,
    )
    figures = tag_corpus(job, lambda line: print_lines([line], sys.stderr))
    if args.json:
        yield json.dumps(asdict(figures))
    else:
        rate = figures.sentences_per_second
        speed = "" if rate is None else f", {rate:,.0f} a second"
        parts = f"{figures.parts:,} part{'s' * (figures.parts != 1)}"
        yield f"{figures.sentences:,} sentences in {parts}{speed}: {figures.output}"
        if figures.errors:
            yield f"{figures.errors:,} of them could not be tagged"
    if args.strict and figures.errors:
        sys.exit(1)


def _format_of_model(path: str, archive: str, trust: bool) -> str:
    """The format that the model's dataset reader reads, for an input whose name does not say one."""
    reader = load_predictor(archive, trust=trust)._dataset_reader  # checked, as its config is not
    for format, kind in READERS.items():
        if isinstance(reader, kind):
            return format
    raise UserError(
        f"{path}: expected a name that ends in {', '.join(_ENDINGS)}, or --format, got {path}"
    )


def _output_format(given: str | None, format: str) -> str:
    """The format of the output."""
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


def _predictor_options(text: str | None) -> dict[str, Any]:
    """The value of --predictor-args, without what the command gives the tagger itself."""
    options = _object(text, "--predictor-args")
    own = {*signature(RowTagger).parameters, *signature(load_predictor).parameters} - {"options"}
    for name in options:
        if name in {*own, "model", "dataset_reader", "output_format"}:
            raise UserError(
                f"--predictor-args: expected options of the predictor, got {quote(name)}"
            )
    return options


def _object(text: str | None, option: str) -> dict[str, Any]:
    """The value of an option that is a JSON object."""
    if text is None:
        return {}
    try:
        value = json.loads(text)
    except ValueError as error:
        raise UserError(f"{option}: expected a JSON object, got {quote(text)} ({error})") from error
    if not isinstance(value, dict):
        raise UserError(f"{option}: expected a JSON object, got {quote(text)}")
    return value
