"""Tables of sentences and their translations, and pairs of text files."""

import csv
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from allennlp_nef.data.text_files import read_lines
from allennlp_nef.errors import DataFormatError
from allennlp_nef.qe.bitext.base import Answers, Bitext, SegmentPair
from allennlp_nef.qe.files import read_parallel

ADDED = ("hter", "expected_bad_share", "start_ids", "end_ids", "errors", "probabilities")
"""The columns with scores. Starts, ends and errors are as in WMT23: -1, -1 and no-error if there are no errors."""


def read_text_pair(source: str, target: str) -> Bitext:
    lines = enumerate(read_parallel({"source": source, "target": target}), 1)
    return Bitext(
        [
            SegmentPair(f"line {number}", where["target"], line["source"], line["target"])
            for number, (line, where) in lines
        ]
    )


def read_table(path: str, ending: str) -> Bitext:
    """Reads a table. Blank lines are skipped."""
    lines = (line for _, line in read_lines(path, keepends=True))
    dialect: dict[str, Any] = {}
    if ending == ".tsv":
        dialect = {"delimiter": "\t", "quoting": csv.QUOTE_NONE, "quotechar": None}
    reader = csv.reader(lines, strict=True, **dialect)
    rows: list[tuple[int, list[str]]] = []  # with the number of the first line
    number = 1
    try:
        for cells in reader:
            rows += [(number, cells)] if cells else []
            number = reader.line_num + 1
    except csv.Error as error:
        raise DataFormatError(f"{path}:{number}: {error}") from None
    names = [name.strip().lower() for name in rows[0][1]] if rows else []
    has_names = "source" in names and "target" in names
    width = len(names) if has_names else 2
    left, right = (names.index("source"), names.index("target")) if has_names else (0, 1)
    segments = []
    for number, cells in rows[has_names:]:
        if len(cells) != width:
            raise DataFormatError(f"{path}:{number}: expected {width} columns, got {len(cells)}")
        segments.append(
            SegmentPair(f"line {number}", f"{path}:{number}", cells[left], cells[right])
        )

    def write(draft: Path, answers: Answers) -> None:
        added = [list(ADDED)] * has_names + [_cells(answer) for answer in answers]
        with open(draft, "w", encoding="utf-8", newline="") as file:
            writer = csv.writer(file, lineterminator="\n", **dialect)
            writer.writerows(cells + new for (_, cells), new in zip(rows, added))

    return Bitext(segments, write=write)


def _cells(answer: Mapping[str, Any]) -> list[str]:
    """The cells of the columns `ADDED`."""
    if "error" in answer:
        return [""] * len(ADDED)
    spans = answer["spans"]
    columns: list[list[Any]] = [
        [span["start"] for span in spans] or [-1],
        [span["end"] for span in spans] or [-1],
        [span.get("severity", "major") for span in spans] or ["no-error"],
        [f"{span['probability']:.4f}" for span in spans],
    ]
    scores = [f"{answer[name]:.4f}" if name in answer else "" for name in ADDED[:2]]
    return [*scores, *(" ".join(map(str, column)) for column in columns)]
