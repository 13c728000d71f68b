"""Shared by the parts of `speed.py`: settings, the timing of two functions in turn, and rows of the table."""

import ctypes
import gc
import math
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy
import torch

from allennlp_nef.nn import _kernels as kernels

ROOT = Path(__file__).resolve().parent.parent
SHORTEST = 0.005
"""The minimum seconds of one measurement; a faster function is called several times in one measurement."""


class Target(NamedTuple):
    at_most: float
    aim: float


class Row(NamedTuple):
    """A row of the table: the median and the quartiles of the values."""

    what: str
    baseline: str
    """The name of the denominator of the ratio; empty if the values are no ratios."""
    values: list[float]
    target: Target | None = None
    unit: str = "ratio"
    details: dict[str, Any] | None = None
    """More fields of the JSON file."""

    def summary(self) -> tuple[float, float, float]:
        """First quartile, median and third quartile."""
        low, median, high = numpy.percentile(self.values, [25, 50, 75]).tolist()
        return low, median, high

    def to_json(self) -> dict[str, Any]:
        low, median, high = self.summary()
        return {
            "what": self.what,
            "baseline": self.baseline or None,
            "unit": self.unit,
            "median": median,
            "quartiles": [low, high],
            "values": self.values,
            "target": self.target and self.target._asdict(),
            **(self.details or {}),
        }


Case = Callable[[], list[Row]]
"""Measures something; returns the rows of the table."""


class Settings(NamedTuple):
    folder: Path
    """A folder for temporary files."""
    quick: bool = False
    """Whether everything is measured once and without the largest sizes, to test that the program runs."""
    cpu_time: bool = False
    """Whether to measure the CPU time of the process instead of wall-clock time."""
    threads: int = 1
    data: Path | None = None
    """A CoNLL-U file for part 6; None: the fixtures."""
    seconds: float = 1.5
    """The time for the pairs of a row."""
    min_pairs: int = 7
    max_pairs: int = 200
    device: torch.device = torch.device("cpu")
    batch_size: int = 32
    low_precision: bool = False
    """Whether to compute in bfloat16."""

    @property
    def has_kernels(self) -> bool:
        """Whether the decoder runs with kernels that numba compiles."""
        return self.device.type == "cpu" and not self.low_precision and kernels.is_available()

    @property
    def clock(self) -> Callable[[], float]:
        on_cpu = self.device.type == "cpu"
        return time.process_time if self.cpu_time and on_cpu else time.perf_counter

    def rounds(self, count: int) -> int:
        """The number of repetitions: `count`, or 1 in a quick run."""
        return 1 if self.quick else count


def steady_allocator() -> None:
    """Keeps glibc from returning memory to the system after each step, since requesting it again takes varying time."""
    library = ctypes.CDLL(None)
    if hasattr(library, "mallopt"):
        library.mallopt(-1, 2**31 - 1)  # M_TRIM_THRESHOLD
        library.mallopt(-3, 2**25)  # M_MMAP_THRESHOLD, the largest there is


def measure(settings: Settings, function: Callable[[], Any], calls: int = 1) -> float:
    """The mean seconds of a call."""
    _synchronize(settings)
    begin = settings.clock()
    for _ in range(calls):
        function()
    _synchronize(settings)
    return (settings.clock() - begin) / calls


def no() -> bool:
    return False


def without_kernels(function: Callable[[], Any]) -> Callable[[], Any]:
    """A function that runs as if numba were not installed."""

    is_available = kernels.is_available

    def run() -> Any:
        kernels.is_available = no  # quicker than unittest.mock
        try:
            return function()
        finally:
            kernels.is_available = is_available

    return run


def warm_up(settings: Settings, function: Callable[[], Any]) -> int:
    """Calls a function a few times; the number of calls for one measurement."""
    for _ in range(settings.rounds(2)):
        seconds = measure(settings, function)
    return 1 if settings.quick else math.ceil(SHORTEST / max(seconds, 1e-6))


def compare(
    settings: Settings,
    what: str,
    baseline: str,
    ours: Callable[[], Any],
    theirs: Callable[[], Any],
    target: Target | None = None,
) -> Row:
    """The row of the ratios of two functions, which run in turn after a warm-up."""
    ours, theirs = (
        partial(measure, settings, function, warm_up(settings, function))
        for function in (ours, theirs)
    )
    pairs: list[tuple[float, float]] = []
    fewest, most = settings.rounds(settings.min_pairs), settings.rounds(settings.max_pairs)
    gc.collect()
    gc.disable()
    end = time.perf_counter() + settings.seconds
    while len(pairs) < fewest or (len(pairs) < most and time.perf_counter() < end):
        pairs.append((ours(), theirs()))
    gc.enable()
    return paired(what, baseline, pairs, target)


def paired(
    what: str, baseline: str, pairs: list[tuple[float, float]], target: Target | None = None
) -> Row:
    """The row of the ratios of pairs of seconds, ours and theirs."""
    seconds = numpy.median(pairs, axis=0).tolist()
    return Row(what, baseline, [a / b for a, b in pairs], target, details={"seconds": seconds})


def _synchronize(settings: Settings) -> None:
    if settings.device.type == "cuda":
        torch.cuda.synchronize(settings.device)
