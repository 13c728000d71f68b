"""Trains and scores the quality estimation configs on real data, several seeds each; writes the README's table.

    python benchmarks/results_qe.py --data FOLDER

FOLDER holds `train.*`, `dev.*` and `test20.*` of MLQE-PE English-German (WMT20 task 2). Each run is `allennlp train`
with its data paths and seed overridden, in a process of its own with one thread; best epoch by dev. Finished runs are
kept and not repeated. Writes `results.md` and `results.json` into the output folder.
"""

import argparse
import json
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path
from typing import Any, Dict, List

import numpy
from tqdm import tqdm

CONFIGS = [
    "qe_bilstm",
    "qe_nef_s",
    "qe_nef_s_length",
    "qe_nef_f",
    "qe_nef_f_length",
    "qe_nef_f_crf",
    "qe_nef_f_tuned",
]
ROOT = Path(__file__).resolve().parent.parent


def run_one(config: str, seed: int, data: Path, folder: Path, overrides: Dict[str, Any]) -> None:
    """Trains one model and keeps its scores and its counts for each sentence in `folder`."""
    import torch
    from allennlp.commands.train import train_model_from_file
    from allennlp.common.util import import_module_and_submodules
    from allennlp.models.archival import load_archive
    from allennlp.predictors import Predictor

    torch.set_num_threads(1)
    import_module_and_submodules("allennlp_nef")
    train_model_from_file(
        config,
        str(folder),
        force=True,
        overrides=json.dumps(
            {
                "train_data_path": str(data / "train"),
                "validation_data_path": str(data / "dev"),
                "random_seed": seed,
                "numpy_seed": seed,
                "pytorch_seed": seed,
                **overrides,
            }
        ),
    )
    metrics = json.loads((folder / "metrics.json").read_text())
    hours, minutes, seconds = metrics["training_duration"].split(":")
    duration = timedelta(hours=int(hours), minutes=int(minutes), seconds=float(seconds))
    result: Dict[str, Any] = {
        "best_epoch": metrics["best_epoch"] + 1,
        "epochs": metrics["epoch"] + 1,
        "seconds": duration.total_seconds(),
        "counts": {},
    }
    predictor = Predictor.from_archive(load_archive(folder / "model.tar.gz"), "word_qe")
    for part in ("dev", "test20"):
        instances = list(predictor._dataset_reader.read(data / part))
        answers = predictor.predict_batch_instance(instances)
        result["counts"][part] = [
            count(instance["metadata"].metadata.tags, answer["tags"])
            for instance, answer in zip(instances, answers)
        ]
    (folder / "result.json").write_text(json.dumps(result))


def count(gold: List[str], predicted: List[str]) -> List[int]:
    pairs = list(zip(gold, predicted))
    return [pairs.count((a, b)) for a in ("BAD", "OK") for b in ("BAD", "OK")]


