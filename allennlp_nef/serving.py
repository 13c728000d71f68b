"""A WSGI application that serves a model, for `allennlp-nef serve`, gunicorn and other servers:

    gunicorn 'allennlp_nef.serving:create_app("model.tar.gz")' --workers 4

Each worker loads the model and answers one request at a time.
"""

import os
from typing import TYPE_CHECKING, Any

import torch

from allennlp_nef.archives import load_predictor
from allennlp_nef.data.files import parse_json
from allennlp_nef.errors import UserError, quote, require_extra
from allennlp_nef.predictors.base import NefPredictor
from allennlp_nef.resources import folders

if TYPE_CHECKING:
    from flask import Flask


def create_app(
    archive: str,
    *,
    max_bytes: int = 2**20,
    max_batch: int = 1000,
    max_words: int = 20_000,
    threads: int = 1,
    page: str | None = None,
    **options: Any,
) -> "Flask":
    """Creates an application with the paths

    - `POST /predict`: the answer to a request, a JSON object, or the answers to a list of requests;
    - `GET /describe`: a description of the model, and the limits of this application;
    - `GET /`: the page;
    - `GET /health`: `{"status": "ok"}`.

    Each error is a JSON object with a `message`. A request that cannot be answered gets status 400, or 413 if it is too
    large.

    # Parameters

    archive : `str`
        An archive, a run folder, or the name of a trained model of this package.
    max_bytes : `int`, optional (default = `2**20`)
        The maximum size of a request body.
    max_batch : `int`, optional (default = `1000`)
        The maximum number of requests in a list.
    max_words : `int`, optional (default = `20_000`)
        The maximum number of words in a list of requests. A long word counts once more for each 16 characters. A text
        of more than 100 words counts once for each 100 words, because the time for alignments and traces grows with the
        square of its length.
    threads : `int`, optional (default = `1`)
        The number of torch threads in this process. With more than one, workers can hang if they are forked from a
        process that has already used threads, as with `gunicorn --preload`.
    page : `str`, optional (default = `None`)
        A folder with another page, `index.html`.
    options
        See `load_predictor`, such as `cuda_device` or `max_tokens`.

    # Raises

    `UserError`: see `load_predictor`; also for a wrong limit or page, if the predictor is not one of this package's, or
    if Flask is missing.
    """
    with require_extra("serve", "create_app"):
        from flask import Flask, request
        from werkzeug.exceptions import HTTPException, RequestEntityTooLarge

    limits = {"max_bytes": max_bytes, "max_batch": max_batch, "max_words": max_words}
    for name, value in {**limits, "threads": threads}.items():
        if type(value) is not int or value < 1:
            raise UserError(f"{name}: expected an integer of at least 1, got {quote(value)}")
    folder = os.path.abspath(page or folders()["pages"])  # Flask's paths begin at its module
    if not os.path.isfile(os.path.join(folder, "index.html")):
        raise UserError(f"{page}: expected a folder with an index.html")
    torch.set_num_threads(threads)
    predictor = load_predictor(archive, **options)
    if not isinstance(predictor, NefPredictor):
        raise UserError(f"{archive}: expected a predictor of allennlp_nef")
    if predictor.needs_whole_input:
        raise UserError(
            "threshold: expected a number, because a server answers requests one by one"
        )
    app = Flask(__name__, static_folder=folder, static_url_path="")
    app.config["MAX_CONTENT_LENGTH"] = max_bytes
    app.json.ensure_ascii = False  # type: ignore[attr-defined]

    @app.before_request
    def refuse_large_body() -> None:
        length = request.content_length or 0
        if length > max_bytes:
            # Clients that are still sending would see a broken connection.
            request.environ["wsgi.input"].read(min(length, 2**24))
            raise RequestEntityTooLarge(f"expected at most {max_bytes} bytes, got {length}")

    @app.post("/predict")
    def predict() -> Any:
        try:
            value = parse_json(request.get_data())
        except ValueError as error:
            raise UserError(str(error)) from None
        if not isinstance(value, list):
            return predictor.predict_json(value)
        if len(value) > max_batch:
            raise RequestEntityTooLarge(f"expected at most {max_batch} items, got {len(value)}")
        words = sum(map(_weighted_words, value))
        if words > max_words:
            raise RequestEntityTooLarge(f"expected at most {max_words} words, got {words}")
        return predictor.predict_batch_json(value)

    @app.get("/describe")
    def describe() -> Any:
        return {**predictor.description(), "max_batch": max_batch, "max_words": max_words}

    @app.get("/")
    def index() -> Any:
        return app.send_static_file("index.html")

    @app.get("/health")
    def health() -> Any:
        return {"status": "ok"}

    @app.errorhandler(UserError)
    def refuse(error: UserError) -> Any:
        return {"message": str(error)}, 400

    @app.errorhandler(RecursionError)
    def refuse_nested(error: RecursionError) -> Any:
        return {"message": "expected JSON that is not nested this deeply"}, 400

    @app.errorhandler(HTTPException)
    def explain(error: HTTPException) -> Any:
        return {"message": error.description}, error.code

    return app


def _weighted_words(request: Any) -> int:
    """Counts the words of an unchecked request. Long texts and words weigh more; two CJK characters count as a word."""
    total = 0
    for value in request.values() if isinstance(request, dict) else ():
        words = (
            value.split() if isinstance(value, str) else value if isinstance(value, list) else ()
        )
        number = sum(1 + len(word) // 16 if isinstance(word, str) else 1 for word in words)
        if isinstance(value, str):
            number += sum(character >= "\u2e80" for character in value) // 2
        total += number * max(1, number // 100)
    return total
