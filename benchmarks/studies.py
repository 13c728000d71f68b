"""The harness of `results.py`: data files, trainings that are kept, scores and paired tests in Markdown."""

import argparse
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy
from tqdm import tqdm

if TYPE_CHECKING:
    from allennlp.common import Params

ROOT = Path(__file__).resolve().parent.parent
PARTS = ("dev", "test")
Files = dict[str, str]
"""The data paths of train, dev and test."""
Results = dict[str, list[dict[str, Any]]]
"""The results of each row, one for each seed."""
Counts = dict[str, list[Any]]
"""For dev and test, the counts of each sentence in each run."""


class Study:
    """A task of `results.py`: what it trains, how it counts, and the scores of these counts."""

    configs: Sequence[str] = ()
    encoders: Sequence[str] = ()
    """The rows with a pretrained encoder, which --configs asks for: they take hours."""
    patterns: dict[str, list[str]] = {}
    """Of train, dev and test in the data folder; of several the first that is there. See `language`."""
    language: str | None = None
    """What `{language}` is in the patterns by default. None: the task has no `--language`."""
    kept_by_data = True
    """Whether the name of the output folder has that of the data folder."""
    scorer: Any = None
    """Its `scores` are of sums of counts, as those of `allennlp_nef.metrics.tag_scores.Scorer`."""
    scores: dict[str, str] = {}
    """The title of each score; the paired tests use the first."""
    pairs: Sequence[tuple[str, str]] = ()
    """The rows that are compared; by default each one with the first."""
    scale, digits = 100, 2

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        """Adds the options of this task."""

    def find(
        self, parser: argparse.ArgumentParser, args: argparse.Namespace, output: Path
    ) -> Files:
        """The data files; those that have to be made are in the output folder. Mistakes are errors of the parser."""
        return find_files(parser, self, args.task, Path(args.data), args.language)

    def rows(self, args: argparse.Namespace) -> Sequence[str]:
        """The rows that may be asked for, mostly the names of their configs."""
        return self.configs

    def default_rows(self, args: argparse.Namespace) -> Sequence[str]:
        """The rows that are trained if none are asked for."""
        return self.rows(args)

    def params(
        self, args: argparse.Namespace, row: str, seed: int, files: Files, folder: Path
    ) -> "Params":
        """The experiment of a run, whose output is in `folder`."""
        return experiment(row, seed, files, args.overrides)

    def prepare(self) -> None:
        """What a run does before it trains."""

    def count(self, args: argparse.Namespace, folder: Path, part: str, path: str) -> numpy.ndarray:
        """The counts of each sentence of a part of the data, with the model of a folder."""
        raise NotImplementedError

    def finish(
        self, args: argparse.Namespace, files: Files, folder: Path, result: dict[str, Any]
    ) -> None:
        """Scores the trained model of a folder on dev and test; adds to the result what the tables need."""
        for part in PARTS:
            result["counts"][part] = self.count(args, folder, part, files[part]).tolist()

    def trivial_counts(self, args: argparse.Namespace, files: Files) -> dict[str, Counts]:
        """The counts of taggers that learn next to nothing, in one run."""
        return {}

    def tables(self, args: argparse.Namespace, files: Files, results: Results, output: Path) -> str:
        """The tables of all runs in Markdown: scores with median times, and paired tests."""
        header = ["config", *columns(self.scores.values()), "seeds", "s/epoch", "training"]
        lines = [header]
        for row, runs in results.items():
            per_epoch = numpy.median([run["seconds"] / run["epochs"] for run in runs])
            minutes = numpy.median([run["seconds"] for run in runs]) / 60
            facts = [str(len(runs)), f"{per_epoch:.1f}", f"{minutes:.1f} min"]
            lines.append([f"`{row}`", *self.cells(counts_of(runs)), *facts])
        return markdown(lines) + "\n\n" + self.differences(results)

    def trivial_table(self, args: argparse.Namespace, files: Files) -> str:
        """The scores of the trivial taggers."""
        rows = self.trivial_counts(args, files).items()
        header = ["baseline", *columns(self.scores.values())]
        return markdown([header, *([name, *self.cells(counts)] for name, counts in rows)])

    def cells(self, counts: Counts) -> list[str]:
        """The mean of each score on dev and test, and its standard deviation over the runs."""
        sums = {
            part: numpy.array([numpy.sum(run, axis=0) for run in counts[part]]) for part in PARTS
        }
        return [
            mean_and_spread(self.scorer.scores(sums[part])[name], self.scale, self.digits)
            for name in self.scores
            for part in PARTS
        ]

    def differences(self, results: Results) -> str:
        """Paired tests over the sentences and the seeds that both rows have."""
        from allennlp_nef.metrics.significance import compare

        (name, title), *_ = self.scores.items()
        tests = ("95% interval", "p", "p of runs")
        lines = [["", *(cell for part in PARTS for cell in (f"{part} {title}", *tests))]]
        first, *others = results
        for pair in self.pairs or [(other, first) for other in others]:
            if not set(pair) <= set(results):
                continue
            seeds = min(len(results[row]) for row in pair)
            cells = [f"`{pair[0]}` minus `{pair[1]}`" + (f", {seeds} seeds" if seeds > 1 else "")]
            for part in PARTS:
                sides = (
                    numpy.array([run["counts"][part] for run in results[row][:seeds]])
                    for row in pair
                )
                found = compare(*sides, lambda sums: self.scorer.scores(sums)[name])
                difference, low, high = (
                    f"{self.scale * value:+.{self.digits}f}"
                    for value in (found.difference, found.low, found.high)
                )
                of_runs = "" if found.p_value_of_runs is None else f"{found.p_value_of_runs:.4f}"
                cells += [difference, f"{low} to {high}", f"{found.p_value:.4f}", of_runs]
            lines.append(cells)
        return markdown(lines)


