"""`benchmarks/serving.py`: a small run, and the problems that it reports."""

import http.server
import json
import math
import sys
import threading
from contextlib import contextmanager
from types import SimpleNamespace

import pytest

from tests.scripts import run_script

pytest.importorskip("allennlp_server")

JSON = "application/json"
ANSWER = {"tokens": ["das", "Haus"], "tags": ["OK", "BAD"], "bad_probabilities": [0.25, 1.0]}
ERROR = {"message": "expected an object with the fields source and target, got null"}


@pytest.fixture(autouse=True)
def benchmarks(monkeypatch, root):
    """Makes the modules of `benchmarks` importable."""
    monkeypatch.syspath_prepend(str(root / "benchmarks"))


@contextmanager
def server(respond):
    """The port of a server in this process.

    `respond(body)` returns status, content type and body; None closes the connection without a response.
    """

    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self):
            response = respond(self.rfile.read(int(self.headers["Content-Length"])))
            if response is None:
                self.close_connection = True
                return
            status, content_type, body = response
            self.send_response(status)
            self.send_header("Content-Type", content_type)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *arguments):
            """Prints no line for a request."""

    listening = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    listening.daemon_threads = True
    thread = threading.Thread(target=listening.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield listening.server_address[1]
    finally:
        listening.shutdown()
        thread.join()
        listening.server_close()


def three_requests():
    """A good request, a bad one, and one that is not JSON."""
    from serving import PAGE, Request

    return [
        Request("good", "/predict", b"good", ANSWER),
        Request("bad", "/predict", b"bad", ERROR, (400,)),
        Request("no JSON", "/predict", b"no JSON", PAGE, (400,)),
    ]


def correct_response(body):
    responses = {
        b"good": (200, JSON, json.dumps(ANSWER).encode()),
        b"bad": (400, JSON, json.dumps(ERROR).encode()),
        b"no JSON": (400, "text/html; charset=utf-8", b"<title>400 Bad Request</title>"),
    }
    return responses[body]


def problems_with(respond, connections=2):
    from serving import problems, send

    requests = three_requests() * 5
    with server(respond) as port:
        return problems(requests, send(port, requests, connections))


def test_small_run_of_both_servers_has_no_problems_and_all_figures(
    root, archive_path, tmp_path, capsys
):
    pytest.importorskip("gunicorn")
    path = tmp_path / "report.json"
    program = root / "benchmarks" / "serving.py"
    options = ("--quick", "--connections", "8", "--archive", archive_path, "--json", path)
    run_script(program, *options)
    report = json.loads(path.read_text())
    # So few requests do not show whether the memory grows.
    assert [line for line in report["problems"] if "memory" not in line] == []
    assert (report["requests"], report["malformed"], report["connections"]) == (250, 25, 8)
    assert list(report["servers"]) == ["allennlp", "gunicorn"] and report["speedup"] > 0
    for figures in report["servers"].values():
        assert all(size > 50 for size in figures["memory_mb"][1:])
        assert len(figures["memory_mb"]) == 2
        latency = figures["milliseconds"]
        assert 0 < latency["median"] <= latency["95%"] <= latency["99%"]
        assert all(rate > 0 for rate in figures["requests_per_second"])
        assert figures["largest_difference"] is None or figures["largest_difference"] <= 1e-5
    assert "gunicorn answers " in capsys.readouterr().out


def test_requests_have_all_lengths_types_and_kinds_of_errors():
    from serving import bad_requests, good_requests

    items = [item for request in good_requests(600, 0) for item in request.items]
    lengths = {
        len(words if isinstance(words, list) else words.split())
        for words in (item["target"] for item in items)
    }
    assert lengths == set(range(1, 61))
    assert {type(item["target"]) for item in items} == {str, list}
    assert {type(item.get("alignments")) for item in items} == {str, list, type(None)}
    for name in ("trace", "attention"):
        assert {item.get(name) for item in items} == {True, False, None}
    assert any("日本語" in item["target"] for item in items)
    assert {len(request.items) for request in good_requests(200, 0)} == set(range(7))
    assert good_requests(30, 1) == good_requests(30, 1) != good_requests(30, 2)
    assert len({request.kind for request in bad_requests(25)}) == 25
    assert len(bad_requests(60)) == 60


def with_probability(value):
    return 200, JSON, json.dumps({**ANSWER, "bad_probabilities": [value, 1.0]}).encode()


@pytest.mark.parametrize(
    ("kind", "response", "problem"),
    [
        (b"good", with_probability(0.2501), "0.2501"),
        (b"good", with_probability(math.nan), "NaN"),
        (b"good", (200, JSON, json.dumps({**ANSWER, "tags": ["OK", "OK"]}).encode()), "expected {"),
        (b"good", (200, JSON, b"{"), "expected JSON, got 200"),
        (b"good", (400, JSON, json.dumps(ANSWER).encode()), "expected 200, application/json, got"),
        (b"bad", (500, "text/html", b"Internal Server Error"), "expected 400, application/json"),
        (b"bad", (400, JSON, b'{"message": "expected something else"}'), "something else"),
        (b"no JSON", (500, "text/html", b""), "expected 400, text/html, got 500"),
        (b"good", None, "lost: RemoteDisconnected"),
    ],
)
def test_each_wrong_response_is_a_problem(kind, response, problem):
    found = problems_with(lambda body: response if body == kind else correct_response(body))
    assert len(found) == 5
    assert all(f"({kind.decode()}): " in line and problem in line for line in found)


def test_one_lost_response_is_a_problem_and_a_small_difference_is_none():
    lost = iter([None])
    found = problems_with(lambda body: next(lost, correct_response(body)))
    assert len(found) == 1 and "lost: " in found[0]
    found = problems_with(
        lambda body: with_probability(0.250005) if body == b"good" else correct_response(body)
    )
    assert found == []


@pytest.mark.parametrize(
    ("server_name", "log", "sizes", "status", "problem"),
    [
        ("allennlp", "", [1, 1, 1, 1], None, None),
        ("allennlp", "Traceback (most", [1, 1, 1, 1], None, "the server logged a traceback"),
        ("allennlp", "", [1, 1, 1, 7], None, "memory: expected at most 5 MB more"),
        ("gunicorn", "", [1, 1, 1, 21], None, None),
        ("gunicorn", "", [1, 1, 1, 22], None, "memory: expected at most 20 MB more"),
        ("allennlp", "", [1, 1, 1, 1], -9, "the server ended with status -9"),
    ],
)
def test_traceback_growth_and_exit_of_the_server_are_problems(
    monkeypatch, tmp_path, server_name, log, sizes, status, problem
):
    import serving

    @contextmanager
    def fake(args, name, archive, folder):
        (folder / f"{name}.log").write_text(log)
        with server(correct_response) as port:
            yield SimpleNamespace(pid=1, poll=lambda: status), port

    sizes = iter(sizes)
    monkeypatch.setattr(serving, "serving", fake)
    monkeypatch.setattr(serving, "memory_of", lambda _: next(sizes))
    monkeypatch.setattr(serving, "with_messages", lambda request: request)
    monkeypatch.setattr(serving, "more_bad_requests", list)
    args = SimpleNamespace(connections=2, workers=2, quick=False)
    found, figures = serving.measure(args, server_name, tmp_path / "a", tmp_path, three_requests())
    assert len(found) == (problem is not None)
    assert all(line.startswith(f"{server_name}: ") and problem in line for line in found)
    assert len(figures["requests_per_second"]) == 3


def test_gunicorn_has_to_answer_with_messages():
    from serving import Response, more_bad_requests, problems, with_messages

    good, bad, no_json = map(with_messages, three_requests())
    assert (good.answer, bad.answer) == (ANSWER, ERROR)
    for body, count in ((b'{"message": "a"}', 0), (b"<title>", 1), (b'{"other": "a"}', 1)):
        kind = "text/html" if body[:1] == b"<" else JSON
        assert len(problems([no_json], [Response(400, kind, body, 1.0)])) == count
    assert {request.statuses for request in more_bad_requests()} == {(400,), (404,), (405,), (413,)}


def test_answers_that_hang_on_the_last_decimals_are_close_calls():
    from serving import is_close_call

    def answer(bad, threshold=0.5, **trace):
        return {"threshold": threshold, "bad_probabilities": bad, **trace}

    def traced(tags, probabilities, attention):
        trace = {"provisional_tags": [tags], "provisional_probabilities": [probabilities]}
        return answer([0.1], 0.3, trace={**trace, "attention": attention})

    assert not is_close_call(answer([0.1, 0.50001])) and is_close_call(answer([0.1, 0.500001]))
    assert not is_close_call([answer([0.1])] * 2) and is_close_call([answer([0.1]), answer([0.5])])
    assert not is_close_call(traced(["OK"], [0.3], [[0.5], [0.50001]]))
    assert is_close_call(traced(["OK"], [0.7], None)) and is_close_call(
        traced(["BAD"], [0.3], None)
    )
    assert is_close_call(traced(["OK"], [0.9], [[0.5], [0.1], [0.500001]]))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--archive", "nowhere.tar.gz"], "expected a file, got nowhere.tar.gz"),
        (["--requests", "0"], "expected an integer of at least 1, got 0"),
        (["--connections", "x"], "expected an integer of at least 1, got x"),
        (["--json", "nowhere/x.json"], "expected a file in a folder that exists, got nowhere"),
    ],
)
def test_wrong_argument_is_an_error_with_status_2(monkeypatch, capsys, arguments, message):
    import serving

    monkeypatch.setattr(sys, "argv", ["serving.py", *arguments])
    with pytest.raises(SystemExit) as end:
        serving.main()
    assert end.value.code == 2
    assert message in capsys.readouterr().err
