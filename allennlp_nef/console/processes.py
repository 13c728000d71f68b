"""The end of programs of several processes, such as a distributed training."""

import multiprocessing
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager

TERMINATED = 143
"""The status of a process that got SIGTERM, wrote a checkpoint, and reported it."""


@contextmanager
def ending_together() -> Iterator[None]:
    """A context in which SIGTERM also ends the processes that this one has started.

    # Raises

    `SystemExit`, with the status `TERMINATED`, where one of them ended with it.
    """
    from allennlp.common.util import SigTermReceived
    from torch.multiprocessing import ProcessExitedException

    try:
        yield
    except SigTermReceived:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)  # it may come again
        processes = multiprocessing.active_children()
        for process in processes:
            process.terminate()
        for process in processes:
            process.join()
        if TERMINATED in [process.exitcode for process in processes]:
            sys.exit(TERMINATED)
        raise
    except ProcessExitedException as error:
        if error.exit_code == TERMINATED:
            sys.exit(TERMINATED)
        raise