def find_files(
    parser: argparse.ArgumentParser, study: Study, task: str, data: Path, language: str | None
) -> Files:
    """The data path of each part: train, dev and test."""
    if language is not None and study.language is None:
        parser.error(f"--language: expected the task qe or one of named entities, got {task}")
    if language is not None and not re.fullmatch(r"\w+(-\w+)?", language):
        parser.error(f"--language: expected a name such as esp or en-de, got {language!r}")
    if not data.is_dir():
        parser.error(f"--data: expected a folder, got {data}")
    files = {}
    for part, patterns in study.patterns.items():
        if language is not None:  # not any language
            patterns = [pattern for pattern in patterns if "{language}" in pattern]
        patterns = [pattern.format(language=language or study.language) for pattern in patterns]
        matches = (sorted(data.glob(pattern)) for pattern in patterns)
        found = next(filter(None, matches), [])
        if len(found) != 1:
            names = ", ".join(str(path.relative_to(data)) for path in found)
            advice = "; name one with --language" if found and study.language == "*" else ""
            parser.error(
                f"--data: expected one file {' or '.join(patterns)} in {data}, got {names or 'none'}{advice}"
            )
        files[part] = str(found[0]).removesuffix(".src")
    return files


def experiment(config: str, seed: int, files: Files, overrides: dict[str, Any]) -> "Params":
    """A config with the data paths, the seed and the overrides of a run."""
    from allennlp.common import Params

    changes = {
        "train_data_path": files["train"],
        "validation_data_path": files["dev"],
        **dict.fromkeys(("random_seed", "numpy_seed", "pytorch_seed"), seed),
        **overrides,
    }
    folder = ROOT / "training_configs"
    if not (folder / f"{config}.jsonnet").is_file():
        folder = ROOT / "benchmarks" / "configs"  # what is only a row of an experiment
    path = folder / f"{config}.jsonnet"
    return Params.from_file(str(path), json.dumps(changes))


