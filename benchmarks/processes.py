"""How much faster several processes train than one, on the same cores.

    python benchmarks/processes.py qe_nef_f --train FOLDER/train --validation FOLDER/dev
    python benchmarks/processes.py ner_nef_f_crf_5 --train esp.train --validation esp.testa --pairs 3 --json FILE

Trains the config as `allennlp train` does, with one process and with several in turn. What counts are the seconds of
the epochs and of their validations, without imports and reading. One process has as many threads as torch gives it, a
thread a core, or as `OMP_NUM_THREADS` says. The speed-up is the ratio of a pair. Linux only: the trainings are forks of
one process, so they import nothing.
"""

import argparse
import json
import os
import sys
import tempfile
from functools import partial
from pathlib import Path
from typing import Any

import numpy
import torch
from tqdm import tqdm

ROOT = Path(__file__).resolve().parent.parent
WITHOUT_CALLBACKS = {"trainer.callbacks": [], "include_in_archive": []}


def train(_: int, folder: str, path: str, overrides: dict[str, Any]) -> None:
    """A training, in a process of its own. Its output goes into a file."""
    from allennlp.commands import train as command
    from allennlp.common import Params

    log = os.open(f"{folder}.log", os.O_WRONLY | os.O_CREAT)
    for stream in (1, 2):
        os.dup2(log, stream)
    command.mp.spawn = partial(torch.multiprocessing.start_processes, start_method="fork")
    params = Params.from_file(path, json.dumps(overrides))
    command.train_model(params, folder, include_package=["allennlp_nef"])


def seconds_of(path: str, overrides: dict[str, Any], processes: int) -> float:
    """The seconds of the epochs of a training."""
    if processes > 1:
        overrides = {**overrides, "distributed": {"cuda_devices": [-1] * processes}}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "run"
        torch.multiprocessing.start_processes(
            train, (str(folder), path, overrides), daemon=False, start_method="fork"
        )
        duration = json.loads((folder / "metrics.json").read_text())["training_duration"]
    hours, minutes, seconds = map(float, duration.split(":"))
    return 3600 * hours + 60 * minutes + seconds


def main() -> int:
    """Runs the program."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("config", help="the name of a config in training_configs")
    parser.add_argument("--train", required=True, help="path of the training data")
    parser.add_argument("--validation", required=True, help="path of the validation data")
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--pairs", type=int, default=5)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--overrides", type=json.loads, default={}, metavar="JSON")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also writes the figures here")
    args = parser.parse_args()

    import allennlp_nef.components  # noqa: F401  # once, for all trainings

    path = str(ROOT / "training_configs" / f"{args.config}.jsonnet")
    overrides = {
        "train_data_path": args.train,
        "validation_data_path": args.validation,
        "trainer.num_epochs": args.epochs,
        **WITHOUT_CALLBACKS,
        **args.overrides,
    }
    pairs = [
        [seconds_of(path, overrides, processes) for processes in (1, args.processes)]
        for _ in tqdm(range(args.pairs))
    ]
    one, several = numpy.array(pairs).T
    low, median, high = numpy.percentile(one / several, [25, 50, 75]).tolist()
    figures = {
        "config": args.config,
        "processes": args.processes,
        "threads_of_one": torch.get_num_threads(),
        "seconds": numpy.median(pairs, 0).tolist(),
        "speed_up": {
            "median": median,
            "quartiles": [low, high],
            "values": (one / several).tolist(),
        },
    }
    print(
        f"{args.config}: 1 process {figures['seconds'][0]:.2f} s, {args.processes} processes "
        f"{figures['seconds'][1]:.2f} s, speed-up {median:.2f} (quartiles {low:.2f} to {high:.2f}) of "
        f"{args.pairs} pairs"
    )
    if args.json:
        args.json.write_text(json.dumps(figures, indent=2) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
