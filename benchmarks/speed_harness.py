"""What the parts of `speed.py` share: its settings, pairs of functions timed in turn, and the rows of its table."""

import ctypes
import gc
import math
import time
from functools import partial
from pathlib import Path
from typing import Any, Callable, Dict, List, NamedTuple, Optional, Tuple

import numpy
import torch

ROOT = Path(__file__).resolve().parent.parent
SHORTEST = 0.005
"""Seconds of one measurement, at least: what is faster is called several times in a row."""


class Target(NamedTuple):
    at_most: float
    aim: float


class Row(NamedTuple):
    """A line of the table: the median of the values, and their quartiles."""

    what: str
    baseline: str
    """What it is divided by; empty where it is no ratio."""
    values: List[float]
    target: Optional[Target] = None
    unit: str = "ratio"
    details: Optional[Dict[str, Any]] = None
    """For the JSON file."""

    def summary(self) -> Tuple[float, float, float]:
        """First quartile, median and third quartile."""
        low, median, high = numpy.percentile(self.values, [25, 50, 75]).tolist()
        return low, median, high

    def to_json(self) -> Dict[str, Any]:
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


Case = Callable[[], List[Row]]
"""Measures and gives rows."""


class Settings(NamedTuple):
    folder: Path
    """For files that are not kept."""
    quick: bool = False
    """Whether each thing is measured once, and the largest sizes are left out: a test that all runs."""
    cpu_time: bool = False
    """Whether the CPU time of the process is taken instead of the time on the wall clock."""
    threads: int = 1
    data: Optional[Path] = None
    """A CoNLL-U file for whole commands."""
    seconds: float = 1.5
    """For the pairs of a row."""
    least_pairs: int = 7
    most_pairs: int = 200
    device: torch.device = torch.device("cpu")
    batch_size: int = 32
    low_precision: bool = False
    """Whether in bfloat16."""

    @property
    def clock(self) -> Callable[[], float]:
        on_cpu = self.device.type == "cpu"
        return time.process_time if self.cpu_time and on_cpu else time.perf_counter

    def rounds(self, count: int) -> int:
        """How often something slow is done, where it is to be done `count` times."""
        return 1 if self.quick else count


def steady_allocator() -> None:
    """Keeps glibc from handing memory back to the system after each step: fetching it again takes times that vary."""
    library = ctypes.CDLL(None)
    if hasattr(library, "mallopt"):
        library.mallopt(-1, 2**31 - 1)  # M_TRIM_THRESHOLD
        library.mallopt(-3, 2**25)  # M_MMAP_THRESHOLD, the largest there is


def measure(settings: Settings, function: Callable[[], Any], calls: int = 1) -> float:
    """Seconds of a call."""
    _synchronize(settings)
    begin = settings.clock()
    for _ in range(calls):
        function()
    _synchronize(settings)
    return (settings.clock() - begin) / calls


def warm_up(settings: Settings, function: Callable[[], Any]) -> int:
    """Calls it a few times; how many calls a measurement takes."""
    for _ in range(settings.rounds(2)):
        seconds = measure(settings, function)
    return 1 if settings.quick else math.ceil(SHORTEST / max(seconds, 1e-6))


def compare(
    settings: Settings,
    what: str,
    baseline: str,
    ours: Callable[[], Any],
    theirs: Callable[[], Any],
    target: Optional[Target] = None,
) -> Row:
    """Ours and theirs in turn, after a warm-up; the ratio of each pair."""
    ours, theirs = (
        partial(measure, settings, function, warm_up(settings, function))
        for function in (ours, theirs)
    )
    pairs: List[Tuple[float, float]] = []
    least, most = settings.rounds(settings.least_pairs), settings.rounds(settings.most_pairs)
    gc.collect()
    gc.disable()
    end = time.perf_counter() + settings.seconds
    while len(pairs) < least or (len(pairs) < most and time.perf_counter() < end):
        pairs.append((ours(), theirs()))
    gc.enable()
    return paired(what, baseline, pairs, target)


def paired(
    what: str, baseline: str, pairs: List[Tuple[float, float]], target: Optional[Target] = None
) -> Row:
    """The row of pairs of seconds, ours and theirs."""
    seconds = numpy.median(pairs, axis=0).tolist()
    return Row(what, baseline, [a / b for a, b in pairs], target, details={"seconds": seconds})


def _synchronize(settings: Settings) -> None:
    if settings.device.type == "cuda":
        torch.cuda.synchronize(settings.device)
