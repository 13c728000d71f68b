"""The application, in this process and in two workers of gunicorn."""

import json
import socket
import subprocess
import sys
import time
import urllib.request
from concurrent.futures import ThreadPoolExecutor

import pytest

from allennlp_nef.archives import load_predictor
from allennlp_nef.errors import ArchiveError, UserError
from allennlp_nef.serving import create_app
from tests.conftest import ROOT

pytest.importorskip("flask")
REQUEST = {"sentence": "Anna Berg met officials in Rome ."}


@pytest.fixture(scope="module")
def archive(small_run):
    return small_run()


@pytest.fixture(scope="module")
def client(archive):
    limits = {"max_bytes": 200, "max_tokens": 10, "max_batch": 3, "max_words": 12}
    return create_app(archive, **limits).test_client()


def test_answers_are_those_of_the_predictor(client, archive):
    predictor = load_predictor(archive, max_tokens=10)
    description = {**predictor.description(), "max_batch": 3, "max_words": 12}
    assert client.get("/describe").json == description
    request = {**REQUEST, "trace": True, "id": 7}
    assert client.post("/predict", json=request).json == predictor.predict_json(request)
    assert client.post("/predict", json=[]).json == []
    assert "北" in client.post("/predict", json={"sentence": "北"}).get_data(as_text=True)


@pytest.mark.parametrize(
    "body",
    # tests/predictors has the kinds of bad lines and requests
    [b"", b"\xff", b'{"id": NaN}', b"{}", b"[{}, 7]", b'{"sentence": "\\ud800"}'],
)
def test_bad_request_gets_status_400(client, body):
    response = client.post("/predict", data=body)
    assert response.status_code == 400
    assert response.json["message"]


def test_other_errors_are_json(client):
    for response, status in (
        (client.post("/predict", data=b" " * 201), 413),
        (client.post("/predict", json=["a"] * 4), 413),
        (client.post("/predict", json=[{"sentence": "a " * 7}] * 2), 413),
        (client.post("/predict", json=[{"tokens": ["a" * 150, *"abc"]}]), 413),
        (client.put("/predict"), 405),
        (client.get("/nothing"), 404),
        (client.get("/../__init__.py"), 404),
    ):
        assert response.status_code == status
        assert response.json["message"]


def test_bug_gets_status_500(archive, monkeypatch):
    app = create_app(archive)
    monkeypatch.setattr("torch.nn.LSTM.forward", None)
    response = app.test_client().post("/predict", json=REQUEST)
    assert response.status_code == 500
    assert response.json["message"]


def test_page_and_health(client):
    page = client.get("/")
    assert (page.status_code, page.mimetype) == (200, "text/html")
    assert client.get("/page.js").status_code == 200
    assert client.get("/health").json == {"status": "ok"}


def test_a_request_that_is_nested_too_deeply_is_refused(archive):
    client = create_app(archive).test_client()
    for body in ("[" * 5000 + "]" * 5000, '{"sentence": "a", "id": ' + "[" * 900 + "]" * 900 + "}"):
        response = client.post("/predict", data=body)
        assert response.status_code in (200, 400) and response.json


def test_archive_that_cannot_be_served_is_refused(tmp_path):
    (tmp_path / "model.tar.gz").write_bytes(b"no archive")
    with pytest.raises(ArchiveError):
        create_app(str(tmp_path / "model.tar.gz"))
    with pytest.raises(UserError):
        create_app("no-such-model")


@pytest.mark.slow
def test_two_workers_of_gunicorn_answer(archive, tmp_path):
    pytest.importorskip("gunicorn")
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{listener.getsockname()[1]}"
    command = [sys.executable, "-m", "gunicorn", f"allennlp_nef.serving:create_app({archive!r})"]
    command += ["--workers", "2", "--preload", "--bind", address]

    def ask(_):
        body = json.dumps(REQUEST).encode()
        with urllib.request.urlopen(f"http://{address}/predict", body, timeout=60) as response:
            return json.load(response)

    log = tmp_path / "stderr.txt"
    with open(log, "w") as stderr, subprocess.Popen(command, cwd=ROOT, stderr=stderr) as process:
        end = time.monotonic() + 240
        while "Listening" not in log.read_text():
            assert process.poll() is None and time.monotonic() < end
            time.sleep(0.2)
        with ThreadPoolExecutor(8) as pool:
            answers = list(pool.map(ask, range(20)))
        process.terminate()
        assert process.wait(60) == 0
    assert answers == [load_predictor(archive).predict_json(REQUEST)] * 20
    assert log.read_text().count("Booting worker") == 2
