"""`allennlp-nef examples`: the configs, data and page that come with the package."""

import argparse
import shlex
import shutil
from collections.abc import Iterator
from pathlib import Path

from allennlp_nef.errors import UserError
from allennlp_nef.resources import folders

SUMMARY = (
    "Copy the example configs, the small data sets they read, and the demo page into a folder."
)
DETAILS = """
Writes training_configs/ (one config for each experiment), fixtures/ (small data sets that the configs read) and demo/
(the page of `allennlp-nef serve`; serve an edited copy with `--page demo`).

    %(prog)s try-nef
    cd try-nef
    allennlp-nef train training_configs/qe_nef_f.jsonnet -s runs/qe_nef_f
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("folder", metavar="FOLDER", help="folder to write to")
    parser.add_argument("--force", action="store_true", help="overwrite existing files")


def run(args: argparse.Namespace) -> Iterator[str]:
    for name, count in write_examples(args.folder, args.force).items():
        yield f"{count} files: {Path(args.folder) / name}"
    yield "Next:"
    yield f"    cd {shlex.quote(args.folder)}"
    yield "    allennlp-nef train training_configs/qe_nef_f.jsonnet -s runs/qe_nef_f"


def write_examples(folder: str, force: bool = False) -> dict[str, int]:
    """Copies the examples into a folder.

    # Returns

    `dict[str, int]`: the number of files in each of its subfolders.

    # Raises

    `UserError`: a file exists and `force` is false; nothing is written.
    """
    files = {
        name: [
            path.relative_to(source)
            for path in sorted(source.rglob("*"))
            if path.is_file() and path.suffix not in (".py", ".pyc")  # generators of the data
        ]
        for name, source in folders().items()
    }
    existing = [
        path
        for name, paths in files.items()
        for path in paths
        if (Path(folder) / name / path).exists()
    ]
    if existing and not force:
        raise UserError(f"{folder}: {len(existing)} of the files exist; --force overwrites them")
    for name, source in folders().items():
        for path in files[name]:
            target = Path(folder) / name / path
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source / path, target)
    return {name: len(paths) for name, paths in files.items()}
