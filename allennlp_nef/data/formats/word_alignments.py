"""Word alignments as text such as 0-0 1-2, and their checks."""

import re
from collections.abc import Sequence
from typing import Any

from allennlp_nef.errors import DataFormatError, quote

# Nine digits: an index that long is outside of any sentence, and `int` refuses very long ones.
_PAIR = re.compile(r"([0-9]{1,9})-([0-9]{1,9})")


def parse_alignments(
    text: str, source_length: int, target_length: int, location: str = "alignments"
) -> list[tuple[int, int]]:
    """
    Parses Pharaoh pairs such as `"0-0 1-2"` into [(0, 0), (1, 2)], (source index, target index).

    # Raises

    `DataFormatError`: a pair that is not `i-j`, or that is outside of a source of `source_length`
    words and a target of `target_length` words; `location` begins the message.
    """
    pairs = []
    for item in text.split():
        match = _PAIR.fullmatch(item)
        if match is None:
            raise DataFormatError(
                f"{location}: expected alignments i-j (source and target word, from 0), "
                f"got {quote(item)}"
            )
        pairs.append((int(match.group(1)), int(match.group(2))))
    return check_alignments(pairs, source_length, target_length, location)


def links_of(
    value: Any, source_length: int, target_length: int, location: str = "alignments"
) -> list[tuple[int, int]] | None:
    """
    Pairs from `"0-0 1-2"`, `["0-0", "1-2"]`, `[[0, 0], [1, 2]]` or None.

    # Raises

    `DataFormatError`: another value, or what `parse_alignments` raises.
    """
    if value is None:
        return None
    if isinstance(value, list):
        value = " ".join(_as_text(item, index, location) for index, item in enumerate(value))
    if not isinstance(value, str):
        raise DataFormatError(
            f'{location}: expected a string such as "0-0 1-2" or a list, got {quote(value)}'
        )
    return parse_alignments(value, source_length, target_length, location)


def _as_text(item: Any, index: int, location: str) -> str:
    if isinstance(item, str):
        return item
    # A bool is an int to isinstance; an index of more digits is outside of any sentence.
    is_pair = isinstance(item, list | tuple) and len(item) == 2
    if is_pair and all(type(part) is int and 0 <= part < 10**9 for part in item):
        return f"{item[0]}-{item[1]}"
    raise DataFormatError(
        f"{location}: expected pairs [source index, target index] or strings such as "
        f'"0-1", from 0, got {quote(item)} at index {index}'
    )


def check_alignments(
    alignments: Sequence[Sequence[int]],
    source_length: int,
    target_length: int,
    location: str = "alignments",
) -> list[tuple[int, int]]:
    """
    Pairs (source index, target index) as a list of tuples.

    # Raises

    `DataFormatError`: something that is not a pair of integers, or a pair outside of the sentences.
    """
    pairs = []
    for pair in alignments:
        if not isinstance(pair, (tuple, list)) or len(pair) != 2:
            raise DataFormatError(_not_a_pair(pair, location))
        source, target = pair
        if type(source) is not int or type(target) is not int:  # bool is an int to isinstance
            raise DataFormatError(_not_a_pair(pair, location))
        if not (0 <= source < source_length and 0 <= target < target_length):
            inside = 0 <= source < source_length
            side, index, length = (
                ("target", target, target_length) if inside else ("source", source, source_length)
            )
            raise DataFormatError(
                f"{location}: expected {side} indices from 0 to {length - 1}, "
                f"got {index} in {source}-{target}"
            )
        pairs.append((source, target))
    return pairs


def _not_a_pair(pair: object, location: str) -> str:
    return f"{location}: expected pairs (source index, target index), got {quote(pair)}"
