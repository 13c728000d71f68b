import json
import sys
from functools import cache
from typing import Any

from allennlp.common.checks import ConfigurationError

from allennlp_nef.errors import UserError, summary_of


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


def describe(value: Any, length: int = 60) -> str:
    """A JSON value for a message: as JSON, in ASCII, on one line, cut to `length` characters.

    A deep or large value costs no more: only what is shown is written.
    """
    if isinstance(value, (int, float)) and type(value) not in (bool, int, float):
        return f"<{type(value).__name__}>"  # from Python: one of NumPy's
    text = ""
    try:
        for piece in json.JSONEncoder().iterencode(value):
            text += piece
            if len(text) > length:
                return text[: length - 3] + "..."
    except (TypeError, ValueError):  # from Python: an object, an integer of thousands of digits
        return f"<{type(value).__name__}>"
    return text
