"""Part 5 of `speed.py`: time and memory of a training step of one sentence, by the length of the sentence.

The exponents are least-squares slopes of logarithms. The time of short sentences is mostly overhead, so there is a
second fit without them.
"""

import multiprocessing
import resource
import sys
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy
import torch
from speed_harness import Case, Row, Settings, Target, measure, warm_up
from speed_taggers import Decoder, Run, nef_tagger, random_batch

Steps = int | str
LENGTHS = (16, 32, 64, 128, 256, 512, 1024)
LONG = 128
"""The length from which overhead no longer dominates."""
LONG_FOR_MEMORY = 256
"""The length from which the memory is large enough to be measured."""
ROUNDS = 5
TIME_TARGETS: dict[Steps, Target] = {5: Target(1.1, 1.05), "length": Target(2.1, 2.0)}
MEMORY_TARGETS: dict[Steps, Target] = {"length": Target(600, 100)}


def run_of(settings: Settings, num_steps: Steps, *lengths: int) -> Run:
    """A `Run` of NEF-F with csoftmax, with batches of one sentence."""
    torch.manual_seed(1)
    batches = [random_batch(settings, 1, length) for length in lengths]
    return Run(settings, nef_tagger(Decoder("full", num_steps, "csoftmax")), batches)


def extra_memory(settings: Settings, num_steps: Steps, length: int) -> float:
    """The peak memory of a training step minus the memory before it, in MB. Call it in a new process.

    Before the step the process holds the model, its gradients and the optimizer's state, after a step with two words.
    """
    torch.set_num_threads(settings.threads)
    run = run_of(settings, num_steps, 2, length)
    run.train()
    return peak_above(run.train)


def peak_above(function: Callable[[], Any]) -> float:
    """The peak memory of a call minus the peak before it, in MB."""
    try:
        with open("/proc/self/clear_refs", "w") as file:
            file.write("5")  # resets the peak
    except OSError:
        pass  # elsewhere than on Linux the peak of loading hides smaller peaks
    before = _peak()
    function()
    return _peak() - before


def _peak() -> float:
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 1e6


def exponents(lengths: Sequence[int], rounds: Sequence[Sequence[float]]) -> list[float]:
    """The fitted exponent of each round; a round has a value for each length."""
    logs = numpy.log(lengths)
    return [float(numpy.polyfit(logs, numpy.log(values), 1)[0]) for values in rounds]


def scaling(settings: Settings) -> list[Case]:
    """Part 5: NEF-F with csoftmax, N = 5 and N = L."""
    lengths = LENGTHS[:2] if settings.quick else LENGTHS

    def fit(
        what: str, rounds: list[list[float]], min_length: int, target: Target | None = None
    ) -> list[Row]:
        """The row of the exponent over lengths of at least `min_length`; no row for fewer than two lengths."""
        which = [i for i, length in enumerate(lengths) if length >= min_length]
        if len(which) < 2:
            return []
        slopes = exponents([lengths[i] for i in which], [[row[i] for i in which] for row in rounds])
        if min_length > lengths[0]:
            what = f"{what}, from {min_length} words"
        details = {"lengths": lengths, "rounds": rounds}
        return [Row(what, "", slopes, target, "exponent", details)]

    def time_case(num_steps: Steps) -> list[Row]:
        steps = [run_of(settings, num_steps, length).train for length in lengths]
        calls = [warm_up(settings, step) for step in steps]
        rounds = [
            [measure(settings, step, count) for step, count in zip(steps, calls)]
            for _ in range(settings.rounds(ROUNDS))
        ]
        what, target = f"exponent of time, {_title(num_steps)}", TIME_TARGETS[num_steps]
        return [row for length in (0, LONG) for row in fit(what, rounds, length, target)]

    def memory_case(num_steps: Steps) -> list[Row]:
        jobs = [(settings, num_steps, length) for length in lengths]
        rounds = [in_new_processes(extra_memory, jobs) for _ in range(settings.rounds(3))]
        name = f"peak memory, {_title(num_steps)}"
        last = [values[-1] for values in rounds]
        what, target = f"{name}, {lengths[-1]:,} words", MEMORY_TARGETS.get(num_steps)
        details = {"lengths": lengths, "rounds": rounds}
        fitted = fit(f"exponent of {name}", rounds, LONG_FOR_MEMORY)
        return [*fitted, Row(what, "", last, target, "MB", details)]

    cases: list[Case] = [partial(time_case, num_steps) for num_steps in TIME_TARGETS]
    return cases + [partial(memory_case, num_steps) for num_steps in TIME_TARGETS]


def _title(num_steps: Steps) -> str:
    return f"NEF-F N={'L' if num_steps == 'length' else num_steps}"


def in_new_processes(
    function: Callable[..., float], jobs: Sequence[tuple[Any, ...]]
) -> list[float]:
    """The result of a function for the arguments of each job, each in a new process, one after the other."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["allennlp_nef"])  # imported once for all processes
    with context.Pool(1, maxtasksperchild=1) as pool:
        return pool.starmap(function, jobs, chunksize=1)
