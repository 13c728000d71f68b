"""The end of AllenNLP's server: SIGTERM and Ctrl-C stop it, and are no errors."""

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import gevent  # type: ignore[import-untyped]
from allennlp.common.util import SigTermReceived
from allennlp_server.commands import server_simple
from gevent.pool import Pool  # type: ignore[import-untyped]
from gevent.pywsgi import WSGIServer  # type: ignore[import-untyped]


class _Server(WSGIServer):  # type: ignore[misc,unused-ignore]
    """Answers the requests in flight before it ends."""

    def __init__(self, address: tuple[str, int], app: Callable[..., Any]) -> None:
        super().__init__(address, app, spawn=Pool())

    def start(self) -> None:
        super().start()
        for number in (signal.SIGINT, signal.SIGTERM):
            gevent.signal_handler(number, self.stop)


@contextmanager
def ending_quietly() -> Iterator[None]:
    """A context in which AllenNLP's server is stopped by a signal, also before it listens."""
    server_simple.WSGIServer = _Server
    try:
        yield
    except (KeyboardInterrupt, SigTermReceived):
        pass
    finally:
        server_simple.WSGIServer = WSGIServer
