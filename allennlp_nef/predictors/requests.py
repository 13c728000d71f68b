"""Requests: their fields, checks and batches."""

import json
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from inspect import signature
from typing import Any

from allennlp.common import Params
from allennlp.common.checks import ConfigurationError
from allennlp.data import Instance
from allennlp.models import Model

from allennlp_nef.data.formats.characters import Split, SplitText, refused_word
from allennlp_nef.data.metadata import ParsingMetadata, metadata_of
from allennlp_nef.errors import UserError, summary_of, unknown_option
from allennlp_nef.models.base import DecodeOptions, options_of
from allennlp_nef.models.nef_tagger import check_can_halt, has_steps
from allennlp_nef.modules.halting import Halting
from allennlp_nef.modules.options import is_integer


def request_error(message: str) -> UserError:
    """The exception for a request that cannot be answered, with the message for whoever sent it.

    A `UserError`. Where allennlp-server is loaded it is a `ServerError` too, which the server answers with status 400
    and a JSON object that holds the message; any other exception would be a bare status 500. The server package
    is optional, so it is never imported here.
    """
    server = sys.modules.get("allennlp_server.commands.server_simple")
    if server is None:
        return UserError(message)
    return _request_error_class(server.ServerError)(message)


@cache
def _request_error_class(server_error: type[Exception]) -> type[UserError]:
    class RequestError(server_error, UserError):  # type: ignore[valid-type,misc]
        __qualname__ = "RequestError"

        def __init__(self, message: str) -> None:
            super().__init__(message, status_code=400)  # type: ignore[call-arg]
            self.args = (message,)  # ServerError puts itself there, and would print itself for ever

        def __str__(self) -> str:
            return self.args[0]

    return RequestError


def failure_message(error: Exception) -> str:
    """What an error says that ended the work on a sentence; with its type, where it is not one of the user's."""
    is_known = isinstance(error, (UserError, ConfigurationError))
    return summary_of(error) if is_known else f"{type(error).__name__}: {summary_of(error)}"


def describe(value: Any) -> str:
    """A JSON value for a message: as JSON, in ASCII, on one line, cut to 60 characters.

    A deep or large value costs no more: only what is shown is written.
    """
    if isinstance(value, (int, float)) and type(value) not in (bool, int, float):
        return f"<{type(value).__name__}>"  # from Python: one of NumPy's
    text = ""
    try:
        for piece in json.JSONEncoder().iterencode(value):
            text += piece
            if len(text) > 60:
                return text[:57] + "..."
    except (TypeError, ValueError):  # from Python: an object, an integer of thousands of digits
        return f"<{type(value).__name__}>"
    return text


CHARACTERS_A_WORD = 1000
"""A sentence has at most this many characters times `max_tokens`, each word counted as long as the longest."""


def asks_for_description(request: Any) -> bool:
    """Whether a request, decoded from JSON, is `{"describe": true}`."""
    return request == {"describe": True} and request["describe"] is True  # 1 is equal to it


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
    check_id(request, where)


def check_id(request: Any, where: str) -> None:
    """Checks the `id` of a request, if it has one. NaN and Infinity are no JSON, but Python reads them."""
    own_id = id_of(request)
    try:
        json.dumps(own_id, allow_nan=False, default=str, skipkeys=True)
    except (ValueError, RecursionError) as error:
        raise request_error(f"{where}id: expected a JSON value, got {describe(own_id)}") from error


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


def requested_options(request: dict[str, Any], model: Model, where: str) -> DecodeOptions:
    """The options among the fields of a request. Raises `request_error`, its message after `where`."""
    try:
        return decode_options(request, model)
    except ConfigurationError as error:
        raise request_error(f"{where}{summary_of(error)}") from error


