import logging
from typing import Any

from flask import Flask, current_app, jsonify, request
from werkzeug.exceptions import ClientDisconnected, HTTPException, MethodNotAllowed
from werkzeug.wsgi import get_input_stream

from allennlp_nef.errors import UserError
from allennlp_nef.predictors.requests import describe

logger = logging.getLogger(__name__)


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
