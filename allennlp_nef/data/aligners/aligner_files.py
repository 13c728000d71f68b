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
            [value for pair in _numbered(lexicon.links.get(word, {}), numbers) for value in pair]
            for word, _ in sides["source"]
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
    return _Content(path, content).aligner()


def _numbered(links: dict[str, int], numbers: dict[str, int]) -> list[Any]:
    return sorted((numbers[word], count) for word, count in links.items())


class _Content:
    """The JSON of a file; its fields are checked where they are asked for."""

    def __init__(self, path: str, content: dict[str, Any]) -> None:
        self._path = path
        self._content = content

    def aligner(self) -> LexicalAligner:
        source, target = self._counts("source"), self._counts("target")
        words = list(target)
        links = self._content.get("links")
        self._check("links", "a list for each source word", _is_list(links, len(source)), links)
        table = {}
        for word, row in zip(source, links):  # type: ignore[arg-type]
            is_right = isinstance(row, list) and len(row) % 2 == 0 and all(map(_is_count, row))
            is_right = is_right and all(number < len(words) for number in row[::2])
            self._check("links", "numbers of target words and counts", is_right, row)
            if row:
                table[word] = {words[n]: count for n, count in zip(row[::2], row[1::2])}
        weights = self._content.get("weights")
        is_right = _is_list(weights, len(NUM_WEIGHTS))
        for number, row in zip(NUM_WEIGHTS, weights if is_right else ()):  # type: ignore[arg-type]
            is_right = is_right and _is_list(row, number) and all(map(_is_number, row))
        self._check(
            "weights",
            f"lists of {NUM_WEIGHTS} numbers of at most {MAX_WEIGHT:g}",
            is_right,
            weights,
        )
        threshold = self._content.get("threshold")
        is_right = _is_number(threshold) and 0 < threshold < 1  # type: ignore[operator]
        self._check("threshold", "a number between 0 and 1", is_right, threshold)
        return LexicalAligner(Lexicon(source, target, table), weights, threshold)  # type: ignore[arg-type]

    def _counts(self, side: str) -> dict[str, int]:
        field = self._content.get(side)
        self._check(side, "an object with words and counts", isinstance(field, dict), field)
        words, counts = (field.get(name) for name in ("words", "counts"))  # type: ignore[union-attr]
        is_right = isinstance(words, list) and all(isinstance(word, str) and word for word in words)
        is_right = is_right and len(set(words)) == len(words)
        self._check(f"{side}.words", "a list of different words", is_right, words)
        is_right = _is_list(counts, len(words)) and all(map(_is_count, counts))
        self._check(f"{side}.counts", "a count for each word", is_right, counts)
        return dict(zip(words, counts))

    def _check(self, field: str, expected: str, is_right: bool, value: Any) -> None:
        if not is_right:
            raise DataFormatError(f"{self._path}: {field}: expected {expected}, got {quote(value)}")


def _is_list(value: Any, length: int) -> bool:
    return isinstance(value, list) and len(value) == length


def _is_count(value: Any) -> bool:
    return type(value) is int and 0 <= value < 2**53  # bool is an int to isinstance


def _is_number(value: Any) -> bool:
    return type(value) in (int, float) and abs(value) <= MAX_WEIGHT
