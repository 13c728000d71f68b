"""What `tag-corpus` does with its arguments."""

import argparse
import json
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any, Dict, Iterator, Optional

from allennlp_nef.bulk.job import Job, tag_corpus
from allennlp_nef.bulk.shard_tagger import ROW_FORMATS
from allennlp_nef.commands.archive_files import read_config
from allennlp_nef.commands.output_files import check_folder
from allennlp_nef.commands.printing import print_lines
from allennlp_nef.errors import UserError, quote
from allennlp_nef.predictors.archives import check_device, load_predictor

_ENDINGS = {
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".conllu": "conllu",
}
_READERS = {"conll_tags": "conll", "conllu_tags": "conllu", "wmt_word_qe": "wmt"}


def tag_files(args: argparse.Namespace) -> Iterator[str]:
    """Tags the inputs, and yields what to print."""
    check_folder(args.output)
    check_device(args.cuda_device)
    if args.address is not None and not args.workers:
        raise UserError("--address: expected --workers with it, got none")
    formats = [args.format or _format_of(path, args.archive, args.trust) for path in args.inputs]
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
            **_object(args.predictor_args, "--predictor-args"),
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


def _format_of(path: str, archive: str, trust: bool) -> str:
    """The format that the name of an input says, or else that of the model's dataset reader."""
    ending = Path(path).suffix
    if ending in _ENDINGS:
        return _ENDINGS[ending]
    try:
        config = read_config(archive)
    except Exception:
        load_predictor(archive, trust=trust)  # its error says what is wrong
        raise
    reader = config.get("validation_dataset_reader") or config["dataset_reader"]
    if reader.get("type") not in _READERS:
        raise UserError(
            f"{path}: expected a name that ends in {' or '.join(_ENDINGS)}, or the option --format, got neither"
        )
    return _READERS[reader["type"]]


def _output_format(given: Optional[str], format: str) -> str:
    """The format of the output."""
    output_format = given or {"wmt": "tags"}.get(format, format)
    if format in ROW_FORMATS and output_format not in ROW_FORMATS:
        raise UserError(
            f"--output-format: expected {' or '.join(ROW_FORMATS)} for inputs in {format}, got {output_format}"
        )
    if format == "jsonl" and output_format == "parquet":
        raise UserError(
            "--output-format: expected jsonl for inputs in jsonl, whose fields have no types, got parquet"
        )
    return output_format


def _object(text: Optional[str], option: str) -> Dict[str, Any]:
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
