"""SIGTERM while a model is trained."""

import logging
import os
import signal
import threading
from typing import Any

from tqdm import tqdm  # type: ignore[import-untyped]

from allennlp_nef.training.agreement import gather

logger = logging.getLogger(__name__)

STATUS = 128 + signal.SIGTERM  # as shells count


class Termination:
    """Between `start` and `stop`, SIGTERM does not end the process: `requested` says that it came.

    Processes that are forked in between, such as those that read data, do end.
    """

    def __init__(self) -> None:
        self.requested = False
        self._process: int | None = None
        self._previous: Any = None

    def start(self) -> None:
        """Outside the main thread, where signals cannot be handled, this does nothing."""
        if self._process is None and threading.current_thread() is threading.main_thread():
            self._process = os.getpid()
            self._previous = signal.signal(signal.SIGTERM, self._note)

    def stop(self) -> None:
        """SIGTERM has the effect again that it had before `start`."""
        if self._process is not None:
            signal.signal(signal.SIGTERM, self._previous)
            self._process = None

    def _note(self, *args: Any) -> None:
        if os.getpid() == self._process:
            self.requested = True
        else:
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
            os.kill(os.getpid(), signal.SIGTERM)


def exit_terminated(is_primary: bool, path: str) -> None:
    """Ends the process after a checkpoint, the file of which is named. All processes have to call this."""
    if is_primary:
        for bar in list(getattr(tqdm, "_instances", ())):
            bar.close()  # or it would be drawn again below the last line
        logger.error(
            "terminated: %s is written, and the same command with --recover goes on from there",
            path,
        )
    gather(None)  # the program ends all processes when the first one has ended
    raise SystemExit(STATUS)
