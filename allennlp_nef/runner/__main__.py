"""Tags requests with an exported tagger: `python FOLDER < requests.jsonl > answers.jsonl`."""

import argparse
import json
import os
import sys
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

from allennlp_nef.errors import FileError, UserError, quote, summary_of
from allennlp_nef.runner.requests import Sentence, parse_request
from allennlp_nef.runner.tagger import ExportedTagger

LINES = 4096
"""So many are tagged at once."""


def main() -> int:
    """Runs the program, and returns its exit status: 2 for a request that cannot be answered."""
    parser = argparse.ArgumentParser(prog="python FOLDER", description=__doc__)
    parser.add_argument(
        "input", nargs="?", help="JSON objects, one a line (default: -, standard input)"
    )
    parser.add_argument("--threads", type=int, default=1, help="at least 1 (default: 1)")
    parser.add_argument("--int8", action="store_true", help="use the quantized model")
    args = parser.parse_args()
    path = None if args.input == "-" else args.input
    model = "tagger.int8.onnx" if args.int8 else "tagger.onnx"
    try:
        tagger = ExportedTagger(str(Path(__file__).resolve().parent), args.threads, model)
        with _opened(path) as lines:
            requests = _requests(lines, path or "standard input", tagger.task == "word_qe")
            while True:
                sentences = list(islice(requests, LINES))
                if not sentences:
                    return 0
                for answer in tagger.tag_sentences(sentences):
                    sys.stdout.write(json.dumps(answer) + "\n")
                sys.stdout.flush()
    except BrokenPipeError:  # the reader of the answers, such as `head`, has ended
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except UserError as error:
        print(f"error: {error}", file=sys.stderr)
        return error.exit_status


def _opened(path: Any) -> Any:
    if not path:
        return sys.stdin.buffer
    try:
        return open(path, "rb")
    except OSError as error:
        raise FileError(f"{path}: expected a file, got {error.strerror}") from error


def _requests(lines: Iterable[bytes], name: str, is_pair: bool) -> Iterator[Sentence]:
    for number, line in enumerate(lines, 1):
        where = f"{name}:{number}: "
        try:
            text = line.decode("utf-8-sig")
            request = json.loads(text) if text.strip() else None
        except (ValueError, RecursionError) as error:
            start = line[:80].decode("utf-8", "backslashreplace").strip()
            raise UserError(
                f"{where}expected a JSON object on one line, got {quote(start)} ({summary_of(error)})"
            ) from error
        if text.strip():
            yield parse_request(request, is_pair, where)


if __name__ == "__main__":
    sys.exit(main())
