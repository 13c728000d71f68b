"""A WSGI application that serves a model, for gunicorn and other servers:

    OMP_NUM_THREADS=1 gunicorn 'allennlp_nef.serving:create_app("model.tar.gz")' --workers 4

Each worker loads the model and answers one request at a time.
"""

import json
from typing import TYPE_CHECKING, Any

from allennlp_nef.errors import UserError, needing
from allennlp_nef.predictors.archives import load_predictor
from allennlp_nef.predictors.base import NefPredictor
from allennlp_nef.resources import folders

if TYPE_CHECKING:
    from flask import Flask


def create_app(archive: str, max_bytes: int = 2**20, **options: Any) -> "Flask":
    """
    Creates an application with the paths

    - `POST /predict`: the answer to a request, a JSON object, or the answers to a list of requests;
    - `GET /`: the demo page;
    - `GET /health`: `{"status": "ok"}`.

    Each error is a JSON object with a `message`. A request that cannot be answered gets status 400.

    # Parameters

    archive : `str`
        An archive, the folder of a training run, or the name of a trained model of this package.
    max_bytes : `int`, optional (default = `2**20`)
        The limit for the body of a request; a longer one gets status 413.
    options
        See `load_predictor`, such as `cuda_device` or `max_tokens`.

    # Raises

    `UserError`: see `load_predictor`; the archive has no predictor of this package, or Flask is missing.
    """
    with needing("serve", "create_app"):
        from flask import Flask, jsonify, request
        from werkzeug.exceptions import HTTPException

    predictor = load_predictor(archive, **options)
    if not isinstance(predictor, NefPredictor):
        raise UserError(f"{archive}: expected a predictor of allennlp_nef")
    app = Flask(__name__, static_folder=str(folders()["demo"]), static_url_path="")
    app.config["MAX_CONTENT_LENGTH"] = max_bytes

    @app.post("/predict")
    def predict() -> Any:
        body = request.get_data()
        try:
            value = json.loads(body)
        except (ValueError, RecursionError) as error:
            raise UserError(f"expected JSON ({error})") from None
        if isinstance(value, list):
            return jsonify(predictor.predict_batch_json(value))
        return jsonify(predictor.predict_json(value))

    @app.get("/")
    def page() -> Any:
        return app.send_static_file("index.html")

    @app.get("/health")
    def health() -> Any:
        return {"status": "ok"}

    @app.errorhandler(UserError)
    def refuse(error: UserError) -> Any:
        return {"message": str(error)}, 400

    @app.errorhandler(HTTPException)
    def explain(error: HTTPException) -> Any:
        return {"message": error.description}, error.code

    return app
