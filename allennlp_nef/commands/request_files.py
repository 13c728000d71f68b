import json
import os
from collections.abc import Iterator

from allennlp_nef.data.formats.data_paths import holds_paths
from allennlp_nef.data.formats.text_files import read_lines

MAX_BYTES = 2**20
"""How much of the first line is read."""


def holds_requests(path: str) -> bool:
    """Whether a file holds JSON requests, one a line.

    It does if its name ends in `.jsonl`, or if its first line that is not blank is a JSON object or begins like one.
    A `.json` file with the paths of a data set does not. Any other input is for a dataset reader, and need not be the
    name of a file.
    """
    if path.endswith(".jsonl"):
        return True
    if not os.path.isfile(path) or holds_paths(path):
        return False
    with open(path, "rb") as file:
        start = file.read(MAX_BYTES).decode("utf-8-sig", "replace").lstrip()
    first = start.split("\n", 1)[0]
    try:
        return isinstance(json.loads(first), dict)
    except (ValueError, RecursionError):
        return first.startswith('{"')


def read_requests(path: str) -> Iterator[tuple[int, str]]:
    """The lines of a file that are not blank, with their numbers from 1. Raises as `read_lines` does."""
    for number, line in enumerate(read_lines(path), 1):
        if line.strip():
            yield number, line
