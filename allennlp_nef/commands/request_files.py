import json
import zlib

from allennlp.common.file_utils import open_compressed


def holds_requests(path: str) -> bool:
    """Whether a file holds JSON requests: it is named `.jsonl`, or the first line that is not blank is a JSON object.

    Any other input is what a dataset reader reads, which need not be the name of a file.
    """
    if path.endswith((".jsonl", ".jsonl.gz")):
        return True
    try:
        with open_compressed(path) as lines:
            first = next((line for line in lines if line.strip()), "")
        return isinstance(json.loads(first.lstrip("\ufeff")), dict)
    except (OSError, ValueError, RecursionError, EOFError, zlib.error):
        return False
