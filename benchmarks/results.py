"""Trains and scores the configs of the paper's tables on real data with several seeds; writes the tables of RESULTS.md.

    python benchmarks/results.py qe --data FOLDER                    train.*, dev.*, test20.* of MLQE-PE
    python benchmarks/results.py qe --data FOLDER --language en-de   en-de-train/train.*, ..., as MLQE-PE unpacks
    python benchmarks/results.py pos --data FOLDER                   *-train.conllu, *-dev.conllu, *-test.conllu
    python benchmarks/results.py ner --data FOLDER --language esp    esp.train, esp.testa, esp.testb of CoNLL-2002
    python benchmarks/results.py pos-baselines --data FOLDER         label attention and self-attention on the data of
    python benchmarks/results.py ner-baselines --data FOLDER         pos and of ner

The files of MLQE-PE may be in one folder, in a folder a part (`train/train.src`), or as its archives unpack
(`en-de-train/train.src`, also within `train/`); `--language` is needed where there are several language pairs. For
named entities `--language` is what the names of the files begin with: esp and ned of CoNLL-2002, eng and deu of
CoNLL-2003, or another. If they are not UTF-8, set `encoding` of both dataset readers with `--overrides`.

Each run is `allennlp train` with its data paths and seed, in a process of its own with one thread. The model of the
epoch that is best on dev tags dev and test once, into files that `allennlp score-tags` reads. Finished runs are kept
and not repeated; a run of another experiment in the same folder is an error. Writes `results.md` and `results.json`
into the output folder.
"""

import argparse
import json
import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy
from comparisons import comparisons
from result_tasks import TASKS, Task
from tqdm import tqdm

if TYPE_CHECKING:
    from allennlp.common import Params

ROOT = Path(__file__).resolve().parent.parent
Results = dict[str, list[dict[str, Any]]]
"""The results of each config, one for each seed."""


def experiment(
    task: Task, config: str, seed: int, files: dict[str, str], overrides: dict
) -> "Params":
    """The config with the data paths, the seed and the overrides of a run."""
    from allennlp.common import Params

    changes = {
        "train_data_path": files["train"],
        "validation_data_path": files["dev"],
        "random_seed": seed,
        "numpy_seed": seed,
        "pytorch_seed": seed,
        **task.overrides.get(config, {}),
        **overrides,
    }
    path = ROOT / "training_configs" / f"{config}.jsonnet"
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


def run_one(task: Task, params: "Params", files: dict[str, str], folder: Path) -> None:
    """Trains one model; writes its predictions and its counts for each sentence into `folder`."""
    from allennlp.models.archival import load_archive
    from allennlp.predictors import Predictor

    from allennlp_nef.metrics import tag_scores

    result = train(params, folder)
    archive = load_archive(folder / "model.tar.gz")
    scorer = getattr(tag_scores, task.scorer)
    for part in ("dev", "test"):
        options = {"output_format": task.output_format}
        predictor = Predictor.from_archive(archive, extra_args=options)
        instances = list(predictor._dataset_reader.read(files[part]))
        answers = predictor.predict_batch_instance(instances)
        with open(folder / f"{part}.{task.ending}", "w", encoding="utf-8") as file:
            file.writelines(predictor.dump_line(answer) for answer in answers)
        gold = [instance["metadata"].metadata.tags for instance in instances]
        counts = scorer.count(gold, [answer["tags"] for answer in answers])
        result["counts"][part] = counts.sentences.tolist()
    (folder / "result.json").write_text(json.dumps(result))


def run_all(
    script: list[str], jobs: list[tuple[str, int]], output: Path, number: int
) -> list[dict[str, Any]]:
    """Runs a script for each config and seed, `number` at a time; returns the results. Finished runs are not repeated.

    The script gets the options --one, --configs, --seeds and --output, and writes `result.json` into its folder.
    """

    def launch(config: str, seed: int) -> dict[str, Any]:
        folder = output / config / str(seed)
        if not (folder / "result.json").exists():
            folder.mkdir(parents=True, exist_ok=True)
            command = [sys.executable, *script, "--one", "--configs", config]
            command += ["--seeds", str(seed), "--output", str(folder)]
            log = folder.with_suffix(".log")
            environment = {**os.environ, "OMP_NUM_THREADS": "1"}
            with log.open("w") as stream:
                status = subprocess.call(
                    command, stdout=stream, stderr=stream, cwd=str(ROOT), env=environment
                )
            if status:
                raise RuntimeError(f"{config}, seed {seed} ended with status {status}: see {log}")
        progress.update()
        return json.loads((folder / "result.json").read_text())

    with tqdm(total=len(jobs), desc="runs") as progress, ThreadPoolExecutor(number) as pool:
        return list(pool.map(lambda job: launch(*job), jobs))


