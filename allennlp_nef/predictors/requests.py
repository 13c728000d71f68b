"""Checks of requests, decoded from JSON.

Each error is that of `request_error`: it names the field, what was expected and what came. `where` begins its message.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from allennlp.common.checks import ConfigurationError

from allennlp_nef.data.formats.characters import Split, SplitText, refused_word
from allennlp_nef.predictors.errors import describe, request_error

CHARACTERS_A_WORD = 1000
"""A sentence has at most this many characters times `max_tokens`, each word counted as long as the longest."""


def asks_for_description(request: Any) -> bool:
    """Whether a request, decoded from JSON, is `{"describe": true}`."""
    return request == {"describe": True} and request["describe"] is True  # 1 is equal to it


def check_list(requests: Any, max_batch: int) -> None:
    """Checks that requests are a list of at most `max_batch` items."""
    if not isinstance(requests, list):
        raise request_error(f"expected a list of objects, got {describe(requests)}")
    if len(requests) > max_batch:
        raise request_error(f"expected at most {max_batch} items, got {len(requests)}")


def check_fields(
    request: Any, required: Sequence[str], optional: Sequence[str], where: str, link: str = "and"
) -> None:
    """Checks that a request is an object with no other fields than these and `id`.

    `link` is "and" where all required fields are needed, and "or" where one of them is.
    """
    noun = "fields" if len(required) > 1 and link == "and" else "field"
    needed = f"the {noun} {f' {link} '.join(required)}"
    if not isinstance(request, dict):
        raise request_error(f"{where}expected an object with {needed}, got {describe(request)}")
    optional = (*optional, "id")
    for name in request:
        if name not in required and name not in optional:
            raise request_error(
                f"{where}expected {needed} (optional: {', '.join(optional)}), got {describe(name)}"
            )


def trace_flags(request: dict[str, Any], where: str) -> tuple[bool, bool]:
    """The fields `attention` and `trace` of a request."""
    return flag_of(request, "attention", where), flag_of(request, "trace", where)


def words_of(
    request: dict[str, Any],
    name: str,
    max_tokens: int,
    where: str,
    is_word: Callable[[str], bool] = lambda text: text.split() == [text],
    split: Callable[[str], list[str]] = str.split,
) -> list[str]:
    """The words of a field, which is a string that `split` splits, or a list of words."""
    value = request.get(name)
    if isinstance(value, str):
        words = split(value)
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
        if not isinstance(word, str) or not (isinstance(value, str) or is_word(word)):
            raise request_error(
                f"{where}{name}: expected words without whitespace, got {describe(word)} "
                f"at index {index}"
            )
    refused = refused_word(words)
    if refused:
        raise request_error(f"{where}{name}: {refused.reason} at index {refused.position}")
    # Embedders of characters pad each word to the longest.
    longest = max(map(len, words))
    if longest * len(words) > CHARACTERS_A_WORD * max_tokens:
        raise request_error(
            f"{where}{name}: expected words of at most {CHARACTERS_A_WORD * max_tokens // len(words)} characters "
            f"(in {len(words)} words), got {longest}"
        )
    return words


def split_words_of(
    request: dict[str, Any],
    name: str,
    max_tokens: int,
    where: str,
    split: Split,
) -> tuple[list[str], SplitText | None]:
    """As `words_of`, with the text and the places of the words in it; None for a list of words."""
    value = request.get(name)
    text = split(value) if isinstance(value, str) else None
    words = words_of(request, name, max_tokens, where, split=lambda _: text.words if text else [])
    return words, text


def flag_of(request: dict[str, Any], name: str, where: str) -> bool:
    """A field that is true, false, null or missing."""
    value = request.get(name)
    if value is not None and not isinstance(value, bool):
        raise request_error(f"{where}{name}: expected true or false, got {describe(value)}")
    return bool(value)


class Fraction(NamedTuple):
    """A number between 0 and 1, as a field of a request and as an option of a predictor."""

    name: str
    has_ends: bool
    """Whether 0 and 1 are allowed."""

    def of_request(self, request: dict[str, Any], where: str) -> float | None:
        """The value of the field; None where it is null or missing. Raises `request_error`."""
        value = request.get(self.name)
        if not self._is_valid(value):
            raise request_error(f"{where}{self._expected}, got {describe(value)}")
        return value

    def of_option(self, value: Any) -> float | None:
        """The value of the option, which it checks. Raises `ConfigurationError`."""
        if not self._is_valid(value):
            raise ConfigurationError(f"{self._expected}, got {value!r}")
        return value

    @property
    def _expected(self) -> str:
        ends = "from 0 to 1" if self.has_ends else "above 0 and below 1"
        return f"{self.name}: expected a number {ends}"

    def _is_valid(self, value: Any) -> bool:
        if value is None or (self.has_ends and type(value) in (int, float) and value in (0, 1)):
            return True
        return type(value) in (int, float) and 0 < value < 1  # a bool is an int to isinstance


THRESHOLD = Fraction("threshold", False)
MIN_PROBABILITY = Fraction("min_probability", True)
