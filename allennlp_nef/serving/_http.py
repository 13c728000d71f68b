"""Bodies of requests, and answers to those that are wrong."""

import json
import logging
from typing import Any

from flask import Flask, abort, current_app, jsonify, request
from werkzeug.exceptions import ClientDisconnected, HTTPException, MethodNotAllowed
from werkzeug.wsgi import get_input_stream

from allennlp_nef.errors import UserError
from allennlp_nef.predictors.requests import describe

logger = logging.getLogger(__name__)


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


def answer_errors_in_json(app: Flask) -> None:
    """Makes an application answer errors with a JSON object that has `message`.

    A request that the predictor refuses gets status 400. An error of another kind is logged and gets status 500.
    """

    @app.errorhandler(UserError)
    def refuse(error: UserError) -> Any:
        return jsonify({"message": str(error)}), 400

    @app.errorhandler(HTTPException)
    def explain(error: HTTPException) -> Any:
        response = error.get_response()
        if error.code in (404, 405, 413, 415):
            _skip_body()
        if isinstance(error, ClientDisconnected):
            response.status_code = 408
        response.data = jsonify({"message": _message(error)}).data
        response.content_type = "application/json"
        return response

    @app.errorhandler(Exception)
    def report(error: Exception) -> Any:
        logger.error("%s %s failed", request.method, request.path, exc_info=error)
        return jsonify({"message": "internal error; the server's log says more"}), 500


def _skip_body() -> None:
    """Reads the body, if it is not far too large: a server may close connections with a large unread one."""
    limit = 10 * current_app.config["MAX_CONTENT_LENGTH"]
    try:
        stream = get_input_stream(request.environ, max_content_length=limit)
        while stream.read(2**16):
            pass
    except Exception as error:  # noqa: BLE001  # each server has its own for what is no body
        logger.debug("The body was not read: %s", error)


def _message(error: HTTPException) -> str:
    if isinstance(error, ClientDisconnected):
        return "expected a whole body"
    if error.code == 404:
        return f"expected a path of this server, such as /predict, got {describe(request.path)}"
    if isinstance(error, MethodNotAllowed):
        expected = sorted(set(error.valid_methods or ()) - {"HEAD", "OPTIONS"})
        return f"expected {' or '.join(expected)}, got {request.method}"
    if error.code == 413:
        return f"expected a body of at most {current_app.config['MAX_CONTENT_LENGTH']} bytes"
    return error.description or error.name
