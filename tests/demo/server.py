"""Serves the page in this process, with a predictor or with given answers."""

import http.server
import json
import threading
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
DEMO = ROOT / "demo"


@contextmanager
def served(predictor):
    """The address of the page with this predictor, from the application of `allennlp serve`."""
    from allennlp_server.commands.server_simple import make_app
    from werkzeug.serving import WSGIRequestHandler, make_server

    class Handler(WSGIRequestHandler):
        def log(self, *arguments):
            """Prints no line for a request."""

    app = make_app(predictor, static_dir=str(DEMO))
    with _running(make_server("127.0.0.1", 0, app, threaded=True, request_handler=Handler)) as port:
        yield f"http://127.0.0.1:{port}/"


@contextmanager
def served_with(answers, examples=None):
    """The address of the page from a server that gives these answers to `/predict`, in turn.

    After the last answer its status is 501. `examples` is the text of `examples.json`, by default that of the page.
    """
    answers = list(answers)

    class Handler(http.server.SimpleHTTPRequestHandler):
        def __init__(self, *arguments):
            super().__init__(*arguments, directory=str(DEMO))

        def do_GET(self):
            if examples is not None and self.path == "/examples.json":
                self.send_json(examples)
            else:
                super().do_GET()

        def do_POST(self):
            self.rfile.read(int(self.headers["Content-Length"]))
            if answers:
                self.send_json(json.dumps(answers.pop(0)))
            else:
                self.send_error(501)

        def send_json(self, text):
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(text.encode())))
            self.end_headers()
            self.wfile.write(text.encode())

        def log_message(self, *arguments):
            """Prints no line for a request."""

    with _running(http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)) as port:
        yield f"http://127.0.0.1:{port}/"


@contextmanager
def _running(server):
    """The port of a server, which runs in a thread."""
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield server.server_address[1]
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
