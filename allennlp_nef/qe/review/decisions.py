"""
A reviewer's decisions, exported from a report as JSON lines.

An object has the `id`, `source` and `target` of a segment, `decision` ("accept", "reject" or null), `note`, and
`spans`: the errors in the target. Accepted segments contain only the errors that the reviewer marked, and rejected ones
all errors marked on the page. `spans` is null if the errors are unknown, because there is no decision or a rejected
segment has no marks. All other lines are training data in the error span format (see `allennlp_nef.qe.spans`).
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from allennlp_nef.data.files import parse_lines, parse_object
from allennlp_nef.errors import DataFormatError, quote
from allennlp_nef.qe.bitext.segments import SegmentPair
from allennlp_nef.qe.spans import ErrorSpan, segment_of

DECISIONS = ("accept", "reject")


@dataclass(frozen=True)
class Decision:
    """A reviewer's decision about a segment."""

    key: tuple[str, str, str]
    """The name, the source and the target of the segment."""
    decision: str | None
    note: str
    """A single line."""
    spans: list[ErrorSpan] | None
    """The errors; None if they are unknown."""

    def add_to(self, answer: Any) -> dict[str, Any]:
        """Returns a copy of an answer with the decision as `review`. Known errors replace the predicted ones."""
        if self.spans is None:
            return {**answer, "review": self}
        target = self.key[-1]
        spans = [{**each._asdict(), "text": target[each.start : each.end]} for each in self.spans]
        return {**answer, "review": self, "spans": spans}


def read_decisions(path: str) -> list[Decision]:
    """
    Reads the decisions exported from a report.

    # Raises

    `DataFormatError`: a line is not a decision, or a segment has more than one.
    """
    lines: dict[str, int] = {}
    decisions = []
    for number, decision in parse_lines(path, lambda line: _decision_of(parse_object(line))):
        first = lines.setdefault(decision.key[0], number)
        if first != number:
            raise DataFormatError(
                f"{path}:{number}: expected one decision per segment, got {quote(decision.key[0])} as in line {first}"
            )
        decisions.append(decision)
    return decisions


def _decision_of(value: dict[str, Any]) -> Decision:
    """Returns the decision in a JSON object. Raises `ValueError`."""
    name, decision, note = (value.get(field) for field in ("id", "decision", "note"))
    if not isinstance(name, str) or not isinstance(note, str) or decision not in (*DECISIONS, None):
        expected = "an object with id, decision (accept, reject or null) and note"
        raise ValueError(f"expected {expected}, got {quote(value)}")
    segment = segment_of(value)
    key = (_id_of(name), str(segment.source), segment.target)
    return Decision(key, decision, " ".join(note.split()), segment.spans)


def _id_of(name: str) -> str:
    """Returns the name of a segment without its state."""
    return name.replace(" (final)", "")


def match_decisions(
    decisions: Iterable[Decision], segments: Sequence[SegmentPair]
) -> tuple[list[Decision | None], list[Decision]]:
    """Returns the decision for each segment, and the outdated decisions, which match no segment exactly."""
    by_key = {decision.key: decision for decision in decisions}
    matched = [by_key.pop((_id_of(s.name), s.source, s.target), None) for s in segments]
    return matched, list(by_key.values())
