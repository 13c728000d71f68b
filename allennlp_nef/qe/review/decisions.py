"""
A reviewer's decisions, exported from a report as JSON lines.

An object has the `file` and the `id` of a segment, its `source` and `target`, `decision` ("accept", "reject" or null),
`note`, and `spans`: the errors in the target. Accepted segments contain only the errors that the reviewer marked, and
rejected ones all errors marked on the page. `spans` is null if the errors are unknown, because there is no decision or
a rejected segment has no marks. All other lines are training data in the error span format (see
`allennlp_nef.qe.spans`).
"""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from allennlp_nef.data.files import parse_lines, parse_object
from allennlp_nef.errors import DataFormatError, quote
from allennlp_nef.qe.bitext.segments import Bitext
from allennlp_nef.qe.span_files import segment_of
from allennlp_nef.qe.translated_sentence import TranslatedSentence


def read_decisions(path: str) -> list[TranslatedSentence]:
    """
    Reads the decisions exported from a report. The path of a target is the `file`, or "" without one.

    # Raises

    `DataFormatError`: a line is not a decision, or a segment has more than one.
    """
    lines: dict[tuple[str, str], int] = {}
    decisions = []
    for number, segment in parse_lines(path, lambda line: _decision_of(parse_object(line))):
        first = lines.setdefault((segment.target.path, segment.name), number)
        if first != number:
            raise DataFormatError(
                f"{path}:{number}: expected one decision per segment, got {quote(segment.name)} as in line {first}"
            )
        decisions.append(segment)
    return decisions


def _decision_of(value: dict[str, Any]) -> TranslatedSentence:
    """Returns the decision in a JSON object. Raises `ValueError`."""
    texts = [value.get(field, "") for field in ("file", "id", "note")]
    decision = value.get("decision")
    is_known = decision in (None, "accept", "reject")
    if not (is_known and all(isinstance(text, str) for text in texts)):
        expected = "an object with file, id, decision (accept, reject or null) and note"
        raise ValueError(f"expected {expected}, got {quote(value)}")
    file, name, note = texts
    segment = segment_of(value)
    segment.target.path, segment.name = file, _id_of(name)
    segment.decision, segment.note = decision, " ".join(note.split())
    return segment


def _id_of(name: str) -> str:
    """Returns the name of a segment without its state."""
    return re.sub(r" \((final|fuzzy)\)$", "", name)


def names_of(bitexts: Sequence[Bitext]) -> list[str]:
    """Returns the name of each file, as decisions have it: its path if there is another file with that name."""
    names = [Path(bitext.path).name for bitext in bitexts]
    return [bitext.path if names.count(name) > 1 else name for name, bitext in zip(names, bitexts)]


def apply_decisions(
    decisions: Sequence[TranslatedSentence], bitexts: Sequence[Bitext]
) -> tuple[list[TranslatedSentence], list[TranslatedSentence]]:
    """
    Adds decisions to the segments with the same file, name and texts. Files do not matter if there is only one.

    # Returns

    `tuple[list[TranslatedSentence], list[TranslatedSentence]]`
        The outdated decisions, whose segments have changed, and those for files that are not among the bitexts.
    """
    files = names_of(bitexts)
    is_one = len(files) == 1 and len({each.target.path for each in decisions}) == 1
    left = {("" if is_one else each.target.path, each.name, each.texts): each for each in decisions}
    known = {"", *files, *(bitext.path for bitext in bitexts)}
    for file, bitext in zip(files, bitexts):
        for segment in bitext.segments:
            for name in (file, bitext.path, ""):
                made = left.pop((name, _id_of(segment.name), segment.texts), None)
                if made:
                    segment.decision, segment.note = made.decision, made.note
                    segment.spans = made.spans
                    break
    outdated = [each for (file, *_), each in left.items() if file in known]
    return outdated, [each for (file, *_), each in left.items() if file not in known]
