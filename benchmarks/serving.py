"""Sends thousands of requests to `allennlp serve` from many connections, and checks every response.

    python benchmarks/serving.py                        trains a small quality estimator on the fixtures, and serves it
    python benchmarks/serving.py --archive model.tar.gz a trained one; --json FILE keeps the figures

A tenth of the requests are malformed, of 25 kinds. Correct requests must get the answers of `allennlp predict`,
with numbers within 1e-5, and malformed ones their error message. No response may be missing, and the server may not log
a traceback. Then all requests are sent again: the memory of the server may grow by at most 5 MB meanwhile. If there is
any problem, the program lists the problems and exits with status 1. Linux only.
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
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Dict, Iterator, List, NamedTuple

import numpy
from serving_load import differences, memory_problems, problems, resident, send
from serving_requests import Request, bad_requests, good_requests
from speed_harness import ROOT
from tqdm import tqdm

BOUND = 5.0
"""MB by which the memory of the server may grow while it answers all requests again."""
SMALL = {"dataset_reader.max_instances": 200, "trainer.num_epochs": 3}
SHOWN = 20
"""The maximum number of problems that are printed."""


class Report(NamedTuple):
    problems: List[str]
    figures: Dict[str, Any]


def measure(archive: Path, folder: Path, count: int, connections: int, seed: int = 0) -> Report:
    """Starts a server, sends it `count` requests in random order, twice, and checks responses, memory and log.

    # Parameters

    archive : `Path`
        The archive of a quality estimator.
    folder : `Path`
        A folder for temporary files.
    count : `int`
        The number of requests; a tenth of them, rounded down, are malformed.
    connections : `int`
        The number of requests that are sent at the same time.
    seed : `int`, optional (default = `0`)
    """
    requests = make_requests(archive, folder, count, seed)
    half = count // 2
    with serving(archive, folder) as (process, port), tqdm(total=2 * count) as progress:
        memory = {"idle": resident(process.pid)}
        begin = time.perf_counter()
        responses = send(port, requests[:half], connections, progress.update)
        memory["half"] = resident(process.pid)
        responses += send(port, requests[half:], connections, progress.update)
        seconds = time.perf_counter() - begin
        memory["all"] = resident(process.pid)
        again = send(port, requests, connections, progress.update)
        memory["again"] = resident(process.pid)
        status = process.poll()
    found = problems(requests, responses)
    found += [f"again, {problem}" for problem in problems(requests, again)]
    found += memory_problems(memory["all"], memory["again"], BOUND)
    if status is not None:
        found.append(f"the server ended with status {status}")
    if "Traceback" in (folder / "serve.log").read_text(encoding="utf-8"):
        found.append("the server logged a traceback")
    latency = numpy.percentile([1000 * response.seconds for response in responses], [50, 95, 99])
    apart = [] if found else differences(requests, responses)
    figures = {
        "requests": count,
        "connections": connections,
        "malformed": sum(request.statuses != (200,) for request in requests),
        "requests_per_second": count / seconds,
        "milliseconds": dict(zip(("median", "95%", "99%"), latency.tolist())),
        "memory_mb": memory,
        "equal_to_the_bit": sum(value == 0 for value in apart),
        "largest_difference": max(apart, default=None),
    }
    return Report(found, figures)


def make_requests(archive: Path, folder: Path, count: int, seed: int) -> List[Request]:
    """The requests in random order; correct ones have the answers of `allennlp predict`."""
    bad = bad_requests(count // 10)
    good = good_requests(count - len(bad), seed)
    lines = [json.dumps(item) + "\n" for request in good for item in request.items]
    path, output = folder / "requests.jsonl", folder / "answers.jsonl"
    path.write_text("".join(lines), encoding="ascii")
    arguments = ["--predictor", "word_qe", "--silent", "--output-file", str(output)]
    allennlp(folder / "predict.log", "predict", str(archive), str(path), *arguments)
    answers = map(json.loads, output.read_text(encoding="utf-8").splitlines())
    requests = bad + [request.with_answers(answers) for request in good]
    random.Random(seed).shuffle(requests)
    return requests


@contextmanager
def serving(archive: Path, folder: Path) -> Iterator[Any]:
    """Starts a server; its process and its port. It writes its output to `serve.log`."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port = listener.getsockname()[1]
    arguments = ["--archive-path", str(archive), "--predictor", "word_qe", "--port", str(port)]
    process = start(folder / "serve.log", "serve", *arguments)
    try:
        end = time.monotonic() + 240
        while True:
            try:
                socket.create_connection(("127.0.0.1", port), timeout=1).close()
                break
            except OSError:
                if process.poll() is not None or time.monotonic() > end:
                    raise RuntimeError(_failure(process, folder / "serve.log")) from None
                time.sleep(0.1)
        yield process, port
    finally:
        process.kill()
        process.wait()


