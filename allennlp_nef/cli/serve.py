"""`allennlp-nef serve`: a development server with a web page."""

import argparse
import errno
import socket
import sys
from collections.abc import Iterator
from typing import Any

from allennlp_nef.cli.arguments import PREDICTOR_OPTIONS, add_predictor
from allennlp_nef.errors import UserError, require_extra

DETAILS = (
    """
    %(prog)s ner-multilingual --port 8000
    curl localhost:8000/predict -H 'Content-Type: application/json' \\
        -d '{"sentence": "Anna Berg works in Oslo."}'

The server has the routes of `allennlp_nef.serving.create_app`: POST /predict, GET /describe, GET /health, and the page
at GET /. It is a development server: it answers one request at a time and has no authentication. Use gunicorn and
create_app in production.

--predictor-args is a JSON object of options of create_app (max_bytes, max_batch, max_words, threads) and of the
predictor, such as:

"""
    + PREDICTOR_OPTIONS
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_predictor(parser)
    add = parser.add_argument
    add("--host", default="127.0.0.1", help="address to listen on")
    add("--port", type=int, default=8000, help="port to listen on; 0 chooses a free one")
    add("--page", metavar="FOLDER", help="a folder with another page (index.html)")


def run(args: argparse.Namespace) -> Iterator[str]:
    options = {**args.predictor_args, "name": args.predictor}
    for name in ("cuda_device", "overrides", "page", "trust"):
        options[name] = getattr(args, name)
    server = make_server(args.archive, args.host, args.port, options)
    host = f"[{args.host}]" if ":" in args.host else args.host
    print(f"serving {args.archive} at http://{host}:{server.port}", file=sys.stderr)
    server.serve_forever()
    yield from ()


def make_server(archive: str, host: str, port: int, options: dict[str, Any]) -> Any:
    """The server of an application that `create_app` makes; the options are those of `create_app`."""
    from allennlp_nef.serving import create_app

    with require_extra("serve", "serve"):
        from werkzeug import serving
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:  # before the model is loaded
        socket.create_server((host, port), family=family).close()
    except (OSError, OverflowError) as error:
        if getattr(error, "errno", None) == errno.EADDRINUSE:
            raise UserError(f"port {port} on {host} is already in use") from error
        reason = getattr(error, "strerror", None) or error
        raise UserError(f"cannot use port {port} on {host}: {reason}") from error
    return serving.make_server(host, port, create_app(archive, **options))
