from contextlib import contextmanager
from pathlib import Path
from typing import Iterator

from allennlp_nef.data.formats.errors import DataFormatError


@contextmanager
def writing(path: Path) -> Iterator[Path]:
    """A file is written within it. Where that fails nothing of it stays, and a `DataFormatError` names it."""
    try:
        yield path
    except OSError as error:
        if path.is_file():
            path.unlink()
        raise DataFormatError(
            f"{path}: expected a file that can be written, got {error.strerror!r}"
        ) from error
