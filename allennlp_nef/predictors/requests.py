"""Checks requests. An invalid request raises a `UserError` whose message begins with the name of the field."""

import re
import sys
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

from allennlp_nef.data.sentence import Sentence, Split
from allennlp_nef.errors import UserError, quote

MAX_CHARACTERS = 10**6
"""The maximum number of characters in a field, if each word is padded to the longest."""


def _is_number(value: Any) -> bool:
    return type(value) in (int, float)  # to `isinstance`, a bool is an int


Check = tuple[Callable[[Any], bool], str]
"""The values that a field accepts: a predicate, and a description."""
TEXT: Check = (lambda value: isinstance(value, str | list), "a string or a list of words")
FLAG: Check = (lambda value: isinstance(value, bool), "true or false")
ANYTHING: Check = (lambda value: True, "any value")
PROBABILITY: Check = (lambda value: _is_number(value) and 0 <= value <= 1, "a number from 0 to 1")


def check_request(request: Any, fields: dict[str, Check], required: Sequence[str]) -> None:
    """Checks that a request is an object with these fields. A field that is null counts as absent."""
    if not isinstance(request, dict):
        raise UserError(f"expected a JSON object, got {quote(request)}")
    for name, value in request.items():
        if name not in fields:
            raise UserError(f"expected the fields {', '.join(fields)}, got {quote(name)}")
        is_valid, expected = fields[name]
        if value is not None and not is_valid(value):
            raise UserError(f"{name}: expected {expected}, got {quote(value)}")
    for name in required:
        if request.get(name) is None:
            raise UserError(f"{name}: this field is missing")


def check_characters(name: str, text: str) -> None:
    """Checks that a text can be written in UTF-8."""
    surrogate = re.search("[\ud800-\udfff]", text)
    if surrogate is not None:
        raise UserError(f"{name}: not valid Unicode: unpaired surrogate {surrogate[0]!r}")


def words_of(
    request: dict[str, Any], name: str, split: Split, max_tokens: int, may_be_empty: bool = False
) -> Sentence:
    """Returns the words of a field: a string is raw text, whose words have offsets, and a list has the words.

    # Raises

    `UserError`: see `check_words`, which does not check an empty field that `may_be_empty`.
    """
    value = request[name]
    if isinstance(value, str):
        check_characters(name, value)
        words, offsets = split(value)
        sentence = Sentence(words, text=value, offsets=offsets)
    else:
        sentence = Sentence(list(value))
    if sentence.words or not may_be_empty:
        check_words(name, sentence.words, max_tokens)
    return sentence


def check_words(name: str, words: Sequence[Any], max_tokens: int) -> None:
    """Checks the number of words in a field, and the words."""
    if not 1 <= len(words) <= max_tokens:
        raise UserError(f"{name}: expected 1 to {max_tokens} words, got {len(words)}")
    for index, word in enumerate(words):
        # a no-break space may be part of a word in CoNLL-U
        if not isinstance(word, str) or not word or re.search("[ \t\r\n\f\v]", word):
            raise UserError(
                f"{name}: expected words without whitespace, got {quote(word)} at index {index}"
            )
        check_characters(name, word)
    longest = max(map(len, words))
    if longest * len(words) > MAX_CHARACTERS:  # character embedders pad words to the longest
        raise UserError(f"{name}: a word of {longest} characters is too long")


def request_error(message: str) -> UserError:
    """Returns the exception for a request that cannot be answered.

    If allennlp-server is loaded, it is also a `ServerError`, to which the server responds with status 400 and the
    message as JSON. Any other exception would produce a bare status 500.
    """
    server = sys.modules.get("allennlp_server.commands.server_simple")
    return UserError(message) if server is None else _request_error(server.ServerError)(message)


@cache
def _request_error(server_error: type[Exception]) -> type[UserError]:
    class RequestError(server_error, UserError):  # type: ignore[valid-type,misc]
        def __init__(self, message: str) -> None:
            super().__init__(message, status_code=400)  # type: ignore[call-arg]
            self.args = (message,)  # ServerError stores itself here, so its text would never end

        def __str__(self) -> str:
            return str(self.args[0])

    return RequestError
