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
import http.client
import json
import math
import queue
import random
import socket
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numpy
from timing import ROOT, allennlp, failure, memory_of, start
from tqdm import tqdm

LONGEST = 60
"""Words of a good sentence, at most."""
LARGEST_LIST = 6
PAGE = "an error page"
"""The `answer` of a request that the server itself refuses, with a page of HTML."""
MESSAGE = "a message"
"""The `answer` of a request that the server itself refuses, with a JSON object that has a message."""
CLOSE = 3e-6
"""Numbers that are this close may change their order with the order of sums. Traces have 6 decimals."""
UNUSUAL = ["Straße", "Ελλάδα", "日本語", "e\u0301tude", "\U0001f469\u200d\U0001f52c", '"\\"']
UNUSUAL += ["<b>", "0-0", "\u200b", "\u00ad\u2603", "x" * 500]
JSON = "application/json"


class Request(NamedTuple):
    kind: str
    """For messages."""
    path: str
    body: bytes
    answer: Any
    """The JSON value that it must be answered with, `PAGE` or `MESSAGE`."""
    statuses: tuple[int, ...] = (200,)
    content_type: str = JSON


class Good(NamedTuple):
    """A request that can be answered: one sentence, or a list of them."""

    path: str
    items: list[dict[str, Any]]

    def with_answers(self, answers: Iterator[Any]) -> Request:
        """The request, with the next answers to its items."""
        given = [next(answers) for _ in self.items]
        is_list = self.path == "/predict_batch"
        value, answer = (self.items, given) if is_list else (self.items[0], given[0])
        kind = f"list of {len(given)}" if is_list else "sentence"
        # Half of the bodies are ASCII, and what UTF-8 has no bytes for is an escape in all of them.
        text = json.dumps(value, ensure_ascii=len(repr(value)) % 2 == 0)
        return Request(kind, self.path, text.encode("utf-8", "backslashreplace"), answer)


def good_requests(count: int, seed: int) -> list[Good]:
    """Sentences of 1 to `LONGEST` words; each tenth request is a list of up to `LARGEST_LIST` of them."""
    rng = random.Random(seed)
    texts = {side: ROOT / "fixtures" / "qe" / f"train.{side}" for side in ("src", "mt")}
    words = {
        side: sorted(set(path.read_text(encoding="utf-8").split())) + UNUSUAL
        for side, path in texts.items()
    }

    def item(length: int) -> dict[str, Any]:
        source = rng.choices(words["src"], k=rng.randint(1, LONGEST))
        target = rng.choices(words["mt"], k=length)
        made: dict[str, Any] = {}
        for name, side in (("source", source), ("target", target)):
            separator = rng.choice([" ", "  ", "\t", "\n"])
            made[name] = side if rng.random() < 0.5 else separator.join(side)
        pairs = sorted({(rng.randrange(len(source)), rng.randrange(length)) for _ in range(length)})
        links = [f"{i}-{j}" for i, j in pairs]
        form = rng.choice([None, list(map(list, pairs)), links, " ".join(links)])
        if form is not None:
            made["alignments"] = form
        for name in ("attention", "trace"):
            if rng.random() < 0.25:
                made[name] = rng.random() < 0.75
        return made

    requests = []
    for index in range(count):
        if index % 10 == 9:
            lengths = rng.choices(range(1, LONGEST + 1), k=rng.randint(0, LARGEST_LIST))
            requests.append(Good("/predict_batch", [item(length) for length in lengths]))
        else:
            requests.append(Good("/predict", [item(1 + index % LONGEST)]))
    return requests


def is_close_call(answer: Any) -> bool:
    """Whether a tag, or the step of a word's largest attention, hangs on the last decimals of an answer's numbers.

    A server that tags sentences together may round them in another way. `answer` may be a list of answers.
    """
    if isinstance(answer, list):
        return any(map(is_close_call, answer))
    threshold, trace = answer["threshold"], answer.get("trace")
    if any(abs(bad - threshold) <= CLOSE for bad in answer["bad_probabilities"]):
        return True
    if trace is None:
        return False
    for tags, probabilities in zip(trace["provisional_tags"], trace["provisional_probabilities"]):
        for tag, probability in zip(tags, probabilities):
            if abs((probability if tag == "BAD" else 1 - probability) - threshold) <= CLOSE:
                return True
    steps = [sorted(column)[-2:] for column in zip(*trace["attention"] or [])]
    return any(len(highest) == 2 and highest[1] - highest[0] <= CLOSE for highest in steps)


