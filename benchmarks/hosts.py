"""Trains on two hosts, kills one of them, and recovers. The hosts are network namespaces. Linux, as root.

    python benchmarks/hosts.py                                  qe_nef_f on 600 sentences of the fixtures, 3 epochs
    python benchmarks/hosts.py --config FILE --overrides '{"trainer.num_epochs": 5}' --json FILE

Each host runs AllenNLP's own command with one process:

    allennlp train CONFIG -s FOLDER --node-rank N -o '{"distributed": {"cuda_devices": [-1], "num_nodes": 2, ...}}'

The program compares the weights and the validation scores of the two hosts, and of two processes on one host. Then it
trains again, kills the second host (SIGKILL) in the second epoch, waits for the first one to end, recovers on both, and
compares with the training that was not killed. It lists the problems, and exits with status 1 if there are any.
"""

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import torch

ROOT = Path(__file__).resolve().parent.parent
SMALL = {"dataset_reader.max_instances": 600, "trainer.num_epochs": 3}
ADDRESSES = ("198.18.0.1", "198.18.0.2")  # a range for tests of networks (RFC 2544)
DEVICE = "nef"
"""The name of the network device in each host."""
DISTRIBUTED = {
    "cuda_devices": [-1],
    "num_nodes": len(ADDRESSES),
    "primary_address": ADDRESSES[0],
    "primary_port": 29500,
}
MAX_SECONDS = 60
"""In which the first host has to end after the second one was killed."""


@contextmanager
def two_hosts() -> Iterator[list[str]]:
    """The names of two network namespaces with a cable between them. They are removed in any case."""
    hosts = [f"nef-{os.getpid()}-{rank}" for rank in range(len(ADDRESSES))]
    try:
        for host in hosts:
            _ip("netns", "add", host)
        first, second = (["name", DEVICE, "netns", host] for host in hosts)
        _ip("link", "add", *first, "type", "veth", "peer", *second)
        for host, address in zip(hosts, ADDRESSES):
            _ip("-n", host, "address", "add", f"{address}/30", "dev", DEVICE)
            for device in ("lo", DEVICE):
                _ip("-n", host, "link", "set", device, "up")
        yield hosts
    finally:
        for host in hosts:  # the devices go with their namespaces
            subprocess.run(["ip", "netns", "delete", host], stderr=subprocess.DEVNULL, check=False)


def _ip(*arguments: str) -> None:
    subprocess.run(["ip", *arguments], check=True)


