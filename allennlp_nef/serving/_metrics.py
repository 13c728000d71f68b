"""The numbers that a server counts, in the format of Prometheus."""

import glob
import os
import time
from collections.abc import Iterable

from flask import Flask, Response, request
from prometheus_client import (
    CONTENT_TYPE_LATEST,
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    Metric,
    generate_latest,
)
from prometheus_client.multiprocess import MultiProcessCollector

BEGIN = "allennlp_nef.begin"


class Metrics:
    """What a server counts, for Prometheus.

    Where the environment variable `PROMETHEUS_MULTIPROC_DIR` names a folder, it counts for all processes that have it.
    It has to be set before Prometheus' client is imported.
    """

    content_type = CONTENT_TYPE_LATEST

    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        self.requests = Counter(
            "allennlp_nef_requests",
            "Requests that were answered.",
            ["path", "status"],
            registry=self._registry,
        )
        self.seconds = Histogram(
            "allennlp_nef_request_seconds",
            "Seconds until a request was answered.",
            ["path"],
            buckets=(0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 60),
            registry=self._registry,
        )
        self.in_flight = Gauge(
            "allennlp_nef_requests_in_flight",
            "Requests that are being answered.",
            multiprocess_mode="livesum",
            registry=self._registry,
        )
        self.batch = Histogram(
            "allennlp_nef_batch_sentences",
            "Requests and items of lists that went through the model together.",
            buckets=(1, 2, 4, 8, 16, 32, 64, 1000),
            registry=self._registry,
        )

    def watch(self, app: Flask) -> None:
        """Counts the requests of an application."""

        @app.before_request
        def begin() -> None:
            request.environ[BEGIN] = time.perf_counter()
            self.in_flight.inc()

        @app.after_request
        def end(response: Response) -> Response:
            path = "other" if request.url_rule is None else request.url_rule.rule
            self.requests.labels(path, response.status_code).inc()
            self.seconds.labels(path).observe(time.perf_counter() - request.environ[BEGIN])
            self.in_flight.dec()
            return response

    def text(self) -> bytes:
        """All numbers, in Prometheus' text format."""
        registry = self._registry
        if "PROMETHEUS_MULTIPROC_DIR" in os.environ:
            registry = CollectorRegistry()
            _Collector(registry)
        return generate_latest(registry)


class _Collector(MultiProcessCollector):
    def collect(self) -> Iterable[Metric]:
        # A process makes an empty file first, and then gives it a size. Prometheus' client fails to read an empty one.
        paths = glob.glob(os.path.join(os.environ["PROMETHEUS_MULTIPROC_DIR"], "*.db"))
        return self.merge([path for path in paths if _size(path)])


def _size(path: str) -> int:
    try:
        return os.path.getsize(path)
    except FileNotFoundError:  # a process that ended since
        return 0