def bad_requests(count: int) -> list[Request]:
    """As many malformed requests, of all kinds in turn, with the answers of `allennlp serve`."""
    kinds = _bad_kinds()
    return [kinds[index % len(kinds)] for index in range(count)]


def with_messages(request: Request) -> Request:
    """The request with the answer of `create_app`: a message in place of a page, and a limit for the depth."""
    is_refused = request.answer is PAGE or request.kind.startswith("deep")
    return request._replace(answer=MESSAGE) if is_refused else request


def more_bad_requests() -> list[Request]:
    """Malformed requests that `allennlp serve` answers with status 500, or reads to their end."""
    return [
        Request("very deep", "/predict", b"[" * 5000 + b"]" * 5000, MESSAGE, (400,)),
        Request("half of a very deep one", "/predict", b'{"source":' * 5000, MESSAGE, (400,)),
        Request("long number", "/predict", b"9" * 5000, MESSAGE, (400,)),
        Request("too large", "/predict", b" " * (2**20 + 1), MESSAGE, (413,)),
        Request("no such path", "/predictions", b"{}", MESSAGE, (404,)),
        Request("wrong method", "/healthz", b"{}", MESSAGE, (405,)),
    ]


def _bad_kinds() -> list[Request]:
    good = {"source": "the red house", "target": "das rote Haus"}
    whole = json.dumps(good).encode()

    def page(kind: str, body: bytes, **options: Any) -> Request:
        return Request(kind, "/predict", body, PAGE, **{"statuses": (400,), **options})

    def refused(kind: str, value: Any, message: str, path: str = "/predict") -> Request:
        return Request(kind, path, json.dumps(value).encode(), {"message": message}, (400,))

    object_ = "expected an object with the fields source and target, got "
    text = "expected a string or a list of words, got "
    plain = "expected words without whitespace, got "
    fields = (
        "expected the fields source and target (optional: alignments, attention, trace, label_probabilities, "
        "threshold, max_steps, halting, id), got "
    )
    pairs = (
        'expected pairs [source index, target index] or strings such as "0-1", from 0, got [0] '
        "at index 0"
    )
    deep: Any = []
    for _ in range(200):
        deep = [deep]
    shown = "[" * 57 + "..."
    batch = "/predict_batch"
    return [
        page("not JSON", b"not JSON"),
        page("empty", b""),
        page("cut off", whole[:-5]),
        page("not UTF-8", whole.replace(b"das", b"d\xe4s")),
        # Flask before 2.3 has a 400 for it.
        page("not declared as JSON", whole, content_type="text/plain", statuses=(415, 400)),
        refused("null", None, f"{object_}null"),
        refused("number", 17, f"{object_}17"),
        refused("NaN", float("nan"), f"{object_}NaN"),
        refused("string", "a", f'{object_}"a"'),
        refused("list to /predict", [], f"{object_}[]"),
        refused("no target", {"source": "a"}, f"target: {text}no such field"),
        refused("unknown field", {**good, "reference": "a"}, f'{fields}"reference"'),
        refused("number for words", {**good, "target": 1.5}, f"target: {text}1.5"),
        refused("number as a word", {**good, "source": ["a", 2]}, f"source: {plain}2 at index 1"),
        refused("blank in a word", {**good, "source": ["a b"]}, f'source: {plain}"a b" at index 0'),
        refused("no words", {**good, "target": " "}, 'target: expected at least one word, got " "'),
        refused(
            "too many words",
            {**good, "target": "a " * 1001},
            "target: expected at most 1000 words, got 1001",
        ),
        refused(
            "alignment outside",
            {**good, "alignments": "0-0 1-3"},
            "alignments: expected target indices from 0 to 2, got 3 in 1-3",
        ),
        refused("half an alignment", {**good, "alignments": [[0]]}, f"alignments: {pairs}"),
        refused("no flag", {**good, "trace": 1}, "trace: expected true or false, got 1"),
        refused("deep", deep, f"{object_}{shown}"),
        refused("deep field", {**good, "source": {"a": deep}}, f'source: {text}{{"a": {shown[6:]}'),
        refused("no list", good, f"expected a list of objects, got {json.dumps(good)}", batch),
        refused("null in a list", [good, None], f"item 1: {object_}null", batch),
        refused("long list", [good] * 1001, "expected at most 1000 items, got 1001", batch),
    ]


