"""The examples that an archive holds: a few requests from the validation data, in `examples.jsonl`."""

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from allennlp_nef.data.metadata import TaggingMetadata
from allennlp_nef.errors import DataFormatError, quote

FILE_NAME = "examples.jsonl"
"""In the folder of a run and in its archive."""
Request = dict[str, Any]


def request_of(metadata: TaggingMetadata, as_lists: bool = False) -> Request:
    """The request for a sentence, as the model's predictor takes it.

    `tokens`; or in quality estimation `source`, `target` and, where they were given, `alignments`. Words
    are joined to strings, unless `as_lists`: for a model that would tokenize strings.
    """
    if metadata.source is None:
        return {"tokens": metadata.tokens}
    request: Request = {
        "source": metadata.source,
        "target": metadata.target or metadata.tokens,
    }
    if not as_lists:
        request = {side: " ".join(words) for side, words in request.items()}
    if metadata.alignments_from == "given":
        pairs = metadata.alignments or ()
        request["alignments"] = " ".join(f"{source}-{target}" for source, target in pairs)
    return request


def write_examples(folder: str | os.PathLike[str], requests: Sequence[Request]) -> None:
    """Writes the examples of a run. A program that is killed meanwhile leaves no part of a file."""
    path = Path(folder) / FILE_NAME
    draft = path.with_suffix(".draft")
    lines = [json.dumps(request) + "\n" for request in requests]
    draft.write_text("".join(lines), encoding="utf-8")
    os.replace(draft, path)


def _no_number(text: str) -> Any:
    raise ValueError(f"{text} is no JSON")


def read_saved_examples(folder: str | os.PathLike[str] | None) -> list[Request] | None:
    """The examples in the folder of a run or of an extracted archive; None where it has none.

    # Raises

    `DataFormatError`: a line that is not a JSON object.
    """
    path = Path(folder or ".") / FILE_NAME
    if folder is None or not path.is_file():
        return None
    requests = []
    for number, line in enumerate(path.read_bytes().splitlines(), 1):
        try:
            request = json.loads(line.decode("utf-8"), parse_constant=_no_number)
        except (ValueError, RecursionError):
            request = None
        if not isinstance(request, dict):
            text = line.decode("utf-8", "backslashreplace")
            raise DataFormatError(
                f"{path}:{number}: expected a request, a JSON object, got {quote(text)}"
            )
        requests.append(request)
    return requests
