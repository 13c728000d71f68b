"""A headless Chromium, and a server of the page."""

import http.server
import json
import threading
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import pytest

from tests.demo.chromium import chromium, missing_program

DEMO = Path(__file__).resolve().parent.parent.parent / "allennlp_nef" / "demo"


@pytest.fixture(scope="session")
def browser():
    pytest.importorskip("selenium", reason="needs selenium")
    program = missing_program()
    if program:
        pytest.skip(f"needs {program}")
    with chromium() as browser:
        yield browser


@pytest.fixture
def page(browser):
    """The browser; no message may be in its console at the end, but for those of refused requests."""
    browser.errors()
    yield browser
    assert [error for error in browser.errors() if "status of 400" not in error] == []


@contextmanager
def served(predictor):
    """The address of the page, on a server that answers like `allennlp serve` with this predictor."""

    class Handler(http.server.SimpleHTTPRequestHandler):
        def do_POST(self):
            request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            try:
                status, answer = 200, predictor.predict_json(request)
            except ValueError as error:
                status, answer = 400, {"message": str(error)}
            content = json.dumps(answer).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *arguments):
            """Prints no line for a request."""

    handler = partial(Handler, directory=str(DEMO))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}/"
        finally:
            server.shutdown()
            thread.join()