def train(folder: Path) -> Path:
    """Trains a quality estimator on 200 sentences; its archive."""
    arguments = ["-s", str(folder / "run"), "-o", json.dumps(SMALL)]
    allennlp(folder / "train.log", "train", "training_configs/qe_nef_f.jsonnet", *arguments)
    return folder / "run" / "model.tar.gz"


def allennlp(log: Path, *arguments: str) -> None:
    """Runs an AllenNLP command as a program to its end; `RuntimeError` if it fails."""
    process = start(log, *arguments)
    if process.wait():
        raise RuntimeError(_failure(process, log))


def start(log: Path, *arguments: str) -> "subprocess.Popen[bytes]":
    """Starts an AllenNLP command in the checkout, with one thread; its output goes to the log."""
    command = [sys.executable, "-m", "allennlp", *arguments, "--include-package", "allennlp_nef"]
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
    parser.add_argument(
        "--requests",
        type=_positive,
        default=2000,
        metavar="N",
        help="number of requests (default 2000)",
    )
    parser.add_argument(
        "--connections",
        type=_positive,
        default=32,
        metavar="N",
        help="number of connections (default 32)",
    )
    parser.add_argument(
        "--quick", action="store_true", help="send 250 requests, to test that the program runs"
    )
    parser.add_argument("--json", type=Path, help="file for the figures")
    args = parser.parse_args()
    if args.archive and not args.archive.is_file():
        parser.error(f"--archive: expected a file, got {args.archive}")
    if args.json and (args.json.is_dir() or not args.json.absolute().parent.is_dir()):
        parser.error(f"--json: expected a file in a folder that exists, got {args.json}")

    count = 250 if args.quick else args.requests
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        archive = args.archive.resolve() if args.archive else train(folder)
        found, figures = measure(archive, folder, count, args.connections)
    if args.json:
        args.json.write_text(json.dumps({**figures, "problems": found}) + "\n")
    latency, memory = figures["milliseconds"], figures["memory_mb"]
    print(
        f"{count} requests, {figures['malformed']} of them malformed, over {args.connections} connections: "
        f"{figures['requests_per_second']:.0f} a second\n"
        f"latency: median {latency['median']:.0f} ms, 95% {latency['95%']:.0f} ms, 99% {latency['99%']:.0f} ms\n"
        f"memory: {memory['idle']:.1f} MB before, {memory['half']:.1f} after half of them, "
        f"{memory['all']:.1f} after all, {memory['again']:.1f} after all of them again"
    )
    if found:
        print(f"{len(found)} problems:", *found[:SHOWN], sep="\n", file=sys.stderr)
        sys.exit(1)
    print(
        f"every answer as expected, none lost; {figures['equal_to_the_bit']} of {count - figures['malformed']} good "
        f"ones equal those of allennlp predict to the bit, all within {figures['largest_difference']:.1g}"
    )


if __name__ == "__main__":
    main()
