"""`allennlp-nef examples`: the configs, data and page that come with the package."""

import argparse
import shlex
import shutil
from collections.abc import Iterator
from pathlib import Path

from allennlp_nef.errors import UserError
from allennlp_nef.resources import folders

DETAILS = """
Writes training_configs/ (one config for each experiment), fixtures/ (small data sets that the configs read) and pages/
(the page of `allennlp-nef serve`; serve an edited copy with `--page pages`).

    %(prog)s try-nef
    cd try-nef
    allennlp-nef train training_configs/qe_nef_f.jsonnet -s runs/qe_nef_f
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("folder", metavar="FOLDER", help="folder to write to")
    parser.add_argument("--force", action="store_true", help="overwrite existing files")


def run(args: argparse.Namespace) -> Iterator[str]:
    for path in write_examples(args.folder, args.force):
        yield f"wrote {path}"
    yield "Next:"
    yield f"    cd {shlex.quote(args.folder)}"
    yield "    allennlp-nef train training_configs/qe_nef_f.jsonnet -s runs/qe_nef_f"


def write_examples(folder: str, force: bool = False) -> list[Path]:
    """Copies the examples into a folder, and returns its subfolders.

    # Raises

    `UserError`: a subfolder exists and `force` is false; nothing is written.
    """
    targets = {Path(folder, name): source for name, source in folders().items()}
    existing = [str(target) for target in targets if target.exists()]
    if existing and not force:
        raise UserError(f"{', '.join(existing)}: already there; --force overwrites the files")
    programs = shutil.ignore_patterns("*.py", "__pycache__", "french")  # which generate the data
    for target, source in targets.items():
        shutil.copytree(source, target, ignore=programs, dirs_exist_ok=True)
    return list(targets)
