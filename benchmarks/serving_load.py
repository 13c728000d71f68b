"""Sends requests to a server from many connections; checks the responses, and measures the memory of the server."""

import http.client
import json
import math
import queue
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

from serving_requests import JSON, MESSAGE, PAGE, Request

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

    # Parameters

    port : `int`
    requests : `Sequence[Request]`
    connections : `int`
        The number of requests that are sent at the same time.
    progress : `Callable[[], Any]`, optional
        Called after each request, in any thread.

    # Returns

    The response to each request, in the order of the requests.
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


def memory_problems(before: float, after: float, bound: float) -> list[str]:
    """A problem if the memory, in MB, grew by more than the bound; otherwise none."""
    if after - before <= bound:
        return []
    return [
        f"memory: expected at most {bound:g} MB more than {before:.1f} MB after the same requests again, "
        f"got {after:.1f} MB"
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
