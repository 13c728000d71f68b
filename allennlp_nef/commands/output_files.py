import os
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import Iterator

from allennlp_nef.errors import DataFormatError


@contextmanager
def writing(path: Path) -> Iterator[Path]:
    """Where to write what is to be in a file. It comes there when all is written; where that fails, the file is as it
    was, and a `DataFormatError` names it."""
    try:
        with tempfile.TemporaryDirectory(dir=path.parent, prefix=f".{path.name}-") as folder:
            draft = Path(folder) / path.name
            yield draft
            os.replace(draft, path)
    except OSError as error:
        raise DataFormatError(
            f"{path}: expected a file that can be written, got {reason_of(error)!r}"
        ) from error


def reason_of(error: OSError) -> str:
    """What the system says of it, or who raised it: image libraries give no number."""
    return error.strerror or str(error)


def check_folder(name: str) -> None:
    """Raises a `DataFormatError` where --output cannot be a folder."""
    if not name:
        raise DataFormatError("--output: expected the name of a folder, got ''")
    if os.path.exists(name) and not os.path.isdir(name):
        raise DataFormatError(f"--output: expected a folder, got the file {name}")


def check_matplotlib() -> None:
    """Raises a `DataFormatError` where it is not installed."""
    try:
        import matplotlib  # noqa: F401
    except ImportError as error:
        raise DataFormatError(f"expected matplotlib: pip install matplotlib ({error})") from error
