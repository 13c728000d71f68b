"""Tables, lines and files that the commands write."""

import errno
import os
import shutil
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from allennlp_nef.data.files import data_paths
from allennlp_nef.errors import UserError
from allennlp_nef.qe.files import PREFIX_ENDING, find_files

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def print_lines(lines: Iterable[str]) -> None:
    """Prints lines to standard output. Characters missing from its encoding become escapes."""
    encoding = sys.stdout.encoding or "utf-8"
    for line in lines:
        print(line.encode(encoding, "backslashreplace").decode(encoding), flush=True)


def table_text(rows: Sequence[Mapping[str, Any]]) -> str:
    """Formats rows, whose keys are the header, as a table. Fractions become percentages.

    The first column and columns of text are left-aligned, and those of numbers right-aligned.
    """
    cells = [list(rows[0])]
    for row in rows:
        values = row.values()
        cells.append([percent(each) if isinstance(each, float) else str(each) for each in values])
    columns = []
    for number, (header, *column) in enumerate(zip(*cells)):
        is_text = number == 0 or all(any(map(str.isalpha, cell)) for cell in column)
        width = max(map(len, [header, *column]))
        align = str.ljust if is_text else str.rjust
        columns.append([align(cell, width) for cell in [header, *column]])
    return "\n".join("  ".join(row).rstrip() for row in zip(*columns))


def percent(share: float) -> str:
    """Formats a fraction as a percentage with two decimals."""
    return f"{100 * share:.2f}"


def is_stdout(path: str | Path) -> bool:
    """Returns whether a path is "-" or another name of standard output, such as `/dev/fd/1`."""
    if str(path) == "-":
        return True
    return os.path.exists(path) and os.path.samestat(os.stat(path), os.fstat(1))


def open_output(path: str | Path, mode: str) -> IO[Any]:
    """Opens a file for writing, text in UTF-8. Standard output is not reopened, which would truncate a file, and gets
    each line at once.
    """
    encoding = None if "b" in mode else "utf-8"
    if not is_stdout(path):
        return open(path, mode, encoding=encoding)
    sys.stdout.flush()
    return os.fdopen(os.dup(sys.stdout.fileno()), mode, 1 if encoding else -1, encoding)


def files_of(path: Any) -> list[str]:
    """Returns the files of a data path, for `check_outputs`: also those of a prefix of quality estimation."""
    files: list[str] = []
    for each in data_paths(path, PREFIX_ENDING):
        is_prefix = isinstance(each, str) and not os.path.exists(each)
        parts = find_files(each) if is_prefix else each
        files += map(str, parts.values() if isinstance(parts, Mapping) else [parts])
    return files


def check_outputs(outputs: Iterable[str | None], inputs: Iterable[str]) -> None:
    """Raises a `UserError` if an output would replace an input or another output."""
    taken = set(map(os.path.realpath, inputs))
    for path in filter(None, outputs):
        if not is_stdout(path) and os.path.realpath(path) in taken:
            raise UserError(f"{path}: this output would replace an input or another output")
        taken.add(os.path.realpath(path))


@contextmanager
def writing(path: Path) -> Iterator[Path]:
    """Yields a temporary file that replaces `path` if the context exits without an error. Creates missing folders.

    A symbolic link stays a link, and a file keeps its permissions. After an interruption, the partial output is in a
    file that ends in `.partial`. If `path` cannot be replaced, because it is standard output ("-"), a pipe or a device,
    the content is copied to it.
    """
    if path.is_dir():
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    is_copied = is_stdout(path) or (path.exists() and not path.is_file())
    path = path if is_copied else path.resolve()
    if not is_copied:
        path.parent.mkdir(parents=True, exist_ok=True)
    folder = None if is_copied else path.parent
    with tempfile.TemporaryDirectory(dir=folder, prefix=f".{path.name}-") as temporary:
        draft = Path(temporary) / path.name
        try:
            yield draft
        except KeyboardInterrupt as interruption:
            if is_copied or not draft.exists():
                raise
            partial = path.with_name(f"{path.name}.partial")
            os.replace(draft, partial)
            raise type(interruption)(f"{partial} is incomplete") from interruption
        if is_copied:
            with open(draft, "rb") as content, open_output(path, "wb") as output:
                shutil.copyfileobj(content, output)
        else:
            if path.exists():
                shutil.copymode(path, draft)
            os.replace(draft, path)


def write_text(path: Path, text: str) -> None:
    """Writes a text file in UTF-8, atomically; "-" is standard output."""
    with writing(path) as draft:
        draft.write_text(text, encoding="utf-8", errors="backslashreplace")


def save_figure(figure: "Figure", path: Path) -> None:
    """Writes a figure in the format of the file name, such as `.png` or `.svg`. Equal figures give equal bytes."""
    ending = path.suffix.lstrip(".")
    metadata = {"Date": None} if ending == "svg" else None
    with writing(path) as draft:
        figure.savefig(str(draft), format=ending, dpi=150, metadata=metadata)
