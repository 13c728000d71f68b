import argparse
from collections.abc import Iterator

from allennlp_nef.commands.command import Command, add_trust, integer

_SUMMARY = (
    "Tag large files in parts, on several processes or hosts, and go on after an interruption."
)
_DETAILS = """
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


def _add_arguments(parser: argparse.ArgumentParser) -> None:
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
    add("--json", action="store_true", help="print the figures as JSON")


def _run(args: argparse.Namespace) -> Iterator[str]:
    from allennlp_nef.commands.corpus import tag_files

    return tag_files(args)


TAG_CORPUS = Command("tag-corpus", _SUMMARY, _DETAILS, _add_arguments, _run, True)