def table(task: Task, results: Results) -> str:
    """A Markdown table: mean and standard deviation of the scores over the seeds in percent, and median times."""
    from allennlp_nef.metrics import tag_scores

    scorer = getattr(tag_scores, task.scorer)
    columns = [f"{part} {title}" for _, title in task.scores for part in ("dev", "test")]
    header = ["config", *columns, "seeds", "s/epoch", "training"]
    lines = [header, ["---"] * len(header)]
    for config, runs in results.items():
        cells = [f"`{config}`"]
        for name, _ in task.scores:
            for part in ("dev", "test"):
                totals = numpy.array([numpy.sum(run["counts"][part], axis=0) for run in runs])
                scores = 100 * scorer.scores(totals)[name]
                spread = f" ± {numpy.std(scores, ddof=1):.2f}" if len(runs) > 1 else ""
                cells.append(f"{numpy.mean(scores):.2f}{spread}")
        per_epoch = numpy.median([run["seconds"] / run["epochs"] for run in runs])
        minutes = numpy.median([run["seconds"] for run in runs]) / 60
        lines.append([*cells, str(len(runs)), f"{per_epoch:.1f}", f"{minutes:.1f} min"])
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def add_data_options(parser: argparse.ArgumentParser) -> None:
    """The options that `find_files` needs."""
    parser.add_argument("--data", type=Path, required=True, help="folder of the data set")
    parser.add_argument(
        "--language",
        help="what the files of the named entities begin with (default esp),\n"
        "or the language pair of MLQE-PE, such as en-de",
    )


def find_files(
    parser: argparse.ArgumentParser, task: Task, args: argparse.Namespace
) -> dict[str, str]:
    """The data path of each part: train, dev and test. Sets `args.language` to the default of the task."""
    if args.language is not None and task.language is None:
        parser.error(f"--language: expected the task qe or one of named entities, got {args.task}")
    if args.language is not None and not re.fullmatch(r"\w+(-\w+)?", args.language):
        parser.error(f"--language: expected a name such as esp or en-de, got {args.language!r}")
    if not args.data.is_dir():
        parser.error(f"--data: expected a folder, got {args.data}")
    files = {}
    for part, patterns in task.files.items():
        if args.language is not None:  # not any language
            patterns = [pattern for pattern in patterns if "{language}" in pattern]
        patterns = [pattern.format(language=args.language or task.language) for pattern in patterns]
        matches = (sorted(args.data.glob(pattern)) for pattern in patterns)
        found = next(filter(None, matches), [])
        if len(found) != 1:
            names = ", ".join(str(path.relative_to(args.data)) for path in found)
            advice = "; name one with --language" if found and task.language == "*" else ""
            parser.error(
                f"--data: expected one file {' or '.join(patterns)} in {args.data}, got {names or 'none'}{advice}"
            )
        path = str(found[0])
        files[part] = path[: -len(".src")] if path.endswith(".src") else path
    args.language = args.language or task.language
    return files


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("task", choices=TASKS)
    add_data_options(parser)
    parser.add_argument("--configs", nargs="+", help="configs to run (default: those of the task)")
    parser.add_argument("--seeds", type=int, nargs="+", help="seeds of each config (default 1 2 3)")
    parser.add_argument(
        "--jobs",
        type=int,
        default=2,
        choices=range(1, 65),
        metavar="N",
        help="number of runs at the same time (default 2)",
    )
    parser.add_argument("--output", type=Path, help="output folder (default runs/results/TASK)")
    parser.add_argument(
        "--overrides", type=json.loads, default={}, help="settings of every run, as JSON"
    )
    parser.add_argument("--one", action="store_true", help=argparse.SUPPRESS)
    args = parser.parse_args()
    task = TASKS[args.task]
    args.data = args.data.resolve()
    files = find_files(parser, task, args)
    if args.one:
        config, seed = args.configs[0], args.seeds[0]
        params = experiment(task, config, seed, files, args.overrides)
        run_one(task, params, files, args.output)
        return
    rows = task.rows(args.language)
    unknown = set(args.configs or ()) - set(rows)
    if unknown:
        parser.error(f"--configs: expected some of {', '.join(rows)}, got {', '.join(unknown)}")
    name = args.task if args.language in (None, "*") else f"{args.task}_{args.language}"
    output = (args.output or ROOT / "runs" / "results" / name).resolve()

    options = [] if args.language in (None, "*") else ["--language", args.language]
    options += ["--data", str(args.data), "--overrides", json.dumps(args.overrides)]
    seeds = {config: args.seeds or rows[config] for config in args.configs or rows}
    jobs = [(config, seed) for config in seeds for seed in seeds[config]]
    for config, seed in jobs:
        expected = experiment(task, config, seed, files, args.overrides)
        another = difference(expected, output / config / str(seed))
        if another:
            parser.error(
                f"--output: {another}. Runs are kept: delete this one, or choose another folder"
            )
    finished = run_all([__file__, args.task, *options], jobs, output, args.jobs)
    results: Results = {config: [] for config in seeds}
    for (config, _), result in zip(jobs, finished):
        results[config].append(result)
    text = table(task, results) + "\n\n" + comparisons(task, results) + "\n"
    (output / "results.md").write_text(text)
    (output / "results.json").write_text(json.dumps(results))
    print(text)


if __name__ == "__main__":
    main()
