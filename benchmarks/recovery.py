"""Kills trainings at random times, recovers them, and compares what they leave with a training that was not killed.

    python benchmarks/recovery.py                            a small quality estimator on the fixtures
    python benchmarks/recovery.py --train DATA/train --dev DATA/dev --sentences 1000 --epochs 6
    python benchmarks/recovery.py --processes 2 --json FILE  on two processes; FILE has the outcome of each kill

Each training is killed by SIGKILL, with all its processes, at a time that is drawn from its length, and recovered by
`allennlp train --recover`: with the checkpointer "resumable", and with that of AllenNLP. For both, the table counts the
trainings that were finished, those with the same weights (bit for bit), those whose metrics.json has the same scores,
and the archives whose scores on the development data are those that metrics.json has for the best epoch. The program
exits with status 1 if a training with "resumable" fails in any of these. Linux only.
"""

import argparse
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, NamedTuple

import torch
from speed_harness import ROOT
from tqdm import tqdm

CHECKPOINTERS = ("resumable", "default")
BEGIN = "Beginning training."
"""The line of the log before the first epoch."""


class Outcome(NamedTuple):
    """Of a training that was killed and recovered."""

    checkpointer: str
    seconds: float
    """From the beginning of the first epoch to the kill."""
    recovered: bool
    same_weights: bool = False
    same_scores: bool = False
    right_archive: bool = False
    """Whether the archive has the scores of the best epoch in metrics.json."""
    message: str = ""
    """The last line of a recovery that failed."""


class Training(NamedTuple):
    """The training that is killed: its config, and the folder of its runs."""

    config: Path
    overrides: dict[str, Any]
    folder: Path
    python: str = sys.executable

    def start(self, run: str, checkpointer: str, *arguments: str) -> "subprocess.Popen[bytes]":
        """A process with a group of its own; its output goes to `<run>.log`."""
        options = {"type": checkpointer, "keep_most_recent_by_count": 1}
        overrides = {**self.overrides, "trainer.checkpointer": options}
        command = [
            self.python,
            "-m",
            "allennlp",
            "train",
            str(self.config),
            "-s",
            str(self.folder / run),
        ]
        with (self.folder / f"{run}.log").open("wb") as log:
            return subprocess.Popen(
                [
                    *command,
                    "-o",
                    json.dumps(overrides),
                    "--include-package",
                    "allennlp_nef",
                    *arguments,
                ],
                cwd=str(ROOT),
                env={**os.environ, "OMP_NUM_THREADS": "1", "PYTHONIOENCODING": "utf-8"},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )

    def wait_for_first_epoch(self, run: str, process: "subprocess.Popen[bytes]") -> None:
        while process.poll() is None and not any(
            BEGIN in path.read_text(encoding="utf-8")
            for path in (self.folder / run).glob("out*.log")
        ):
            time.sleep(0.02)

    def last_line(self, run: str) -> str:
        lines = (self.folder / f"{run}.log").read_text(encoding="utf-8").split("\n")
        return next((line for line in reversed(lines) if line.strip()), "")

    def weights(self, run: str) -> dict[str, torch.Tensor]:
        weights: dict[str, torch.Tensor] = torch.load(str(self.folder / run / "best.th"))
        return weights

    def scores(self, run: str) -> dict[str, Any]:
        """Without times and sizes of memory."""
        scores = json.loads((self.folder / run / "metrics.json").read_text(encoding="utf-8"))
        return {k: v for k, v in scores.items() if not k.endswith(("duration", "_MB"))}

    def archive_is_right(self, run: str) -> bool:
        """Whether the scores of the archive are those of the best epoch. (Losses also depend on batches.)"""
        from allennlp.data import DataLoader
        from allennlp.models import load_archive
        from allennlp.training.util import evaluate

        import allennlp_nef  # noqa: F401  # registers the components

        archive = load_archive(str(self.folder / run / "model.tar.gz"))
        config = archive.config
        loader = DataLoader.from_params(
            config["validation_data_loader"],
            reader=archive.validation_dataset_reader,
            data_path=config["validation_data_path"],
        )
        loader.index_with(archive.model.vocab)
        scores, expected = evaluate(archive.model, loader), self.scores(run)
        return all(
            abs(value - expected[f"best_validation_{name}"]) < 1e-9
            for name, value in scores.items()
            if not name.endswith("loss")
        )


