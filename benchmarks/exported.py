"""Start, speed and memory of an exported tagger beside `allennlp-nef predict`.

    allennlp-nef export runs/ner/model.tar.gz exported --int8
    python benchmarks/exported.py runs/ner/model.tar.gz exported esp.testb

The data are for the model's dataset reader. A run is a command as users start it, with one thread, and the runs of the
commands alternate. The figures are medians. The start is a run with one sentence; the rate is that of the other
sentences. `predict` takes one sentence at a time, and batches of 64, which is its default. Linux only.
"""

import argparse
import json
import multiprocessing
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any


def write_requests(archive: str, data: str, path: Path) -> int:
    """Writes the sentences of the data as requests, and returns their number."""
    import allennlp_nef  # noqa: F401
    from allennlp_nef.predictors.archives import load_predictor

    reader = load_predictor(archive)._dataset_reader
    metadata = [each.fields["metadata"].metadata for each in reader.read(data)]
    lines = [
        {"tokens": each.tokens}
        if each.source is None
        else {"source": each.source, "target": each.tokens}
        for each in metadata
    ]
    path.write_text("".join(json.dumps(each) + "\n" for each in lines), encoding="utf-8")
    return len(lines)


def run(command: list[str], output: Path) -> tuple[float, float]:
    """The seconds and the megabytes of a command."""
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    begin = time.perf_counter()
    with open(output, "wb") as file:
        process = subprocess.Popen(command, stdout=file, env=environment)
        _, status, usage = os.wait4(process.pid, 0)
    if status:
        raise RuntimeError(f"{command} failed")
    return time.perf_counter() - begin, usage.ru_maxrss / 1024


def measure(args: argparse.Namespace, folder: Path) -> dict[str, Any]:
    """The figures of each command."""
    every, first = folder / "all.jsonl", folder / "first.jsonl"
    # In a process of its own: a program that this one starts counts its memory, too.
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        count = pool.apply(write_requests, (args.archive, args.data, every))
    first.write_text(every.read_text(encoding="utf-8").split("\n")[0] + "\n", encoding="utf-8")
    predict = ["-W", "ignore", "-m", "allennlp_nef_console", "predict", args.archive]
    predict += ["--silent", "--output-file", str(folder / "predicted.jsonl")]
    commands = {
        "predict --batch-size 1": lambda path: [*predict, str(path), "--batch-size", "1"],
        "predict": lambda path: [*predict, str(path)],
        "exported": lambda path: [args.folder, str(path)],
        "exported, int8": lambda path: [args.folder, str(path), "--int8"],
    }
    runs: dict[str, list[tuple[float, float, float]]] = {name: [] for name in commands}
    for _ in range(args.runs):
        for name, command in commands.items():
            start, _ = run([sys.executable, *command(first)], folder / "output")
            whole, memory = run([sys.executable, *command(every)], folder / "output")
            runs[name].append((start, (count - 1) / (whole - start), memory))
    names = ("start_seconds", "sentences_per_second", "peak_mb")
    return {
        command: dict(zip(names, map(statistics.median, zip(*values))))
        for command, values in runs.items()
    }


def main() -> None:
    """Prints a table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("archive")
    parser.add_argument("folder", help="what export --int8 wrote")
    parser.add_argument("data")
    parser.add_argument("--runs", type=int, default=5)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        figures = measure(args, Path(folder))
    print("| command | start, seconds | sentences a second | MB |\n|---|---|---|---|")
    for name, values in figures.items():
        print(
            f"| {name} | {values['start_seconds']:.2f} | {values['sentences_per_second']:,.0f} | "
            f"{values['peak_mb']:.0f} |"
        )


if __name__ == "__main__":
    main()
