import json
from typing import Any

from flask import abort, current_app, request
from werkzeug.exceptions import HTTPException

from allennlp_nef.predictors.requests import describe


def read_json(max_depth: int) -> Any:
    """The JSON value in the body of Flask's current request. Raises `HTTPException` where there is none.

    `max_depth` is the limit for lists and objects within each other.
    """
    if not request.is_json:
        got = describe(request.content_type)
        abort(415, f"Content-Type: expected application/json, got {got}")
    try:
        body = request.get_data(cache=False)
    except HTTPException:  # too large, or cut off
        raise
    except Exception as error:  # noqa: BLE001  # a server raises its own where chunks are malformed
        abort(400, f"expected a whole body, got {type(error).__name__}")
    if request.content_length is None and len(body) >= current_app.config["MAX_CONTENT_LENGTH"]:
        abort(413)  # chunks: Werkzeug cuts them off there
    too_deep = f"expected JSON of at most {max_depth} levels, got more"
    try:
        value = json.loads(body)
    except RecursionError:
        abort(400, too_deep)
    except ValueError as error:
        start = describe(body[:100].decode("utf-8", "backslashreplace"))
        abort(400, f"expected JSON, got {start} ({error})")
    if _is_deeper(value, max_depth):
        abort(400, too_deep)
    return value


def _is_deeper(value: Any, limit: int) -> bool:
    """Whether a JSON value has more levels of lists and objects than `limit`. It calls itself nowhere."""
    level = [value]
    for _ in range(limit + 1):
        containers = [each for each in level if isinstance(each, (list, dict))]
        if not containers:
            return False
        level = [
            child
            for each in containers
            for child in (each.values() if isinstance(each, dict) else each)
        ]
    return True
