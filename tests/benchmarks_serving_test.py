"""`benchmarks/serving.py`: a small run, and the problems that it reports."""

import json
import math
from contextlib import contextmanager
from types import SimpleNamespace

import pytest

from tests.scripts import run_script

pytest.importorskip("allennlp_server")

JSON = "application/json"
ANSWER = {"tokens": ["das", "Haus"], "tags": ["OK", "BAD"], "bad_probabilities": [0.25, 1.0]}
ERROR = {"message": "expected an object with the fields source and target, got null"}


@pytest.fixture(autouse=True)
def serving(monkeypatch, root):
    monkeypatch.syspath_prepend(str(root / "benchmarks"))
    import serving

    return serving


def test_small_run_of_both_servers_has_no_problems_and_all_figures(
    root, archive_path, serving, allennlp, monkeypatch, tmp_path, capsys
):
    pytest.importorskip("gunicorn")
    monkeypatch.setattr(serving, "allennlp", lambda log, *arguments: allennlp(*arguments))
    path = tmp_path / "report.json"
    options = ("--quick", "--connections", "8", "--archive", archive_path, "--json", path)
    run_script(root / "benchmarks" / "serving.py", *options)
    report = json.loads(path.read_text())
    # So few requests do not show whether the memory grows.
    assert [line for line in report["problems"] if "memory" not in line] == []
    assert (report["requests"], report["malformed"], report["connections"]) == (250, 25, 8)
    assert list(report["servers"]) == ["allennlp", "gunicorn"] and report["speedup"] > 0
    for figures in report["servers"].values():
        assert len(figures["memory_mb"]) == 2 and figures["memory_mb"][1] > 50
        latency = figures["milliseconds"]
        assert 0 < latency["median"] <= latency["95%"] <= latency["99%"]
        assert all(rate > 0 for rate in figures["requests_per_second"])
        assert figures["largest_difference"] is None or figures["largest_difference"] <= 1e-5
    assert "gunicorn answers " in capsys.readouterr().out


def with_probability(value):
    return 200, JSON, json.dumps({**ANSWER, "bad_probabilities": [value, 1.0]}).encode()


@pytest.mark.parametrize(
    ("kind", "response", "problem"),
    [
        ("good", with_probability(0.250005), None),
        ("good", with_probability(0.2501), "0.2501"),
        ("good", with_probability(math.nan), "NaN"),
        ("good", (200, JSON, json.dumps({**ANSWER, "tags": ["OK", "OK"]}).encode()), "expected {"),
        ("good", (200, JSON, b"{"), "expected JSON, got 200"),
        ("good", (400, JSON, json.dumps(ANSWER).encode()), "expected 200, application/json, got"),
        ("good", (None, "", b"TimeoutError()"), "lost: TimeoutError()"),
        ("bad", (400, JSON, json.dumps(ERROR).encode()), None),
        ("bad", (500, "text/html", b"Internal Server Error"), "expected 400, application/json"),
        ("bad", (400, JSON, b'{"message": "expected something else"}'), "something else"),
        ("no JSON", (400, "text/html", b"<title>400 Bad Request</title>"), None),
        ("no JSON", (500, "text/html", b""), "expected 400, text/html, got 500"),
    ],
)
def test_each_wrong_response_is_a_problem(serving, kind, response, problem):
    answer, statuses = {"good": (ANSWER, (200,)), "bad": (ERROR, (400,))}.get(
        kind, (serving.PAGE, (400,))
    )
    request = serving.Request(kind, "/predict", b"", answer, statuses)
    found = serving.problems([request], [serving.Response(*response, 1.0)])
    assert len(found) == (problem is not None)
    assert all(f"({kind}): " in line and problem in line for line in found)
    # gunicorn answers what it refuses with messages in place of pages.
    asked, message = serving.with_messages(request), serving.Response(400, JSON, b"{}", 1.0)
    assert asked.answer == (serving.MESSAGE if kind == "no JSON" else answer)
    assert serving.problems([asked], [message])


@pytest.mark.parametrize(
    ("server", "log", "sizes", "status", "problem"),
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
    serving, monkeypatch, tmp_path, server, log, sizes, status, problem
):
    @contextmanager
    def fake(args, name, archive, folder):
        (folder / f"{name}.log").write_text(log)
        yield SimpleNamespace(pid=1, poll=lambda: status), 1

    responses = [serving.Response(200, JSON, json.dumps(ANSWER).encode(), 1.0)]
    sizes = iter(sizes)
    monkeypatch.setattr(serving, "serving", fake)
    monkeypatch.setattr(serving, "send", lambda *_: responses)
    monkeypatch.setattr(serving, "memory_of", lambda _: next(sizes))
    monkeypatch.setattr(serving, "more_bad_requests", list)
    args = SimpleNamespace(connections=2, workers=2, quick=False)
    requests = [serving.Request("good", "/predict", b"good", ANSWER)]
    found, figures = serving.measure(args, server, tmp_path / "a", tmp_path, requests)
    assert len(found) == (problem is not None)
    assert all(line.startswith(f"{server}: ") and problem in line for line in found)
    assert len(figures["requests_per_second"]) == 3
