from typing import Any, Dict, List, NamedTuple, Tuple

from allennlp_nef.data.formats.wmt_word_qe import DataFormatError, parse_alignments
from allennlp_nef.predictors.errors import describe, request_error

FIELDS = ("source", "target", "alignments", "attention")


class WordQeRequest(NamedTuple):
    """A checked request of the `word_qe` predictor."""

    source: List[str]
    target: List[str]
    alignments: List[Tuple[int, int]]
    """Pairs (source index, target index), from 0."""
    attention: bool


def parse_request(request: Any, max_tokens: int, where: str = "") -> WordQeRequest:
    """Checks a request, decoded from JSON.

    # Parameters

    request : `Any`
        An object with the `FIELDS`, the last two optional; null is as good as none.
    max_tokens : `int`
        At most so many words on either side.
    where : `str`, optional (default = `""`)
        What stands before each message.

    # Raises

    The error of `request_error`, a `ValueError`: it names the field, what was expected and what came.
    """
    if not isinstance(request, dict):
        raise request_error(
            f"{where}expected an object with the fields source and target, got {describe(request)}"
        )
    for name in request:
        if name not in FIELDS:
            raise request_error(
                f"{where}expected the fields {', '.join(FIELDS)}, got {describe(name)}"
            )
    source = _words(request, "source", max_tokens, where)
    target = _words(request, "target", max_tokens, where)
    alignments = _alignments(request.get("alignments"), len(source), len(target), where)
    attention = request.get("attention")
    if attention is not None and not isinstance(attention, bool):
        raise request_error(f"{where}attention: expected true or false, got {describe(attention)}")
    return WordQeRequest(source, target, alignments, bool(attention))


def _words(request: Dict[str, Any], name: str, max_tokens: int, where: str) -> List[str]:
    value = request.get(name)
    if isinstance(value, str):
        words = value.split()
    elif isinstance(value, list):
        words = value
    else:
        got = describe(value) if name in request else "no such field"
        raise request_error(f"{where}{name}: expected a string or a list of words, got {got}")
    if not words:
        raise request_error(f"{where}{name}: expected at least one word, got {describe(value)}")
    if len(words) > max_tokens:
        raise request_error(f"{where}{name}: expected at most {max_tokens} words, got {len(words)}")
    for index, word in enumerate(words):
        if not isinstance(word, str) or word.split() != [word]:
            raise request_error(
                f"{where}{name}: expected words without whitespace, got {describe(word)} "
                f"at index {index}"
            )
    return words


def _alignments(
    value: Any, source_length: int, target_length: int, where: str
) -> List[Tuple[int, int]]:
    """Pairs from `"0-0 1-2"`, `["0-0", "1-2"]`, `[[0, 0], [1, 2]]` or None."""
    location = f"{where}alignments"
    if value is None:
        value = ""
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
