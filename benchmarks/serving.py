"""Sends thousands of requests to servers of a trained model from many connections, and checks every response.

    python benchmarks/serving.py                        trains a small quality estimator on the fixtures, and serves it
    python benchmarks/serving.py --archive model.tar.gz a trained one; --json FILE keeps the figures
    python benchmarks/serving.py --server gunicorn      one of the servers; --workers N, by default 2
    python benchmarks/serving.py --server gunicorn --batch-size 1     requests are not tagged together

The servers are `allennlp serve`, and then gunicorn with the application of `allennlp_nef.serving`. Both get the same
requests. A tenth are malformed, of 25 kinds, and gunicorn gets some kinds more. Correct requests must get the answers
of `allennlp predict`, with numbers within 1e-5, and malformed ones their error message. No response may be missing, and
a server may not log a traceback. Then all requests are sent again, and again: in the last round the memory may grow by
at most 5 MB, with gunicorn 10 MB a worker. If there is any problem, the program lists the problems and exits with
status 1. Linux only.
"""

import argparse
import json
import os
import random
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numpy
from process_memory import memory_of
from serving_load import differences, memory_problems, problems, send
from serving_requests import (
    Request,
    bad_requests,
    good_requests,
    is_close_call,
    more_bad_requests,
    with_messages,
)
from speed_harness import ROOT
from tqdm import tqdm

SERVERS = ("allennlp", "gunicorn")
BOUND, WORKER_BOUND = 5.0, 10.0
"""MB by which the memory of `allennlp serve`, or of each worker, may grow while it answers all requests again."""
ROUNDS = 3
SMALL = {"dataset_reader.max_instances": 200, "trainer.num_epochs": 3}
SHOWN = 20
"""The maximum number of problems that are printed."""


class Report(NamedTuple):
    problems: list[str]
    figures: dict[str, Any]


def measure(
    server: str,
    archive: Path,
    folder: Path,
    requests: Sequence[Request],
    connections: int,
    workers: int = 2,
    batch_size: int = 64,
    rounds: int = ROUNDS,
) -> Report:
    """Starts a server, sends it the requests several times, and checks responses, memory and log.

    # Parameters

    server : `str`
        One of `SERVERS`.
    archive : `Path`
        The archive of a quality estimator.
    folder : `Path`
        A folder for the log.
    requests : `Sequence[Request]`
        With the answers of `allennlp serve`.
    connections : `int`
        The number of requests that are sent at the same time.
    workers : `int`, optional (default = `2`)
    batch_size : `int`, optional (default = `64`)
        Of gunicorn: its workers, and the sentences that a worker tags together.
    rounds : `int`, optional (default = `3`)
    """
    if server == "gunicorn":
        requests = [with_messages(request) for request in requests]
    found: list[str] = []
    seconds: list[float] = []
    with serving(server, archive, folder, workers, batch_size) as (process, port):
        memory = [memory_of(process.pid)]
        if server == "gunicorn":
            more = more_bad_requests()
            found += problems(more, send(port, more, connections))
        for number in range(rounds):
            with tqdm(total=len(requests), desc=f"{server} {number + 1}") as progress:
                begin = time.perf_counter()
                responses = send(port, requests, connections, progress.update)
                seconds.append(time.perf_counter() - begin)
            memory.append(memory_of(process.pid))
            found += [f"round {number + 1}: {each}" for each in problems(requests, responses)]
        status = process.poll()
    bound = BOUND if server == "allennlp" else WORKER_BOUND * workers
    found += memory_problems(memory[-2], memory[-1], bound)
    if status is not None:
        found.append(f"the server ended with status {status}")
    if "Traceback" in (folder / f"{server}.log").read_text(encoding="utf-8"):
        found.append("the server logged a traceback")
    latency = numpy.percentile([1000 * response.seconds for response in responses], [50, 95, 99])
    apart = [] if found else differences(requests, responses)
    figures = {
        "requests_per_second": [len(requests) / each for each in seconds],
        "milliseconds": dict(zip(("median", "95%", "99%"), latency.tolist())),
        "memory_mb": memory,
        "equal_to_the_bit": sum(value == 0 for value in apart),
        "largest_difference": max(apart, default=None),
    }
    return Report([f"{server}: {each}" for each in found], figures)


