"""The file of an aligner: gzipped JSON, with equal bytes for equal aligners."""

import gzip
import io
import json
import os
import tempfile
import zlib
from pathlib import Path
from typing import Any

from allennlp_nef.data.aligners.lexical_aligner import NUM_WEIGHTS, LexicalAligner, Lexicon
from allennlp_nef.data.formats.text_files import check_file, read_bytes
from allennlp_nef.errors import DataFormatError, quote
from allennlp_nef.resources import ALIGNER_NAME

MAX_BYTES = 2**26
"""Of the JSON. A file of `MAX_PAIRS` pairs of words has less than a quarter of it."""
MAX_WEIGHT = 1e6
"""Features are below 100: the scores of an aligner stay finite."""
_FORMAT = {"format": "allennlp_nef lexical aligner", "version": 1}


def save_aligner(aligner: LexicalAligner, path: str) -> None:
    """Writes an aligner. The file appears at once, and whole."""
    lexicon = aligner.lexicon
    sides = {"source": sorted(lexicon.source.items()), "target": sorted(lexicon.target.items())}
    numbers = {word: number for number, (word, _) in enumerate(sides["target"])}
    content = {
        **_FORMAT,
        **{name: dict(zip(("words", "counts"), zip(*side))) for name, side in sides.items()},
        "links": [
            [value for pair in sorted(row) for value in pair]
            for row in (
                [(numbers[other], count) for other, count in lexicon.links.get(word, {}).items()]
                for word, _ in sides["source"]
            )
        ],
        "weights": aligner.weights,
        "threshold": aligner.threshold,
    }
    text = json.dumps(content, ensure_ascii=True, separators=(",", ":"))
    data = gzip.compress(text.encode("ascii"), 9, mtime=0)
    with tempfile.TemporaryDirectory(
        dir=os.path.dirname(path) or ".", prefix=".aligner-"
    ) as folder:
        draft = Path(folder) / ALIGNER_NAME
        draft.write_bytes(data)
        os.replace(draft, path)


def load_aligner(path: str) -> LexicalAligner:
    """Reads an aligner.

    # Raises

    `DataFormatError`: no such file, one that is too large, or whose content is not that of an aligner; it names the
    field.
    """
    check_file(path, "the file of an aligner")
    try:
        with gzip.open(io.BytesIO(read_bytes(path))) as file:
            data = file.read(MAX_BYTES + 1)
        if len(data) > MAX_BYTES:
            raise DataFormatError(
                f"{path}: expected an aligner of at most {MAX_BYTES} bytes of JSON, got more"
            )
        content = json.loads(data)
    except (EOFError, gzip.BadGzipFile, zlib.error, RecursionError, ValueError) as error:
        if isinstance(error, DataFormatError):
            raise
        raise DataFormatError(
            f"{path}: expected gzipped JSON, got another file ({type(error).__name__}); an aligner is a file such as "
            "aligner.json.gz"
        ) from error
    if not isinstance(content, dict) or content.get("format") != _FORMAT["format"]:
        raise DataFormatError(f"{path}: expected an aligner, got other JSON")
    if content.get("version") != _FORMAT["version"]:
        raise DataFormatError(
            f"{path}: version: expected {_FORMAT['version']}, got {quote(content.get('version'))}"
        )
    return _aligner_of(path, content)


def _aligner_of(path: str, content: dict[str, Any]) -> LexicalAligner:
    """The aligner of the JSON of a file. Raises a `DataFormatError` for the first field that is wrong."""

    def check(field: str, expected: str, value: object, is_right: bool) -> None:
        if not is_right:
            raise DataFormatError(f"{path}: {field}: expected {expected}, got {quote(value)}")

    def counts_of(side: str) -> dict[str, int]:
        table = content.get(side)
        check(side, "an object with words and counts", table, isinstance(table, dict))
        words, counts = (content[side].get(name) for name in ("words", "counts"))
        is_right = isinstance(words, list) and all(isinstance(word, str) and word for word in words)
        is_right = is_right and len(set(words)) == len(words)
        check(f"{side}.words", "a list of different words", words, is_right)
        is_right = _is_list(counts, len(words)) and all(map(_is_count, counts))
        check(f"{side}.counts", "a count for each word", counts, is_right)
        return dict(zip(words, counts))

    source, target = counts_of("source"), counts_of("target")
    links, weights, threshold = (content.get(name) for name in ("links", "weights", "threshold"))
    check("links", "a list for each source word", links, _is_list(links, len(source)))
    words = list(target)
    table: dict[str, dict[str, int]] = {}
    for word, row in zip(source, content["links"]):
        is_right = isinstance(row, list) and len(row) % 2 == 0 and all(map(_is_count, row))
        is_right = is_right and all(number < len(words) for number in row[::2])
        check("links", "numbers of target words and counts", row, is_right)
        if row:
            table[word] = {words[n]: count for n, count in zip(row[::2], row[1::2])}
    is_right = isinstance(weights, list) and [
        len(row) if isinstance(row, list) and all(map(_is_number, row)) else None for row in weights
    ] == list(NUM_WEIGHTS)
    expected = f"lists of {NUM_WEIGHTS} numbers of at most {MAX_WEIGHT:g}"
    check("weights", expected, weights, is_right)
    is_right = _is_number(threshold) and 0 < content["threshold"] < 1
    check("threshold", "a number between 0 and 1", threshold, is_right)
    return LexicalAligner(Lexicon(source, target, table), content["weights"], content["threshold"])


def _is_list(value: Any, length: int) -> bool:
    return isinstance(value, list) and len(value) == length


def _is_count(value: Any) -> bool:
    return type(value) is int and 0 <= value < 2**53  # bool is an int to isinstance


def _is_number(value: Any) -> bool:
    return type(value) in (int, float) and abs(value) <= MAX_WEIGHT