def measure(training: Training, kills: int, seed: int = 0) -> list[Outcome]:
    """Kills `kills` trainings with each checkpointer, at the same times, and recovers them."""
    generator = random.Random(seed)
    process = training.start("whole", "resumable")
    training.wait_for_first_epoch("whole", process)
    begin = time.perf_counter()
    if process.wait():
        raise RuntimeError(training.last_line("whole"))
    seconds = time.perf_counter() - begin
    outcomes = []
    with tqdm(total=kills * len(CHECKPOINTERS)) as progress:
        for number in range(kills):
            delay = generator.uniform(0, seconds)
            for checkpointer in CHECKPOINTERS:
                outcomes.append(
                    kill_and_recover(training, f"{checkpointer}{number}", checkpointer, delay)
                )
                progress.update()
    return outcomes


def kill_and_recover(training: Training, run: str, checkpointer: str, delay: float) -> Outcome:
    """Kills a training `delay` seconds after the beginning of its first epoch, or earlier if it ends before that, and
    recovers it."""
    process = training.start(run, checkpointer)
    training.wait_for_first_epoch(run, process)
    time.sleep(delay)
    if process.poll() is not None:
        shutil.rmtree(str(training.folder / run))
        return kill_and_recover(training, run, checkpointer, delay / 2)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    if training.start(run, checkpointer, "--recover").wait():
        return Outcome(checkpointer, delay, False, message=training.last_line(run))
    weights, expected = training.weights(run), training.weights("whole")
    return Outcome(
        checkpointer,
        delay,
        True,
        same_weights=all(weights[name].equal(expected[name]) for name in expected),
        same_scores=training.scores(run) == training.scores("whole"),
        right_archive=training.archive_is_right(run),
    )


def table(outcomes: list[Outcome]) -> list[str]:
    """The lines of the table."""
    fields = ("recovered", "same_weights", "same_scores", "right_archive")
    lines = [
        "| checkpointer | killed | recovered | same weights | same scores | archive of the best epoch |"
    ]
    lines.append("| --- |" + " --- |" * 5)
    for checkpointer in CHECKPOINTERS:
        rows = [outcome for outcome in outcomes if outcome.checkpointer == checkpointer]
        counts = [len(rows), *(sum(getattr(row, field) for row in rows) for field in fields)]
        lines.append(f"| `{checkpointer}` | " + " | ".join(map(str, counts)) + " |")
    return lines


def problems(outcomes: list[Outcome]) -> list[str]:
    """The recoveries with our checkpointer that went wrong."""
    return [
        f"killed after {outcome.seconds:.2f} s: {outcome.message or outcome}"
        for outcome in outcomes
        if outcome.checkpointer == CHECKPOINTERS[0] and not all(outcome[2:6])
    ]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    config = "training_configs/qe_nef_f.jsonnet"
    parser.add_argument("--config", type=Path, default=config, help=f"default {config}")
    parser.add_argument("--train", type=Path, help="training data, in place of those of the config")
    parser.add_argument("--dev", type=Path, help="development data, likewise")
    for name, default, help_text in (
        ("sentences", 200, "of training and development data"),
        ("epochs", 4, "of each training"),
        ("kills", 10, "with each checkpointer"),
        ("processes", 1, "of each training"),
        ("seed", 0, "of the times of the kills"),
    ):
        parser.add_argument(
            f"--{name}",
            type=int,
            default=default,
            metavar="N",
            help=f"{help_text} (default {default})",
        )
    parser.add_argument("--json", type=Path, help="file for the outcomes")
    args = parser.parse_args()
    overrides: dict[str, Any] = {"trainer.num_epochs": args.epochs}
    for reader in ("dataset_reader", "validation_dataset_reader"):
        overrides[f"{reader}.max_instances"] = args.sentences
    for key, path in (("train_data_path", args.train), ("validation_data_path", args.dev)):
        if path is not None:
            overrides[key] = str(path.absolute())
    if args.processes > 1:
        overrides["distributed"] = {"cuda_devices": [-1] * args.processes}
    with tempfile.TemporaryDirectory() as folder:
        training = Training(args.config.absolute(), overrides, Path(folder))
        outcomes = measure(training, args.kills, args.seed)
    if args.json:
        args.json.write_text(json.dumps([outcome._asdict() for outcome in outcomes], indent=2))
    print("\n".join(table(outcomes)))
    found = problems(outcomes)
    if found:
        sys.exit("\n".join(found))


if __name__ == "__main__":
    main()