def table(results: Dict[str, List[Dict[str, Any]]]) -> str:
    """Markdown: mean and standard deviation of the scores over the seeds, in percent; median times."""
    from allennlp_nef.metrics import word_qe_scores

    lines = [
        "| config | dev F1-MULT | test F1-MULT | dev MCC | test MCC | s/epoch | training |",
        "|---|---|---|---|---|---|---|",
    ]
    for config, runs in results.items():
        cells = []
        for name in ("f1_mult", "mcc"):
            for part in ("dev", "test20"):
                scores = [
                    100 * word_qe_scores(numpy.sum(run["counts"][part], axis=0))[name]
                    for run in runs
                ]
                spread = f" ± {numpy.std(scores, ddof=1):.2f}" if len(runs) > 1 else ""
                cells.append(f"{numpy.mean(scores):.2f}{spread}")
        per_epoch = numpy.median([run["seconds"] / run["epochs"] for run in runs])
        minutes = numpy.median([run["seconds"] for run in runs]) / 60
        cells += [f"{per_epoch:.1f}", f"{minutes:.1f} min"]
        lines.append(f"| `{config}` | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def comparison(results: Dict[str, List[Dict[str, Any]]], first: str, second: str) -> str:
    """A paired test of the first config over the second, over the sentences and all seeds."""
    from allennlp_nef.metrics import word_qe_scores
    from allennlp_nef.metrics.significance import compare

    def f1_mult(counts: numpy.ndarray) -> numpy.ndarray:
        flat = [word_qe_scores(row)["f1_mult"] for row in counts.reshape(-1, 4)]
        return numpy.array(flat).reshape(counts.shape[:-1])

    lines = []
    for part in ("dev", "test20"):
        counts = [
            numpy.array([run["counts"][part] for run in results[name]]) for name in (first, second)
        ]
        result = compare(counts[0], counts[1], f1_mult, trials=2000)
        lines.append(
            f"{first} over {second}, F1-MULT on {part}: {100 * result.difference:+.2f} "
            f"(95% interval {100 * result.low:+.2f} to {100 * result.high:+.2f}, p = {result.p_value:.4f})"
        )
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument(
        "--data", type=Path, required=True, help="folder of train.*, dev.*, test20.*"
    )
    parser.add_argument("--configs", nargs="+", default=CONFIGS, choices=CONFIGS, help="(all)")
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3])
    parser.add_argument(
        "--jobs", type=int, default=2, choices=range(1, 65), metavar="N", help="runs at a time (2)"
    )
    parser.add_argument("--output", type=Path, default=Path("runs/results_qe"))
    parser.add_argument("--overrides", type=json.loads, default={}, help="JSON, for every run")
    parser.add_argument("--one", action="store_true", help=argparse.SUPPRESS)
    args = parser.parse_args()
    args.data = args.data.resolve()
    if args.one:
        config = str(ROOT / "training_configs" / f"{args.configs[0]}.jsonnet")
        run_one(config, args.seeds[0], args.data, args.output, args.overrides)
        return
    for part in ("train", "dev", "test20"):
        for ending in (".src", ".mt", ".tags", ".src-mt.alignments"):
            if not (args.data / (part + ending)).is_file():
                parser.error(f"--data: expected a folder with {part}{ending}, got {args.data}")

    def launch(config: str, seed: int) -> Dict[str, Any]:
        folder = args.output / config / str(seed)
        if not (folder / "result.json").exists():
            folder.mkdir(parents=True, exist_ok=True)
            command = [sys.executable, __file__, "--one", "--data", str(args.data)]
            command += ["--configs", config, "--seeds", str(seed), "--output", str(folder)]
            command += ["--overrides", json.dumps(args.overrides)]
            log = folder.with_suffix(".log")
            environment = {**os.environ, "OMP_NUM_THREADS": "1"}
            with log.open("w") as output:
                status = subprocess.call(
                    command, stdout=output, stderr=output, cwd=str(ROOT), env=environment
                )
            if status:
                raise RuntimeError(f"{config}, seed {seed} ended with status {status}: see {log}")
        progress.update()
        return json.loads((folder / "result.json").read_text())

    args.output = args.output.resolve()
    jobs = [(config, seed) for seed in args.seeds for config in args.configs]
    with tqdm(total=len(jobs), desc="runs") as progress, ThreadPoolExecutor(args.jobs) as pool:
        finished = list(pool.map(lambda job: launch(*job), jobs))
    results: Dict[str, List[Dict[str, Any]]] = {config: [] for config in args.configs}
    for (config, _), result in zip(jobs, finished):
        results[config].append(result)
    text = table(results) + "\n"
    if {"qe_nef_f", "qe_bilstm"} <= set(results):
        text += "\n" + comparison(results, "qe_nef_f", "qe_bilstm") + "\n"
    (args.output / "results.md").write_text(text)
    (args.output / "results.json").write_text(json.dumps(results))
    print(text)


if __name__ == "__main__":
    main()