TIMEOUT = 60
"""Seconds after which a request without a response counts as lost."""
TOLERANCE = 1e-5
"""The largest allowed difference from the numbers of `allennlp predict`."""


class Response(NamedTuple):
    status: int | None
    """None if there was no response; then the body has the reason."""
    content_type: str
    body: bytes
    seconds: float


def send(
    port: int,
    requests: Sequence[Request],
    connections: int,
    progress: Callable[[], Any] = lambda: None,
) -> list[Response]:
    """Sends the requests to 127.0.0.1 in their order, each over the next free connection.

    The connections are kept alive. If the server closes one, a new one replaces it. No request is sent twice.
    `progress` is called after each request, in any thread.
    """
    responses: list[Response] = [Response(None, "", b"not sent", 0.0)] * len(requests)
    waiting: queue.Queue[int] = queue.Queue()
    for index in range(len(requests)):
        waiting.put(index)

    def work() -> None:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=TIMEOUT)
        try:
            while True:
                index = waiting.get_nowait()
                responses[index] = _exchange(connection, requests[index])
                progress()
        except queue.Empty:
            connection.close()

    with ThreadPoolExecutor(connections) as pool:
        for done in [pool.submit(work) for _ in range(connections)]:
            done.result()
    return responses


def problems(requests: Sequence[Request], responses: Sequence[Response]) -> list[str]:
    """A line for each wrong or missing response."""
    found = []
    for index, (request, response) in enumerate(zip(requests, responses)):
        wrong = _problem(request, response)
        if wrong:
            found.append(f"request {index} ({request.kind}): {wrong}")
    return found


def difference(expected: Any, got: Any) -> float:
    """The largest difference between the floats of two JSON values; infinite if anything else differs."""
    if type(expected) is not type(got):
        return math.inf
    if isinstance(expected, float):
        return abs(expected - got) if math.isfinite(expected - got) else math.inf
    if isinstance(expected, list):
        if len(expected) != len(got):
            return math.inf
        return max(map(difference, expected, got), default=0.0)
    if isinstance(expected, dict):
        if set(expected) != set(got):
            return math.inf
        return max((difference(expected[name], got[name]) for name in expected), default=0.0)
    return 0.0 if expected == got else math.inf


def differences(requests: Sequence[Request], responses: Sequence[Response]) -> list[float]:
    """The `difference` of each correct request that was answered from the expected answer."""
    return [
        difference(request.answer, json.loads(response.body.decode("utf-8")))
        for request, response in zip(requests, responses)
        if request.statuses == (200,) and response.status == 200
    ]


def _exchange(connection: http.client.HTTPConnection, request: Request) -> Response:
    begin = time.perf_counter()
    try:
        connection.request(
            "POST", request.path, request.body, {"Content-Type": request.content_type}
        )
        response = connection.getresponse()
        body = response.read()
    except (OSError, http.client.HTTPException) as error:
        connection.close()  # the next request opens it again
        return Response(None, "", repr(error).encode(), time.perf_counter() - begin)
    kind = response.getheader("Content-Type", "").split(";")[0]
    return Response(response.status, kind, body, time.perf_counter() - begin)


