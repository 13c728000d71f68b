"""The WSGI application."""

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from allennlp_nef.errors import UserError, needing
from allennlp_nef.modules.options import check_integers
from allennlp_nef.packages import import_packages
from allennlp_nef.predictors.archives import load_predictor
from allennlp_nef.predictors.base import CheckedPredictor
from allennlp_nef.predictors.requests import asks_for_description
from allennlp_nef.serving.batching import BatchingPredictor

if TYPE_CHECKING:
    from flask import Flask


def create_app(
    archive: str,
    predictor: str | None = None,
    static_dir: str | None = None,
    max_bytes: int = 2**20,
    max_depth: int = 20,
    include_package: Sequence[str] = (),
    **options: Any,
) -> "Flask":
    """A WSGI application that answers requests with an archive.

    It has the paths `/predict` and `/predict_batch` of `allennlp serve`, with the same answers, and `/healthz` and
    `/metrics`. Whatever is wrong with a request is answered with a JSON object that has `message`. Requests that come
    at the same time are answered together.

    # Parameters

    archive : `str`
        The archive, or the folder of a training run.
    predictor : `str`, optional (default = `None`, that of the model)
        The registered name of one of this package's predictors.
    static_dir : `str`, optional (default = `None`)
        A folder with `index.html`, such as that of the page for the browser. All its files are handed out.
    max_bytes : `int`, optional (default = `1048576`, 1 MiB)
        At least 1. The limit for the body of a request; more is answered with status 413.
    max_depth : `int`, optional (default = `20`)
        At least 1. The limit for lists and objects within each other; more is answered with status 400. The deepest
        request that can be answered has 4.
    include_package : `Sequence[str]`, optional (default = `()`)
        Packages to import before the archive is loaded, whose components it has.
    options
        Those of `load_predictor`, such as `max_tokens`, `max_batch` and `cuda_device`.

    # Raises

    `UserError`: a package that is not installed, no archive that can be loaded, a predictor of another package, no
    such folder.
    """
    with needing("serve,gunicorn", "create_app"):
        from flask import Flask, Response, jsonify, send_from_directory
        from werkzeug.exceptions import MethodNotAllowed

        from allennlp_nef.serving._http import answer_errors_in_json, read_json
        from allennlp_nef.serving._metrics import Metrics

    check_integers(max_bytes=max_bytes, max_depth=max_depth)
    if static_dir is not None and not os.path.isfile(os.path.join(static_dir, "index.html")):
        raise UserError(f"static_dir: expected a folder with index.html, got {static_dir}")
    import_packages(include_package)
    loaded: CheckedPredictor = load_predictor(archive, name=predictor, **options)
    app = Flask(__name__, static_folder=None)
    app.config["MAX_CONTENT_LENGTH"] = max_bytes
    metrics = Metrics()
    metrics.watch(app)
    answer_errors_in_json(app)
    batching = BatchingPredictor(loaded, metrics.batch.observe)

    @app.post("/predict")
    def predict() -> Any:
        value = read_json(max_depth)
        if asks_for_description(value):
            return jsonify(loaded.description())
        return jsonify(batching.answers([loaded._json_to_instance(value)])[0])

    @app.post("/predict_batch")
    def predict_batch() -> Any:
        return jsonify(batching.answers(loaded.instances_of(read_json(max_depth))))

    @app.get("/healthz")
    def health() -> Any:
        return jsonify({"status": "ok"})

    @app.get("/metrics")
    def figures() -> Any:
        return Response(metrics.text(), content_type=metrics.content_type)

    if static_dir is not None:
        folder = os.path.abspath(static_dir)

        @app.get("/", defaults={"path": "index.html"})
        @app.get("/<path:path>")
        def page(path: str) -> Any:
            if path in ("predict", "predict_batch"):
                raise MethodNotAllowed(["POST", "OPTIONS"])
            return send_from_directory(folder, path)

    return app
