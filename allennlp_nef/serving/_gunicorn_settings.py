"""Settings of gunicorn for the application that `create_app` makes.

    gunicorn --config python:allennlp_nef.serving._gunicorn_settings \
        'allennlp_nef.serving:create_app("model.tar.gz")'

Options of gunicorn's command line take the place of these settings. Environment variables:

- `WEB_CONCURRENCY`: the number of workers, by default one for each core.
- `ALLENNLP_NEF_CLIENT_TIMEOUT`: seconds that a client may be silent in the middle of a request, by default 10.
- `ALLENNLP_NEF_PRELOAD`: "no" loads the model in each worker, which a GPU needs.
- `PROMETHEUS_MULTIPROC_DIR`: a folder for the metrics of the workers, emptied here. By default a temporary one.
"""

import atexit
import ctypes
import gc
import os
import shutil
import socket
import struct
import tempfile
import threading
from pathlib import Path
from typing import Any

import torch
from threadpoolctl import threadpool_limits  # scikit-learn requires it, and AllenNLP scikit-learn

from allennlp_nef.data.formats.text_files import number_of
from allennlp_nef.errors import UserError

# A worker takes one core. Otherwise NumPy and torch would start threads for all cores in each of them, and a process
# that has started such threads cannot be forked safely.
torch.set_num_threads(1)
threadpool_limits(1)

preload_app = os.environ.get("ALLENNLP_NEF_PRELOAD") != "no"
workers = int(os.environ.get("WEB_CONCURRENCY") or os.cpu_count() or 1)
worker_class = "gthread"
threads = 64
timeout = 60
graceful_timeout = 60
keepalive = 30
control_socket_disable = True


def _client_timeout() -> float:
    text = os.environ.get("ALLENNLP_NEF_CLIENT_TIMEOUT") or "10"
    seconds = number_of(text)
    if not 0.001 <= seconds <= 1e6:  # the system takes 0 for no limit
        raise UserError(
            f"ALLENNLP_NEF_CLIENT_TIMEOUT: expected seconds, from 0.001 to 1000000, got {text!r}"
        )
    return seconds


client_timeout = _client_timeout()


def _metrics_folder() -> None:
    """Makes an empty folder for the metrics of the workers, before anything imports Prometheus' client."""
    folder = os.environ.get("PROMETHEUS_MULTIPROC_DIR")
    if folder:
        for path in Path(folder).glob("*.db"):
            path.unlink()
        return
    folder = os.environ["PROMETHEUS_MULTIPROC_DIR"] = tempfile.mkdtemp(prefix="allennlp_nef_")
    atexit.register(_remove, folder, os.getpid())


def _remove(folder: str, process: int) -> None:
    if os.getpid() == process:  # a worker, too, calls it at its end
        shutil.rmtree(folder, ignore_errors=True)


_metrics_folder()
if hasattr(ctypes.CDLL(None), "mallopt"):  # glibc
    # All threads share an arena (M_ARENA_MAX): each of several would keep memory that is freed.
    ctypes.CDLL(None).mallopt(-8, 1)


def when_ready(server: Any) -> None:
    """Ends connections of clients that are silent for too long in the middle of a request."""
    # Connections inherit these options of the socket that accepts them.
    seconds = client_timeout
    value = struct.pack("ll", int(seconds), int(seconds % 1 * 1e6))
    for listener in server.LISTENERS:
        for option in (socket.SO_RCVTIMEO, socket.SO_SNDTIMEO):
            listener.sock.setsockopt(socket.SOL_SOCKET, option, value)
    # gunicorn would log a traceback for each.
    server.log.error_log.addFilter(
        lambda record: not record.exc_info or not isinstance(record.exc_info[1], BlockingIOError)
    )


def pre_fork(server: Any, worker: Any) -> None:
    """What is loaded is no garbage; to mark it would copy the memory that the workers share."""
    gc.freeze()


def post_fork(server: Any, worker: Any) -> None:
    """Changes how a worker ends connections, and how it stops."""
    _close_connections_in_threads()
    if hasattr(worker, "set_accept_enabled"):
        _close_listeners_on_sigterm(worker)


def _close_listeners_on_sigterm(worker: Any) -> None:
    """A worker that stops accepts the connections that wait, and then lets new ones be refused.

    gunicorn would leave them waiting until all requests are answered, and then reset them.
    """
    set_accept_enabled = worker.set_accept_enabled

    def accept_and_close(enabled: bool) -> None:
        set_accept_enabled(enabled)
        if enabled or worker.alive:
            return
        for listener in worker.sockets:
            for _ in range(worker.cfg.backlog):
                before = worker.nr_conns
                worker.accept(listener)
                if worker.nr_conns == before:  # none waits
                    break
            listener.close()

    worker.set_accept_enabled = accept_and_close


def _close_connections_in_threads() -> None:
    """Otherwise the main thread of a worker would wait until each client ends its connection, too."""
    from gunicorn.workers.gthread import TConn

    close = TConn.close

    def close_in_a_thread(self: Any, graceful: bool = False) -> None:
        if graceful:
            threading.Thread(target=close, args=(self, True), daemon=True).start()
        else:
            close(self)

    TConn.close = close_in_a_thread


def child_exit(server: Any, worker: Any) -> None:
    """A dead worker has no requests in flight."""
    from prometheus_client.multiprocess import mark_process_dead

    mark_process_dead(worker.pid)
