from typing import Any, NamedTuple

from allennlp_nef.data.formats.characters import Split, split_on_whitespace
from allennlp_nef.data.formats.wmt_layouts import check_eos, tagged_side, without_eos
from allennlp_nef.data.formats.wmt_word_qe import DataFormatError, parse_alignments
from allennlp_nef.predictors.errors import describe, request_error
from allennlp_nef.predictors.requests import (
    THRESHOLD,
    check_fields,
    split_words_of,
    trace_flags,
)
from allennlp_nef.predictors.step_limits import StepLimits

REQUIRED = ("source", "target")
OPTIONAL = (
    "alignments",
    "attention",
    "trace",
    "threshold",
    "max_steps",
    "halting",
)


class WordQeRequest(NamedTuple):
    """A checked request of the `word_qe` predictor."""

    source: list[str]
    target: list[str]
    alignments: list[tuple[int, int]] | None
    """Pairs (source index, target index), from 0; None where the request has none."""
    attention: bool
    trace: bool
    threshold: float | None = None
    """Of the probability of BAD; None for the model's."""
    tagged: str = "target"
    """What the model tags."""
    text: str = ""
    """The target that came, or the source where that is tagged; of a list, its words joined by single blanks."""
    offsets: list[tuple[int, int]] | None = None
    """The start and the end of each of its words in the text; None for those of a list."""
    step_limits: StepLimits = StepLimits()
    """The predictor fills them in."""

    @property
    def sides(self) -> tuple[list[str], ...]:
        """The tokens that are tagged, and the words of the other side."""
        return tagged_side(self.tagged, self.source, self.target, ())[:2]


def parse_request(
    request: Any,
    max_tokens: int,
    where: str = "",
    tagged: str = "target",
    split_source: Split = split_on_whitespace,
    split_target: Split = split_on_whitespace,
) -> WordQeRequest:
    """Checks a request, decoded from JSON.

    # Parameters

    request : `Any`
        An object with the fields `REQUIRED` and perhaps the `OPTIONAL` ones; null is the same as no field.
    max_tokens : `int`
        The limit for the words of either side.
    where : `str`, optional (default = `""`)
        The beginning of each message.
    tagged : `str`, optional (default = `"target"`)
        What the model tags, as `wmt_word_qe` names it.
    split_source, split_target : `Split`, optional (default = `split_on_whitespace`)
        Give the words of a string.

    # Raises

    The error of `request_error`, a `ValueError`: it names the field, what was expected and what came.
    """
    check_fields(request, REQUIRED, OPTIONAL, where)
    source, source_text = split_words_of(request, "source", max_tokens, where, split_source)
    target, target_text = split_words_of(request, "target", max_tokens, where, split_target)
    try:
        check_eos(source, target, "gaps" not in tagged, (f"{where}source", f"{where}target"))
    except DataFormatError as error:
        raise request_error(str(error)) from error
    words = without_eos(target)
    alignments = _alignments(request.get("alignments"), len(source), len(words), where)
    threshold = THRESHOLD.of_request(request, where)
    flags = trace_flags(request, where)
    split = source_text if tagged == "source" else target_text
    joined = " ".join(source if tagged == "source" else target)
    text, offsets = (split.text, split.offsets) if split else (joined, None)
    return WordQeRequest(source, target, alignments, *flags, threshold, tagged, text, offsets)


def _alignments(
    value: Any, source_length: int, target_length: int, where: str
) -> list[tuple[int, int]] | None:
    """Pairs from `"0-0 1-2"`, `["0-0", "1-2"]`, `[[0, 0], [1, 2]]` or None."""
    location = f"{where}alignments"
    if value is None:
        return None
    if isinstance(value, list):
        value = " ".join(_link(item, index, location) for index, item in enumerate(value))
    if not isinstance(value, str):
        raise request_error(
            f'{location}: expected a string such as "0-0 1-2" or a list, got {describe(value)}'
        )
    try:
        return parse_alignments(value, source_length, target_length, location)
    except DataFormatError as error:
        raise request_error(str(error)) from error


def _link(item: Any, index: int, location: str) -> str:
    if isinstance(item, str):
        return item
    # A bool is an int to isinstance; an index of more digits is outside of any sentence.
    is_pair = isinstance(item, (list, tuple)) and len(item) == 2
    if is_pair and all(type(part) is int and 0 <= part < 10**9 for part in item):
        return f"{item[0]}-{item[1]}"
    raise request_error(
        f"{location}: expected pairs [source index, target index] or strings such as "
        f'"0-1", from 0, got {describe(item)} at index {index}'
    )