def decode_options(values: Mapping[str, Any], model: Model) -> DecodeOptions:
    """The options among some values, which are fields of a request or options of a predictor; null is the same as none.

    # Raises

    `ConfigurationError`: a value of another kind, or one that the model cannot follow.
    """
    for name in ("attention", "trace", "label_probabilities"):
        if not isinstance(values.get(name), bool | None):
            raise ConfigurationError(
                f"{name}: expected true or false, got {describe(values[name])}"
            )
    for name, is_valid, expected in (
        ("threshold", lambda value: 0 < value < 1, "above 0 and below 1"),
        ("min_probability", lambda value: 0 <= value <= 1, "from 0 to 1"),
    ):
        value = values.get(name)
        # A bool is an int to isinstance.
        if value is not None and not (type(value) in (int, float) and is_valid(value)):
            raise ConfigurationError(f"{name}: expected a number {expected}, got {describe(value)}")
    max_steps, halting = values.get("max_steps"), values.get("halting")
    decoder = getattr(model, "decoder", None)
    for name, value in (("max_steps", max_steps), ("halting", halting)):
        if value is not None and not has_steps(decoder):
            got = "one without it"
            if getattr(model, "ensemble_size", 1) > 1:
                got = "an ensemble, each of whose members keeps the steps and the halting of its archive"
            raise ConfigurationError(
                f"{name}: expected a model with the decoder neural_easy_first, got {got}"
            )
    if max_steps is not None and not is_integer(max_steps):
        raise ConfigurationError(
            f"max_steps: expected an integer of at least 1, got {describe(max_steps)}"
        )
    chosen = None if halting is None else _halting_of(halting)
    check_can_halt(chosen, decoder)
    return DecodeOptions(
        attention=bool(values.get("attention")),
        trace=bool(values.get("trace")),
        label_probabilities=bool(values.get("label_probabilities")),
        threshold=values.get("threshold"),
        min_probability=values.get("min_probability"),
        max_steps=max_steps,
        halting=chosen,
    )


def _halting_of(value: Any) -> Halting:
    names = Halting.list_available()
    kind = value.get("type") if isinstance(value, dict) else None
    # A name with dots would be imported.
    if kind not in names:
        got = describe(kind if isinstance(value, dict) and "type" in value else value)
        raise ConfigurationError(
            f"halting: expected an object whose type is one of {', '.join(names)}, got {got}"
        )
    for name, each in value.items():
        if name != "type" and type(each) not in (int, float, type(None)):
            raise ConfigurationError(f"halting: {name}: expected a number, got {describe(each)}")
        if name in ("steps", "max_steps") and each is not None and not is_integer(each):
            raise ConfigurationError(
                f"halting: {name}: expected an integer of at least 1, got {describe(each)}"
            )
    options = signature(Halting.by_name(kind)).parameters
    for name in value.keys() - {"type", *options}:
        raise ConfigurationError(unknown_option(f"halting: {kind}", name, options))
    try:
        return Halting.from_params(Params(dict(value)))
    except (ConfigurationError, TypeError, ValueError) as error:
        raise ConfigurationError(f"halting: {summary_of(error)}") from error


MAX_WORDS = 2**14
"""The most words of a batch, padding included."""
MAX_CHARACTERS = 10**6
"""The most characters of a batch, with the padding of embedders: each word has as many as the longest."""
MAX_STEPS = 10**6
"""The most numbers in the traces of a batch: sentences x steps x words, where a sentence has as many steps as words;
and in the arcs of a batch: sentences x words x words."""


def batches_of(instances: Iterable[Instance], batch_size: int) -> Iterator[list[Instance]]:
    """Splits instances, in their order, into batches of at most `batch_size`, at least one.

    A batch has fewer, so that memory does not run out, where it would have more words than `MAX_WORDS`, more characters
    than `MAX_CHARACTERS`, or traces or arcs of more than `MAX_STEPS`. Instances with and without a trace go apart.
    """
    batch: list[Instance] = []
    longest = widest = 0
    is_traced = False
    for instance in instances:
        metadata: Any = metadata_of(instance)
        wants_trace = options_of(instance).is_traced
        is_square = wants_trace or isinstance(metadata, ParsingMetadata)
        sides = metadata.sides
        length, width = max(map(len, sides)), max(len(word) for side in sides for word in side)
        longest, widest = max(longest, length), max(widest, width)
        count = len(batch) + 1
        words = count * longest
        fits = (
            count <= batch_size
            and words <= MAX_WORDS
            and words * widest <= MAX_CHARACTERS
            and wants_trace == is_traced
            and not (is_square and words * longest > MAX_STEPS)
        )
        if batch and not fits:
            yield batch
            batch, longest, widest = [], length, width
        is_traced = wants_trace
        batch.append(instance)
    if batch:
        yield batch


def read_json(line: str, where: str, hint: str = "") -> Any:
    """The value of a line of JSON. Raises `request_error`, its message between `where` and `hint`."""
    try:
        return json.loads(line.lstrip("\ufeff"))
    except (ValueError, RecursionError) as error:
        raise request_error(
            f"{where}expected a JSON object on one line, got {describe(line.strip())} ({error}){hint}"
        ) from error


def id_of(request: Any) -> Any:
    """The field `id` of a request, which its answer has too; None where it has none."""
    return request.get("id") if isinstance(request, dict) else None