class Trainings:
    """Starts `allennlp train`, each in a folder of its own; a context that ends what still runs.

    # Parameters

    folder : `Path`
    config : `str`
    overrides : `dict[str, Any]`
    timeout : `float`
        Seconds in which a training has to end.
    """

    def __init__(
        self, folder: Path, config: str, overrides: dict[str, Any], timeout: float
    ) -> None:
        self.folder = folder
        self._config = config
        self._overrides = overrides
        self._timeout = timeout
        self._running = ExitStack()

    def __enter__(self) -> "Trainings":
        return self

    def __exit__(self, *error: Any) -> None:
        self._running.close()

    def start(
        self, names: Sequence[str], hosts: Sequence[str | None], *options: str
    ) -> list[subprocess.Popen]:
        """A process for each host, which trains in the folder of this name; None: this host, with two processes."""
        return [
            self._start_on(host, rank, name, *options)
            for rank, (host, name) in enumerate(zip(hosts, names))
        ]

    def _start_on(self, host: str | None, rank: int, name: str, *options: str) -> subprocess.Popen:
        inside = [] if host is None else ["ip", "netns", "exec", host]
        distributed = {"cuda_devices": [-1, -1]} if host is None else DISTRIBUTED
        overrides = json.dumps({**self._overrides, "distributed": distributed})
        command = [sys.executable, "-m", "allennlp", "train", self._config, "-o", overrides]
        command += ["-s", str(self.folder / name), "--node-rank", str(rank)]
        environment = {
            **os.environ,
            "OMP_NUM_THREADS": "1",
            "GLOO_SOCKET_IFNAME": "lo" if host is None else DEVICE,
        }
        with open(self.folder / f"{name}.log", "ab") as log:
            process = subprocess.Popen(
                [*inside, *command, "--include-package", "allennlp_nef", *options],
                cwd=ROOT,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        self._running.callback(kill, process)
        return process

    def finish(self, processes: Sequence[subprocess.Popen]) -> None:
        """Waits for the end. Raises `RuntimeError` where one ends with an error."""
        for process in processes:
            if process.wait(self._timeout):
                raise RuntimeError(
                    f"a training ended with status {process.returncode}: see {self.folder}"
                )

    def wait_for(self, pattern: str, process: subprocess.Popen) -> None:
        """Waits until there is a file."""
        end = time.monotonic() + self._timeout
        while not list(self.folder.glob(pattern)):
            if process.poll() is not None or time.monotonic() > end:
                raise RuntimeError(f"expected {pattern} in {self.folder}, got none")
            time.sleep(0.05)

    def last_line(self, name: str) -> str:
        """Of the log of a training."""
        lines = (
            (self.folder / f"{name}.log").read_text(encoding="utf-8", errors="replace").splitlines()
        )
        return next((line for line in reversed(lines) if line.strip()), "")

    def difference(self, first: str, second: str) -> dict[str, float]:
        """The maximum difference of the weights of two trainings, and of their validation scores."""
        weights = [torch.load(self.folder / name / "best.th") for name in (first, second)]
        scores = [
            json.loads((self.folder / name / "metrics.json").read_text())
            for name in (first, second)
        ]
        names = [name for name in scores[0] if name.startswith("best_validation_")]
        tensors = [key for key, value in weights[0].items() if value.is_floating_point()]
        return {
            "weights": max(
                float((weights[0][key] - weights[1][key]).abs().max()) for key in tensors
            ),
            "scores": max(abs(scores[0][name] - scores[1][name]) for name in names),
        }


def kill(process: subprocess.Popen) -> None:
    """Ends a process and all that it started, at once."""
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def measure(trainings: Trainings, hosts: list[str]) -> dict[str, Any]:
    """Trains, kills, recovers; the figures, with a list of problems."""
    figures: dict[str, Any] = {}
    begin = time.monotonic()
    trainings.finish(trainings.start(["one"], [None]))
    figures["seconds_one_host"] = time.monotonic() - begin
    begin = time.monotonic()
    trainings.finish(trainings.start(["two-0", "two-1"], hosts))
    figures["seconds_two_hosts"] = time.monotonic() - begin

    first, second = trainings.start(["killed-0", "killed-1"], hosts)
    trainings.wait_for("killed-1/training_state_e1_*", second)
    time.sleep(0.5)  # into the second epoch
    kill(second)
    begin = time.monotonic()
    try:
        figures["status_after_kill"] = first.wait(MAX_SECONDS)
        figures["seconds_to_end"] = time.monotonic() - begin
        figures["last_line"] = trainings.last_line("killed-0")
    except subprocess.TimeoutExpired:
        kill(first)
    trainings.finish(trainings.start(["killed-0", "killed-1"], hosts, "--recover"))

    pairs = {
        "hosts": ("two-0", "two-1"),
        "two_hosts_and_one": ("two-0", "one"),
        "recovered_hosts": ("killed-0", "killed-1"),
        "recovered": ("killed-0", "two-0"),
    }
    figures["differences"] = {key: trainings.difference(*pair) for key, pair in pairs.items()}
    figures["problems"] = [
        f"{key}: the weights of {' and '.join(pairs[key])} differ by {difference['weights']:.3g}"
        for key, difference in figures["differences"].items()
        if difference["weights"]
    ]
    if not figures.get("status_after_kill"):
        figures["problems"].append(
            "the first host did not end with an error after the second one was killed"
        )
    return figures


def text_of(figures: dict[str, Any]) -> str:
    """The figures for people."""
    lines = [
        f"one host, two processes: {figures['seconds_one_host']:.1f} s; two hosts: {figures['seconds_two_hosts']:.1f} s"
    ]
    if "seconds_to_end" in figures:
        lines += [
            f"the first host ended {figures['seconds_to_end']:.1f} s after the second one was killed, with the line",
            f"    {figures['last_line']}",
        ]
    for key, difference in figures["differences"].items():
        lines.append(f"{key}: maximum difference {difference}")
    return "\n".join([*lines, *(f"problem: {each}" for each in figures["problems"])])


def main() -> int:
    """Runs the program."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--config", default="training_configs/qe_nef_f.jsonnet")
    parser.add_argument("--overrides", type=json.loads, default=SMALL, metavar="JSON")
    parser.add_argument("--timeout", type=float, default=300, help="seconds for a training")
    parser.add_argument("--folder", type=Path, help="keeps the trainings and their logs here")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also writes the figures here")
    args = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    with ExitStack() as stack:
        folder = args.folder or Path(stack.enter_context(tempfile.TemporaryDirectory()))
        folder.mkdir(parents=True, exist_ok=True)
        hosts = stack.enter_context(two_hosts())
        trainings = Trainings(folder.resolve(), args.config, args.overrides, args.timeout)
        figures = measure(stack.enter_context(trainings), hosts)
    print(text_of(figures))
    if args.json:
        args.json.write_text(json.dumps(figures, indent=2) + "\n")
    return 1 if figures["problems"] else 0


if __name__ == "__main__":
    sys.exit(main())
