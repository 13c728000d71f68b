"""The harness of `speed.py` and `serving.py`: two functions timed in turn, memory, programs, rows of a table."""

import ctypes
import gc
import math
import multiprocessing
import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy
import torch

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


def rounds_of(settings: Settings, functions: Sequence[Callable[[], Any]]) -> list[list[float]]:
    """The seconds of each function, in several rounds after a warm-up."""
    calls = [warm_up(settings, function) for function in functions]
    return [
        [measure(settings, function, count) for function, count in zip(functions, calls)]
        for _ in range(settings.rounds(5))
    ]


def exponents(lengths: Sequence[int], rounds: Sequence[Sequence[float]]) -> list[float]:
    """The least-squares slope of the logarithms of each round; a round has a value for each length."""
    logs = numpy.log(lengths)
    return [float(numpy.polyfit(logs, numpy.log(values), 1)[0]) for values in rounds]


def exponent_row(
    what: str,
    lengths: Sequence[int],
    rounds: list[list[float]],
    least: int = 0,
    target: Target | None = None,
) -> Row | None:
    """The row of the exponent over lengths of at least `least`; None for fewer than two lengths."""
    which = [i for i, length in enumerate(lengths) if length >= least]
    if len(which) < 2:
        return None
    slopes = exponents([lengths[i] for i in which], [[row[i] for i in which] for row in rounds])
    if least > lengths[0]:
        what = f"{what}, from {least} words"
    return Row(what, "", slopes, target, "exponent", {"lengths": lengths, "rounds": rounds})


def peak_above(function: Callable[[], Any]) -> float:
    """The peak memory of a call minus the peak before it, in MB."""
    try:
        with open("/proc/self/clear_refs", "w") as file:
            file.write("5")  # resets the peak
    except OSError:
        pass  # elsewhere than on Linux the peak of loading hides smaller peaks

    def peak() -> float:
        unit = 1 if sys.platform == "darwin" else 1024
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 1e6

    before = peak()
    function()
    return peak() - before


def in_new_processes(
    function: Callable[..., float], jobs: Sequence[tuple[Any, ...]]
) -> list[float]:
    """The result of a function for the arguments of each job, each in a new process, one after the other."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["allennlp_nef"])  # imported once for all processes
    with context.Pool(1, maxtasksperchild=1) as pool:
        return pool.starmap(function, jobs, chunksize=1)


def memory_of(process: int) -> float:
    """The memory of a process and of those that it started, in MB (10^6 bytes).

    Of a page that several processes share, each counts a part.
    """
    return sum(map(_proportional_mb, _tree(process)))


def _tree(process: int) -> Iterator[int]:
    """A process and all below it."""
    yield process
    for thread in Path(f"/proc/{process}/task").glob("*"):
        try:
            children = (thread / "children").read_text(encoding="ascii").split()
        except (FileNotFoundError, ProcessLookupError):
            continue  # the thread has just ended
        for child in map(int, children):
            yield from _tree(child)


def start(log: Path, *arguments: str, threads: int = 1) -> "subprocess.Popen[bytes]":
    """Starts a module of Python's as a program in the checkout; its output goes to the log."""
    numbers = dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS"), str(threads))
    environment = {**os.environ, **numbers, "PYTHONIOENCODING": "utf-8"}
    command = [sys.executable, "-m", *arguments]
    with log.open("wb") as stream:
        streams: Any = {"stdin": subprocess.DEVNULL, "stdout": stream, "stderr": stream}
        return subprocess.Popen(command, cwd=str(ROOT), env=environment, **streams)


def allennlp(log: Path, *arguments: str, threads: int = 1) -> None:
    """Runs an AllenNLP command as a program to its end; `RuntimeError` if it fails."""
    process = start(
        log, "allennlp", *arguments, "--include-package", "allennlp_nef", threads=threads
    )
    if process.wait():
        raise RuntimeError(failure(process, log))


def failure(process: "subprocess.Popen[bytes]", log: Path) -> str:
    end = "\n".join(log.read_text(encoding="utf-8").splitlines()[-20:])
    return f"{' '.join(map(str, process.args))} ended with status {process.poll()}:\n{end}"


def _proportional_mb(process: int) -> float:
    try:
        text = Path(f"/proc/{process}/smaps_rollup").read_text(encoding="ascii")
    except (FileNotFoundError, ProcessLookupError):
        return 0.0  # the process has just ended
    sizes = (line.split()[1] for line in text.splitlines() if line.startswith("Pss:"))
    return sum(map(int, sizes)) * 1024 / 1e6
