"""`allennlp-nef examples`: the configs, data and page that come with the package."""

import argparse
import shlex
import shutil
from collections.abc import Iterator
from pathlib import Path

from allennlp_nef.cli.shared import call_with, check_folder, checking
from allennlp_nef.errors import UserError
from allennlp_nef.resources import folders

SUMMARY = "Write the example configs, small data to try them on, and the demo page into a folder."
DETAILS = """
Writes training_configs/ (one config for each experiment), fixtures/ (small data that the configs read) and demo/ (the
page of `allennlp-nef serve`; `--static-dir demo` serves a changed one).

    %(prog)s examples
    cd examples
    allennlp-nef train training_configs/qe_nef_f.jsonnet -s runs/qe_nef_f

The exit status is 2 where a file exists already, if --force is not given. Then nothing is written.
"""
_GENERATORS = (".py", ".pyc")  # of the data


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("folder", metavar="FOLDER", help="folder to write to, new or not")
    parser.add_argument("--force", action="store_true", help="overwrite files that exist")


def run(args: argparse.Namespace) -> Iterator[str]:
    for name, count in call_with(write_examples, args).items():
        yield f"{count} files: {Path(args.folder) / name}"
    yield "Next:"
    yield f"    cd {shlex.quote(str(Path(args.folder)))}"
    yield "    allennlp-nef train training_configs/qe_nef_f.jsonnet -s runs/qe_nef_f"


@checking(add_arguments)
def write_examples(folder: str, force: bool = False) -> dict[str, int]:
    """Writes the examples into a folder.

    # Returns

    `dict[str, int]`: the number of files by the names of the folders in it.

    # Raises

    `UserError`: a file exists, and `force` is not given; then nothing is written.
    """
    check_folder(folder, "FOLDER")
    target = Path(folder)
    sources = {name: _files_of(source) for name, source in folders().items()}
    paths = [target / name / path for name, files in sources.items() for path in files]
    existing = [path for path in paths if path.exists()]
    if existing and not force:
        raise UserError(
            f"{existing[0]}: expected no such file, got one ({len(existing)} of {len(paths)} files exist): "
            "--force writes over them"
        )
    if any((target / name).resolve() == source.resolve() for name, source in folders().items()):
        raise UserError(f"{target}: expected another folder than that of the examples")
    for name, files in sources.items():
        for path, file in files.items():
            (target / name / path).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(str(file), str(target / name / path))
    return {name: len(files) for name, files in sources.items()}


def _files_of(folder: Path) -> dict[Path, Path]:
    """The files of a folder by their path in it, without the programs that generate data."""
    files = {
        path.relative_to(folder): path
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.suffix not in _GENERATORS
    }
    if not files:
        raise UserError(f"{folder}: expected the examples of the package, got no files")
    return files