def _problem(request: Request, response: Response) -> str:
    if response.status is None:
        return f"lost: {response.body.decode()}"
    got = f"{response.status}, {response.content_type}: {response.body[:200]!r}"
    expected = "text/html" if request.answer is PAGE else JSON
    if response.status not in request.statuses or response.content_type != expected:
        return f"expected {request.statuses[0]}, {expected}, got {got}"
    if request.answer is PAGE:
        return ""
    try:
        answer = json.loads(response.body.decode("utf-8"))
    except ValueError as error:
        return f"expected JSON, got {got} ({error})"
    if request.answer is MESSAGE and list(answer) == ["message"]:
        return ""
    if difference(request.answer, answer) <= TOLERANCE:
        return ""
    return f"expected {json.dumps(request.answer)[:200]}, got {got}"


SERVERS = ("allennlp", "gunicorn")
BOUND, WORKER_BOUND = 5.0, 10.0
"""MB by which the memory of `allennlp serve`, or of each worker, may grow while it answers all requests again."""
ROUNDS = 3
SHOWN = 20
"""The maximum number of problems that are printed."""


def measure(
    args: argparse.Namespace, server: str, archive: Path, folder: Path, requests: Sequence[Request]
) -> tuple[list[str], dict[str, Any]]:
    """Starts one of `SERVERS`, sends it the requests several times, and checks responses, memory and log.

    Returns the problems and the figures.

    `archive` is that of a quality estimator; the log is written into `folder`. The requests have the answers of
    `allennlp serve`.
    """
    if server == "gunicorn":
        requests = [with_messages(request) for request in requests]
    found: list[str] = []
    seconds: list[float] = []
    with serving(args, server, archive, folder) as (process, port):
        memory = [memory_of(process.pid)]
        if server == "gunicorn":
            more = more_bad_requests()
            found += problems(more, send(port, more, args.connections))
        for number in range(1 if args.quick else ROUNDS):
            with tqdm(total=len(requests), desc=f"{server} {number + 1}") as progress:
                begin = time.perf_counter()
                responses = send(port, requests, args.connections, progress.update)
                seconds.append(time.perf_counter() - begin)
            memory.append(memory_of(process.pid))
            found += [f"round {number + 1}: {each}" for each in problems(requests, responses)]
        status = process.poll()
    bound = BOUND if server == "allennlp" else WORKER_BOUND * args.workers
    if memory[-1] - memory[-2] > bound:
        found.append(
            f"memory: expected at most {bound:g} MB more than {memory[-2]:.1f} MB after the same requests again, "
            f"got {memory[-1]:.1f} MB"
        )
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
    return [f"{server}: {each}" for each in found], figures


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
def serving(args: argparse.Namespace, server: str, archive: Path, folder: Path) -> Iterator[Any]:
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
        options = ["--workers", str(args.workers), "--bind", f"127.0.0.1:{port}"]
        options.append(
            f"allennlp_nef.serving:create_app({str(archive)!r}, batch_size={args.batch_size})"
        )
        process = start(log, "gunicorn", *settings, *options)
    try:
        end = time.monotonic() + 240
        while True:
            try:
                socket.create_connection(("127.0.0.1", port), timeout=1).close()
                break
            except OSError:
                if process.poll() is not None or time.monotonic() > end:
                    raise RuntimeError(failure(process, log)) from None
                time.sleep(0.1)
        yield process, port
    finally:
        process.terminate() if server == "gunicorn" else process.kill()
        process.wait()


def train(folder: Path) -> Path:
    """Trains a quality estimator on 200 sentences; its archive."""
    small = json.dumps({"dataset_reader.max_instances": 200, "trainer.num_epochs": 3})
    options = ["-s", str(folder / "run"), "-o", small]
    allennlp(folder / "train.log", "train", "training_configs/qe_nef_f.jsonnet", *options)
    return folder / "run" / "model.tar.gz"


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
        "--server", choices=["both", *SERVERS], default="both", help="the server (default both)"
    )
    parser.add_argument("--quick", action="store_true", help="send 250 requests once, as a test")
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
            wrong, figures[server] = measure(args, server, archive, folder, requests)
            found += wrong
            print(_summary(server, figures[server], count - malformed), flush=True)
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
