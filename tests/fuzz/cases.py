"""Runs a check on many cases: a fixed number of them, or for as long as FUZZ_SECONDS says."""

import os
import random
import signal
import time
import traceback
from contextlib import contextmanager

SECONDS = float(os.environ.get("FUZZ_SECONDS", "0"))
"""For each check; 0: a fixed number of cases."""
SEED = int(os.environ.get("FUZZ_SEED", "0"))
LIMIT = 20
"""The seconds that a case may take."""


class TooSlow(BaseException):
    """A case took more than `LIMIT`. It is no `Exception`, so that nothing catches it."""


@contextmanager
def limited(seconds=LIMIT):
    def stop(*arguments):
        raise TooSlow(f"{seconds} s")

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def run(name, number, check):
    """Calls `check` with a generator of random numbers for each case. Fails with the first case of each error."""
    end = time.monotonic() + SECONDS
    failures, case = {}, 0
    while time.monotonic() < end if SECONDS else case < number:
        try:
            with limited():
                check(random.Random(f"{SEED} {name} {case}"))
        except (Exception, TooSlow) as error:  # noqa: BLE001
            place = traceback.extract_tb(error.__traceback__)[-1]
            text = "".join(traceback.format_exception(type(error), error, error.__traceback__))
            failures.setdefault(
                (type(error), place.filename, place.lineno),
                f"case {case} with FUZZ_SEED={SEED}:\n{text}",
            )
        case += 1
    assert case >= min(number, 10)
    assert not failures, f"{name}: {len(failures)} errors in {case} cases\n\n" + "\n\n".join(
        failures.values()
    )
