"""`serve`: the application of `create_app` behind a server."""

import json
import socket
import threading
import urllib.request
from contextlib import contextmanager
from queue import Queue

import pytest

from allennlp_nef.archives import load_predictor
from allennlp_nef.cli import serve as command
from tests.cli.commands import output

serving = pytest.importorskip("werkzeug.serving")


@pytest.fixture(scope="module")
def archive(small_run):
    return small_run()


@pytest.fixture
def serve(archive, monkeypatch):
    """`serve(*options)`: a context with the address of a server."""
    made = Queue()

    def make_server(*arguments, make=serving.make_server):
        made.put(server := make(*arguments))
        return server

    monkeypatch.setattr(serving, "make_server", make_server)

    @contextmanager
    def run(*options, host="127.0.0.1"):
        arguments = (command, archive, "--port", 0, "--host", host, *options)
        thread = threading.Thread(target=output, args=arguments)
        thread.start()
        server = made.get(timeout=60)
        try:
            yield f"http://{f'[{host}]' if ':' in host else host}:{server.port}"
        finally:
            server.shutdown()
            thread.join()
            server.server_close()

    return run


def get(address, body=None):
    with urllib.request.urlopen(address, body, timeout=60) as response:
        return response.read()


def test_the_server_answers_and_has_a_page_of_its_own(archive, serve, tmp_path, monkeypatch, capfd):
    (tmp_path / "index.html").write_text("own")
    monkeypatch.chdir(tmp_path.parent)  # the page is a relative path
    with serve("--page", tmp_path.name, "--predictor-args", '{"max_words": 7}') as address:
        answer = json.loads(get(f"{address}/predict", b'{"sentence": "Paul slept."}'))
        assert json.loads(get(f"{address}/describe"))["max_words"] == 7
        assert get(address) == b"own"
    assert answer == load_predictor(archive).predict("Paul slept.")
    assert f"at {address}\n" in capfd.readouterr().err


@pytest.mark.skipif(not socket.has_ipv6, reason="needs IPv6")
def test_the_host_may_be_an_address_of_version_6(serve):
    try:
        socket.create_server(("::1", 0), family=socket.AF_INET6).close()
    except OSError:
        pytest.skip("needs IPv6")
    with serve(host="::1") as address:
        assert json.loads(get(f"{address}/health")) == {"status": "ok"}


@pytest.mark.parametrize(
    "options",
    [
        ("--predictor-args", '{"host": "x"}'),
        ("--predictor-args", '{"page": "x"}'),
        ("--predictor-args", '{"path": "x"}'),
        ("--predictor-args", '{"max_words": "7"}'),
        ("--page", "no folder"),
        ("--page", "docs"),
        ("--port", "70000"),
        ("--host", "no.such.host.invalid"),
    ],
)
def test_a_wrong_option_is_one_line(nef, archive, capsys, options):
    assert nef("serve", archive, *options) == 2
    assert capsys.readouterr().err.count("\n") == 1


def test_a_port_in_use_is_named_before_the_model_is_loaded(nef, capsys):
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        assert nef("serve", "none.tar.gz", "--port", port) == 2
    assert str(port) in capsys.readouterr().err
