"""Tags requests with an exported tagger: `python FOLDER < requests.jsonl > answers.jsonl`."""

import argparse
import json
import sys
from itertools import islice
from pathlib import Path
from typing import Any, Iterator

from allennlp_nef.errors import UserError
from allennlp_nef.runner.tagger import ExportedTagger

LINES = 4096
"""So many are tagged at once."""


def main() -> int:
    """Runs the program, and returns its exit status: 2 for a request that cannot be answered."""
    parser = argparse.ArgumentParser(prog="python FOLDER", description=__doc__)
    parser.add_argument(
        "input", nargs="?", help="JSON objects, one a line (default: standard input)"
    )
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--int8", action="store_true", help="use the quantized model")
    args = parser.parse_args()
    model = "tagger.int8.onnx" if args.int8 else "tagger.onnx"
    try:
        tagger = ExportedTagger(str(Path(__file__).resolve().parent), args.threads, model)
        source: Any = open(args.input, encoding="utf-8") if args.input else sys.stdin  # noqa: SIM115
        with source:
            lines = enumerate(source, 1)
            while True:
                requests = list(_requests(islice(lines, LINES)))
                if not requests:
                    return 0
                for answer in tagger.tag(requests):
                    sys.stdout.write(json.dumps(answer) + "\n")
    except (OSError, UserError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2


def _requests(lines: Iterator[Any]) -> Iterator[Any]:
    for number, line in lines:
        if line.strip():
            try:
                yield json.loads(line)
            except ValueError as error:
                raise UserError(
                    f"line {number}: expected a JSON object, got {line.strip()[:40]!r}"
                ) from error


if __name__ == "__main__":
    sys.exit(main())