def make_requests(archive: Path, folder: Path, count: int, seed: int = 0) -> list[Request]:
    """The requests in random order; correct ones have the answers of `allennlp predict`."""
    bad = bad_requests(count // 10)
    # Some are left out, so that no answer hangs on how numbers are rounded.
    good = good_requests(count - len(bad) + count // 10 + 10, seed)
    lines = [json.dumps(item) + "\n" for request in good for item in request.items]
    path, output = folder / "requests.jsonl", folder / "answers.jsonl"
    path.write_text("".join(lines), encoding="ascii")
    arguments = ["--predictor", "word_qe", "--silent", "--output-file", str(output)]
    allennlp(folder / "predict.log", "predict", str(archive), str(path), *arguments)
    answers = map(json.loads, output.read_text(encoding="utf-8").splitlines())
    answered = [request.with_answers(answers) for request in good]
    clear = [request for request in answered if not is_close_call(request.answer)]
    requests = bad + clear[: count - len(bad)]
    random.Random(seed).shuffle(requests)
    return requests


@contextmanager
def serving(
    server: str, archive: Path, folder: Path, workers: int, batch_size: int
) -> Iterator[Any]:
    """Starts a server; its process and its port. It writes its output to a log with its name."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port = listener.getsockname()[1]
    log = folder / f"{server}.log"
    if server == "allennlp":
        arguments = ["--archive-path", str(archive), "--predictor", "word_qe", "--port", str(port)]
        process = start(log, "allennlp", "serve", *arguments, "--include-package", "allennlp_nef")
    else:
        settings = ["--config", "python:allennlp_nef.serving._gunicorn_settings"]
        options = ["--workers", str(workers), "--bind", f"127.0.0.1:{port}"]
        application = f"allennlp_nef.serving:create_app({str(archive)!r}, batch_size={batch_size})"
        process = start(log, "gunicorn", *settings, *options, application)
    try:
        end = time.monotonic() + 240
        while True:
            try:
                socket.create_connection(("127.0.0.1", port), timeout=1).close()
                break
            except OSError:
                if process.poll() is not None or time.monotonic() > end:
                    raise RuntimeError(_failure(process, log)) from None
                time.sleep(0.1)
        yield process, port
    finally:
        process.terminate() if server == "gunicorn" else process.kill()
        process.wait()


def train(folder: Path) -> Path:
    """Trains a quality estimator on 200 sentences; its archive."""
    arguments = ["-s", str(folder / "run"), "-o", json.dumps(SMALL)]
    allennlp(folder / "train.log", "train", "training_configs/qe_nef_f.jsonnet", *arguments)
    return folder / "run" / "model.tar.gz"


def allennlp(log: Path, *arguments: str) -> None:
    """Runs an AllenNLP command as a program to its end; `RuntimeError` if it fails."""
    process = start(log, "allennlp", *arguments, "--include-package", "allennlp_nef")
    if process.wait():
        raise RuntimeError(_failure(process, log))


def start(log: Path, *arguments: str) -> "subprocess.Popen[bytes]":
    """Starts a module of Python's as a program in the checkout, with one thread; its output goes to the log."""
    command = [sys.executable, "-m", *arguments]
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONIOENCODING": "utf-8"}
    with log.open("wb") as stream:
        return subprocess.Popen(
            command,
            cwd=str(ROOT),
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=stream,
            stderr=stream,
        )


def _failure(process: "subprocess.Popen[bytes]", log: Path) -> str:
    end = "\n".join(log.read_text(encoding="utf-8").splitlines()[-20:])
    return f"{' '.join(map(str, process.args))} failed (status {process.poll()}):\n{end}"


def _positive(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"expected an integer of at least 1, got {text}")
    return int(text)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--archive", type=Path, help="model.tar.gz of a quality estimator")
    for name, default, text in (
        ("requests", 2000, "number of requests"),
        ("connections", 32, "number of connections"),
        ("workers", 2, "of gunicorn"),
        ("batch-size", 64, "sentences that a worker of gunicorn tags together"),
    ):
        text = f"{text} (default {default})"
        parser.add_argument(f"--{name}", type=_positive, default=default, metavar="N", help=text)
    parser.add_argument(
        "--server",
        choices=["both", *SERVERS],
        default="both",
        help="the server to start (default both, one after the other)",
    )
    parser.add_argument(
        "--quick", action="store_true", help="send 250 requests once, to test that the program runs"
    )
    parser.add_argument("--json", type=Path, help="file for the figures")
    args = parser.parse_args()
    if args.archive and not args.archive.is_file():
        parser.error(f"--archive: expected a file, got {args.archive}")
    if args.json and (args.json.is_dir() or not args.json.absolute().parent.is_dir()):
        parser.error(f"--json: expected a file in a folder that exists, got {args.json}")

    count = 250 if args.quick else args.requests
    found: list[str] = []
    figures: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        archive = args.archive.resolve() if args.archive else train(folder)
        requests = make_requests(archive, folder, count)
        malformed = sum(request.statuses != (200,) for request in requests)
        print(f"{count} requests, {malformed} malformed, over {args.connections} connections")
        for server in SERVERS if args.server == "both" else [args.server]:
            report = measure(
                server,
                archive,
                folder,
                requests,
                args.connections,
                args.workers,
                args.batch_size,
                rounds=1 if args.quick else ROUNDS,
            )
            found += report.problems
            figures[server] = report.figures
            print(_summary(server, report.figures, count - malformed), flush=True)
    speedup = None
    if args.server == "both":
        first, second = (figures[server]["requests_per_second"] for server in SERVERS)
        speedup = max(second) / max(first)
        print(f"gunicorn answers {speedup:.2f} times as many")
    if args.json:
        whole = {"requests": count, "malformed": malformed, "connections": args.connections}
        whole.update(workers=args.workers, batch_size=args.batch_size)
        whole.update(servers=figures, speedup=speedup, problems=found)
        args.json.write_text(json.dumps(whole) + "\n")
    if found:
        print(f"{len(found)} problems:", *found[:SHOWN], sep="\n", file=sys.stderr)
        sys.exit(1)
    print("every answer as expected, none lost")


def _summary(server: str, figures: dict[str, Any], good: int) -> str:
    latency, memory = figures["milliseconds"], figures["memory_mb"]
    rates = ", ".join(f"{rate:.0f}" for rate in figures["requests_per_second"])
    rounds = ", ".join(f"{size:.1f}" for size in memory[1:])
    text = (
        f"{server}: {rates} requests a second in {len(memory) - 1} rounds\n"
        f"  latency: median {latency['median']:.0f} ms, 95% {latency['95%']:.0f} ms, 99% {latency['99%']:.0f} ms\n"
        f"  memory: {memory[0]:.1f} MB before, {rounds} after each round"
    )
    if figures["largest_difference"] is None:
        return text
    return text + (
        f"\n  {figures['equal_to_the_bit']} of {good} good answers equal those of allennlp predict to the bit, all "
        f"within {figures['largest_difference']:.1g}"
    )


if __name__ == "__main__":
    main()
