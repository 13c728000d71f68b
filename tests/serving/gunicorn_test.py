"""gunicorn with the package's settings, as a program."""

import http.client
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from contextlib import contextmanager
from pathlib import Path

import pytest

pytest.importorskip("flask")
pytest.importorskip("gunicorn")
pytest.importorskip("prometheus_client")

GOOD = {"source": "the red house", "target": "das rote Haus"}
SECONDS = 60


class Server:
    def __init__(self, process, port, folder):
        self.process, self.port, self.folder = process, port, folder

    def ask(self, path, value=None, connection=None):
        """The status and the body of the response to a request, POST where it has a value."""
        own = connection or http.client.HTTPConnection("127.0.0.1", self.port, timeout=SECONDS)
        headers = {"Content-Type": "application/json"}
        body = None if value is None else json.dumps(value)
        own.request("GET" if value is None else "POST", path, body, headers)
        response = own.getresponse()
        data = response.read().decode()
        if connection is None:
            own.close()
        return response.status, data

    def figures(self):
        """The values of the metrics by name and labels."""
        status, body = self.ask("/metrics")
        assert status == 200, body
        lines = body.splitlines()
        return {
            name: float(value)
            for name, value in (line.rsplit(" ", 1) for line in lines if line[0] != "#")
        }

    def workers(self):
        path = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children")
        return set(map(int, path.read_text().split()))


@contextmanager
def serving(archive, folder, root):
    """A server of two workers, each with four threads; it writes to `log` in the folder."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port = listener.getsockname()[1]
    command = [sys.executable, "-m", "gunicorn", "--bind", f"127.0.0.1:{port}", "--threads", "4"]
    command += ["--config", "python:allennlp_nef.serving._gunicorn_settings"]
    environment = {**os.environ, "WEB_CONCURRENCY": "2", "ALLENNLP_NEF_CLIENT_TIMEOUT": "0.5"}
    environment.update(PROMETHEUS_MULTIPROC_DIR=str(folder), PYTHONPATH=str(root))
    with open(str(folder / "log"), "wb") as log:
        process = subprocess.Popen(
            [*command, f"allennlp_nef.serving:create_app({str(archive)!r})"],
            env=environment,
            stdout=log,
            stderr=log,
        )
    server = Server(process, port, folder)
    try:
        end = time.monotonic() + 4 * SECONDS
        while True:
            try:
                if server.ask("/healthz")[0] == 200 and len(server.workers()) == 2:
                    break
            except OSError:
                assert process.poll() is None and time.monotonic() < end, (
                    folder / "log"
                ).read_text()
                time.sleep(0.1)
        yield server
    finally:
        process.kill()  # gunicorn's workers end without it
        process.wait()


@pytest.fixture(scope="module")
def server(archive_path, root, tmp_path_factory):
    """A server, which the last test ends."""
    with serving(archive_path, tmp_path_factory.mktemp("served"), root) as started:
        yield started


def in_threads(count, work):
    """What `work` returns in threads at the same time."""
    results = []
    threads = [threading.Thread(target=lambda: results.append(work())) for _ in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(results) == count
    return results


def test_the_figures_are_those_of_all_workers(server):
    name = 'allennlp_nef_requests_total{path="/predict",status="200"}'
    begin, sent = server.figures().get(name, 0), 0
    while sent == 0 or len(list(server.folder.glob("counter_*.db"))) < 2:
        assert {status for status, _ in in_threads(8, lambda: server.ask("/predict", GOOD))} == {
            200
        }
        sent += 8
        assert sent < 1000
    figures = server.figures()
    assert figures[name] - begin == sent
    assert figures["allennlp_nef_requests_in_flight"] == 1
    assert figures["allennlp_nef_batch_sentences_sum"] >= sent


def test_a_process_may_have_just_made_its_file(server):
    for kind in ("counter", "histogram", "gauge_livesum"):
        (server.folder / f"{kind}_9.db").touch()
    assert server.figures()["allennlp_nef_requests_in_flight"] == 1


def test_clients_that_stop_in_the_middle_do_not_block_the_workers(server):
    head = b"POST /predict HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n"
    stopped = [socket.create_connection(("127.0.0.1", server.port)) for _ in range(16)]
    for index, connection in enumerate(stopped):
        connection.sendall(head + (b"Content-Length: 9\r\n\r\n{" if index % 2 else b""))
    begin = time.monotonic()
    for _ in range(8):
        assert server.ask("/predict", GOOD)[0] == 200
    # 16 clients, 8 threads: each thread waits for half a second for two of them.
    assert time.monotonic() - begin < 20
    for connection in stopped:
        connection.close()


def test_a_killed_worker_is_replaced_and_the_other_one_goes_on(server):
    killed = min(server.workers())
    stop = threading.Event()

    def work():
        """The number of answers and of lost requests over a connection, which is opened again after a loss."""
        answered = lost = 0
        connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=SECONDS)
        while not stop.is_set():
            try:
                assert server.ask("/predict", GOOD, connection)[0] == 200
                answered += 1
            except (OSError, http.client.HTTPException):
                lost += 1
                connection.close()
        connection.close()
        return answered, lost

    def kill():
        time.sleep(0.5)
        os.kill(killed, signal.SIGKILL)
        end = time.monotonic() + SECONDS
        while killed in server.workers() or len(server.workers()) < 2:
            assert time.monotonic() < end
            time.sleep(0.05)
        time.sleep(0.5)
        stop.set()

    threading.Thread(target=kill).start()
    counts = in_threads(8, work)
    assert all(answered > 0 for answered, _ in counts)
    # Only what the killed worker was answering is lost.
    assert all(lost <= 1 for _, lost in counts)
    assert server.figures()["allennlp_nef_requests_in_flight"] == 1


def test_sigterm_refuses_new_connections_and_answers_requests_in_flight(server):
    requests = [{"source": "a " * 60, "target": "b " * 60, "alignments": ""}] * 300
    refused_at, answered_at = [], []
    assert server.process.poll() is None
    before = (server.folder / "log").read_text()

    def terminate():
        while server.figures()["allennlp_nef_requests_in_flight"] < 4:
            pass
        server.process.terminate()
        while not refused_at:
            try:
                socket.create_connection(("127.0.0.1", server.port)).close()
            except ConnectionRefusedError:
                refused_at.append(time.monotonic())
            except ConnectionResetError:
                pass  # The socket was closed before gunicorn accepted this connection.

    def ask():
        answer = server.ask("/predict_batch", requests)
        answered_at.append(time.monotonic())
        return answer

    thread = threading.Thread(target=terminate)
    thread.start()
    answers = in_threads(6, ask)
    thread.join()
    assert server.process.wait(SECONDS) == 0
    assert [(status, len(json.loads(body))) for status, body in answers] == [(200, 300)] * 6
    # New connections do not wait for an answer that would never come.
    assert refused_at[0] < max(answered_at)
    assert "Traceback" not in (server.folder / "log").read_text().removeprefix(before)
