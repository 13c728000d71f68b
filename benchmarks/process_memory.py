"""The memory of a program and of all that it started. Linux only."""

from collections.abc import Iterator
from pathlib import Path


def memory_of(process: int) -> float:
    """The memory of a process and of those that it started, in MB (10^6 bytes).

    Of a page that several processes share, each counts a part.
    """
    return sum(map(_proportional_mb, tree(process)))


def tree(process: int) -> Iterator[int]:
    """A process and all below it."""
    yield process
    for thread in Path(f"/proc/{process}/task").glob("*"):
        try:
            children = (thread / "children").read_text(encoding="ascii").split()
        except (FileNotFoundError, ProcessLookupError):
            continue  # the thread has just ended
        for child in map(int, children):
            yield from tree(child)


def _proportional_mb(process: int) -> float:
    try:
        text = Path(f"/proc/{process}/smaps_rollup").read_text(encoding="ascii")
    except (FileNotFoundError, ProcessLookupError):
        return 0.0  # the process has just ended
    sizes = (line.split()[1] for line in text.splitlines() if line.startswith("Pss:"))
    return sum(map(int, sizes)) * 1024 / 1e6
