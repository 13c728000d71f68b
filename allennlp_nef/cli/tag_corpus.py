"""`allennlp-nef tag-corpus`: tags large files with Ray Data, on one machine or on a cluster."""

import argparse
from collections.abc import Iterator

from allennlp_nef.cli.shared import (
    ARCHIVE_HELP,
    add_threshold,
    add_trust,
    json_object,
    options_of,
    positive,
)
from allennlp_nef.errors import require_extra

SUMMARY = "Tag large files with Ray Data, on one machine or on a cluster."
DETAILS = """
INPUT is a file, or a folder of files:

    text     one sentence per line
    json     one JSON object per line, with the fields of a request, such as `sentence`, or `source` and `target`
    parquet  columns of the same names

FOLDER gets a folder for each INPUT, with its rows and the answer fields, as JSON, or as Parquet for Parquet inputs. A
row that cannot be tagged has a message in the `error` field, and a warning says how many there are. It is an error if
no row of an input can be tagged. If a job is interrupted, run the same command again: it skips finished
inputs.

    %(prog)s runs/pos/model.tar.gz a.txt b.txt --output tagged --workers 8
    %(prog)s runs/qe/model.tar.gz s3://data/corpus --format parquet --output s3://data/tagged --workers 64 \\
        --gpus-per-worker 1 --address auto

All machines of a cluster must be able to read the archive and the inputs, and to write to FOLDER.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("archive", metavar="ARCHIVE", help=ARCHIVE_HELP)
    add("inputs", metavar="INPUT", nargs="+", help="files and folders")
    add("--output", metavar="FOLDER", required=True, help="folder for the results")
    add(
        "--format",
        choices=("text", "json", "parquet"),
        help="format of the inputs (default = by extension: .txt, .json, .jsonl or .parquet)",
    )
    add("--fields", nargs="+", metavar="FIELD", help="fields of the answers (default = all)")
    add(
        "--columns",
        metavar="JSON",
        help="""fields with other names in the inputs, as {field: name}, such as '{"sentence": "text"}'""",
    )
    add(
        "--predictor-args",
        metavar="JSON",
        help="""options of the predictor, such as '{"threshold": 0.4, "batch_size": 128}'""",
    )
    add_threshold(parser)
    add("--workers", type=positive, default=1, metavar="N", help="processes that tag")
    add(
        "--gpus-per-worker",
        type=float,
        default=0,
        metavar="X",
        help="such as 1, or 0.5 for two processes per GPU",
    )
    add("--address", help="address of a Ray cluster (default = start Ray on this machine)")
    add_trust(parser)


def run(args: argparse.Namespace) -> Iterator[str]:
    with require_extra("ray", "tag-corpus"):
        from allennlp_nef.corpora._ray_job import tag_corpus

    predictor = json_object("--predictor-args", args.predictor_args)
    if args.threshold is not None:
        predictor["threshold"] = args.threshold
    columns = json_object("--columns", args.columns)
    yield from tag_corpus(**{**options_of(args, tag_corpus), "columns": columns}, **predictor)
