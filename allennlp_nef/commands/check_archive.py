import argparse
from collections.abc import Iterator

from allennlp_nef.commands.command import Command

_SUMMARY = (
    "Show what archives hold, and whether loading them could run code; nothing of them is run."
)
_DETAILS = """
Prints the members of each archive with their sizes in bytes, the type and the labels of the model, the versions that
saved it, and a line for each check:

    members     it is whole; all are files or folders, with different names inside of one folder, and not too large
    config      plain JSON; registered names as types; nothing to download or to run
    vocabulary  a folder of text files
    weights     tensors only
    other       meta.json, examples.jsonl and aligner.json.gz can be read
    files       no file outside of the archive is needed, such as a pretrained transformer or another archive

    %(prog)s model.tar.gz
    %(prog)s runs/*/model.tar.gz --json

Commands that load archives make the same checks, unless they get --trust. Name the packages whose components a model
has with --include-package, as there.

The exit status is 1 where a check fails, 2 where an archive cannot be found.
"""


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "archives", metavar="ARCHIVE", nargs="+", help="archives of models, or the folders of runs"
    )
    parser.add_argument("--json", action="store_true", help="print a JSON array of reports")


def _run(args: argparse.Namespace) -> Iterator[str]:
    from allennlp_nef.commands.archive_report import check_archives

    return check_archives(args)


CHECK_ARCHIVE = Command("check-archive", _SUMMARY, _DETAILS, _add_arguments, _run, True)
