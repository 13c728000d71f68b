"""`serve`: the application of `create_app` behind a server."""

import json
import socket
import threading
import urllib.request
from queue import Queue

import pytest

from allennlp_nef.archives import load_predictor
from allennlp_nef.cli import serve as command
from tests.cli.commands import output

serving = pytest.importorskip("werkzeug.serving")


@pytest.fixture(scope="module")
def archive(small_run):
    return small_run()


def test_the_server_answers_and_has_a_page_of_its_own(archive, tmp_path, monkeypatch):
    (tmp_path / "index.html").write_text("own")
    made = Queue()

    def make_server(*arguments, make=serving.make_server):
        made.put(server := make(*arguments))
        return server

    monkeypatch.setattr(serving, "make_server", make_server)
    options = ("--port", 0, "--page", tmp_path, "--predictor-args", '{"max_words": 7}')
    thread = threading.Thread(target=output, args=(command, archive, *options))
    thread.start()
    server = made.get(timeout=60)
    try:
        address = f"http://127.0.0.1:{server.port}"
        body = json.dumps({"sentence": "Paul slept."}).encode()
        with urllib.request.urlopen(f"{address}/predict", body, timeout=60) as response:
            answer = json.load(response)
        with urllib.request.urlopen(f"{address}/describe", timeout=60) as response:
            assert json.load(response)["max_words"] == 7
        with urllib.request.urlopen(address, timeout=60) as response:
            assert response.read() == b"own"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
    assert answer == load_predictor(archive).predict("Paul slept.")


def test_a_port_in_use_is_named_before_the_model_is_loaded(nef, capsys):
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        assert nef("serve", "none.tar.gz", "--port", port) == 2
    assert str(port) in capsys.readouterr().err