def difference(expected: "Params", folder: Path) -> str | None:
    """The first setting in which the run of a folder differs from the expected one; None if no run or no difference."""
    from allennlp.common import Params

    path = folder / "config.json"
    if not path.exists():
        return None
    wanted = expected.as_flat_dict()
    kept = Params(json.loads(path.read_text())).as_flat_dict()
    for key in sorted({*wanted, *kept}):
        ours, theirs = (options.get(key, "nothing") for options in (wanted, kept))
        if ours != theirs:
            return f"{path}: {key}: expected {ours}, got {theirs}"
    return None


def train(params: "Params", folder: Path) -> dict[str, Any]:
    """Trains a model, unless the folder has it; returns the epochs and the seconds that it took, and no `counts`."""
    import torch
    from allennlp.commands.train import train_model
    from allennlp.common.util import import_module_and_submodules

    torch.set_num_threads(1)
    import_module_and_submodules("allennlp_nef")
    if not (folder / "metrics.json").exists():
        train_model(params, str(folder), force=True)
    metrics = json.loads((folder / "metrics.json").read_text())
    hours, minutes, seconds = metrics["training_duration"].split(":")
    duration = timedelta(hours=int(hours), minutes=int(minutes), seconds=float(seconds))
    return {
        "best_epoch": metrics["best_epoch"] + 1,
        "epochs": metrics["epoch"] + 1,
        "seconds": duration.total_seconds(),
        "counts": {},
    }


def run_all(script: str, args: argparse.Namespace, output: Path, rows: Sequence[str]) -> Results:
    """The results of each row and seed. Runs that are not finished run, `args.jobs` at a time, each in a process."""

    def launch(row: str, seed: int) -> dict[str, Any]:
        folder = output / row / str(seed)
        if not (folder / "result.json").exists():
            folder.mkdir(parents=True, exist_ok=True)
            options = {**vars(args), "configs": [row], "seeds": [seed], "output": str(folder)}
            command = [sys.executable, script, "--run", json.dumps(options)]
            log = folder.with_suffix(".log")
            environment = {**os.environ, "OMP_NUM_THREADS": "1"}
            with log.open("w") as stream:
                status = subprocess.call(
                    command, stdout=stream, stderr=stream, cwd=str(ROOT), env=environment
                )
            if status:
                raise RuntimeError(f"{row}, seed {seed} ended with status {status}: see {log}")
        progress.update()
        return json.loads((folder / "result.json").read_text())

    jobs = [(row, seed) for row in rows for seed in args.seeds]
    with tqdm(total=len(jobs), desc="runs") as progress, ThreadPoolExecutor(args.jobs) as pool:
        finished = list(pool.map(lambda job: launch(*job), jobs))
    results: Results = {row: [] for row in rows}
    for (row, _), result in zip(jobs, finished):
        results[row].append(result)
    return results


def markdown(lines: Iterable[Sequence[str]]) -> str:
    """A table, of which the first line is the header."""
    header, *rows = lines
    return "\n".join(f"| {' | '.join(cells)} |" for cells in (header, ["---"] * len(header), *rows))


def mean_and_spread(values: Any, scale: float = 100, digits: int = 2) -> str:
    """The mean and, of several values, the standard deviation."""
    values = scale * numpy.asarray(values)
    spread = f" ± {numpy.std(values, ddof=1):.{digits}f}" if len(values) > 1 else ""
    return f"{round(float(numpy.mean(values)), digits) + 0.0:.{digits}f}{spread}"  # not -0


def columns(titles: Iterable[str]) -> list[str]:
    """The titles of scores on dev and on test."""
    return [f"{part} {title}" for title in titles for part in PARTS]


def counts_of(runs: list[dict[str, Any]]) -> Counts:
    return {part: [run["counts"][part] for run in runs] for part in PARTS}
