import argparse
import os
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from allennlp_nef.errors import UserError
from allennlp_nef.figures.style import DPI

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FORMATS = ("png", "svg")
"""The formats of plots."""


def formats_of(args: argparse.Namespace) -> list[str]:
    """The values of --format, each once; by default all `FORMATS`."""
    return list(dict.fromkeys(args.format or FORMATS))


@contextmanager
def writing(path: Path) -> Iterator[Path]:
    """A path to write the content of a file to; at the end of the context it becomes the file.

    Where that fails, the file stays as it was, and a `UserError` names it. A device, such as /dev/stdout, cannot become
    another file.
    """
    if path.exists() and not path.is_file():
        raise UserError(f"{path}: expected a file, got a folder or a special file")
    draft = path
    try:
        with tempfile.TemporaryDirectory(dir=path.parent, prefix=f".{path.name}-") as folder:
            draft = Path(folder) / path.name
            yield draft
            os.replace(draft, path)
    except OSError as error:
        if error.filename and not Path(error.filename).is_relative_to(draft.parent):
            raise  # of another file
        raise UserError(
            f"{path}: expected a file that can be written, got {reason_of(error)!r}"
        ) from error


def save_figure(figure: "Figure", stem: Path, formats: Sequence[str]) -> list[Path]:
    """Writes a figure to one file for each of the `FORMATS` asked for: `stem` and the format as the ending."""
    paths = [stem.with_name(f"{stem.name}.{ending}") for ending in formats]
    for path, ending in zip(paths, formats):
        # Without the date, so that the same figure gives the same file.
        metadata = {"Date": None} if ending == "svg" else None
        with writing(path) as draft:
            figure.savefig(str(draft), format=ending, dpi=DPI, metadata=metadata)
    return paths


def reason_of(error: OSError) -> str:
    """The reason that the system gives, or the message of a library that raised the error without one."""
    return error.strerror or str(error)


def check_folder(name: str, option: str = "--output") -> None:
    """Raises a `UserError` where the value of an option cannot be a folder to write to."""
    if not name:
        raise UserError(f"{option}: expected the name of a folder, got ''")
    if os.path.exists(name) and not os.path.isdir(name):
        raise UserError(f"{option}: expected a folder, got the file {name}")
