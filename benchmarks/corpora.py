"""Tags generated sentences with `tag-corpus`, by one process and by processes of Ray, and with `allennlp predict`.

    python benchmarks/corpora.py                         200,000 sentences of about 8 words, a small tagger
    python benchmarks/corpora.py --sentences 1000000 --runs alone 2      fewer runs
    python benchmarks/corpora.py --archive model.tar.gz --json FILE      another tagger; keeps the figures

A run is a command as users start it: loading the archive, and starting Ray, is in its time. "alone" is tag-corpus in
one process, a number is that of its workers, and "predict" is `allennlp predict` with batches of 64. The steady rate is
that from the first output to the last. The memory is the highest of all processes of a run together, shared pages
counted once, and that in the middle of the run. All outputs have to have the same tags, in the same order. Linux only.
"""

import argparse
import hashlib
import json
import os
import random
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

from process_memory import memory_of
from speed_harness import ROOT

CONFIG = ROOT / "training_configs" / "pos_bilstm.jsonnet"
COLUMNS = (
    "sentences_per_second",
    "steady_per_second",
    "seconds",
    "first_output_seconds",
    "peak_mb",
    "middle_mb",
)


def write_corpus(path: Path, count: int, seed: int = 0) -> None:
    """Sentences of 3 to 13 words of the training data, as JSON lines."""
    text = (ROOT / "fixtures" / "pos" / "train.conllu").read_text(encoding="utf-8")
    words = sorted({line.split("\t")[1] for line in text.splitlines() if line[:1].isdigit()})
    words = [word for word in words if word.split() == [word]]
    generator = random.Random(seed)
    with open(path, "w", encoding="utf-8") as file:
        for number in range(count):
            tokens = generator.choices(words, k=generator.randint(3, 13))
            file.write(json.dumps({"id": number, "tokens": tokens}) + "\n")


def measure(command: list[str], folder: Path, output: Path, count: int) -> dict[str, Any]:
    """Runs a command that writes below `output`, and measures it."""
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "TQDM_DISABLE": "1"}
    path = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
    with open(folder / "log.txt", "w") as log:
        begin = time.perf_counter()
        process = subprocess.Popen(
            [sys.executable, "-W", "ignore", *command],
            cwd=folder,
            env={**environment, "PYTHONPATH": path},
            stdout=log,
            stderr=log,
        )
        memory: list[float] = []
        watcher = threading.Thread(target=watch_memory, args=(process, memory))
        watcher.start()
        first = None
        while process.poll() is None:
            if first is None and has_output(output):
                first = time.perf_counter() - begin
            time.sleep(0.02)
        seconds = time.perf_counter() - begin
        watcher.join()
    if process.returncode:
        sys.exit(f"{' '.join(command)} failed:\n{(folder / 'log.txt').read_text()[-3000:]}")
    return {
        "sentences_per_second": count / seconds,
        "steady_per_second": count / (seconds - (first or 0)),
        "seconds": seconds,
        "first_output_seconds": first,
        "peak_mb": max(memory),
        "middle_mb": memory[len(memory) // 2],
    }


def has_output(path: Path) -> bool:
    """Whether there is a sentence of the output."""
    if path.is_dir():
        return any(path.glob("part-*"))
    return path.is_file() and path.stat().st_size > 0


def watch_memory(process: "subprocess.Popen[bytes]", memory: list[float]) -> None:
    """Adds the memory of a process and those that it started, in MB, until it ends."""
    while process.poll() is None:
        memory.append(memory_of(process.pid))
        time.sleep(0.5)


def digest_of_tags(paths: list[Path]) -> str:
    """A digest of the tags in JSON lines."""
    digest = hashlib.sha256()
    for path in paths:
        with open(path, encoding="utf-8") as file:
            for line in file:
                digest.update(" ".join(json.loads(line)["tags"]).encode() + b"\n")
    return digest.hexdigest()


def train(folder: Path) -> Path:
    """The archive of a small tagger, trained on the fixtures."""
    settings = json.dumps({"trainer.num_epochs": 3})
    command = ["allennlp", "train", str(CONFIG), "-s", str(folder), "-o", settings]
    subprocess.run(
        [sys.executable, "-m", *command, "--include-package", "allennlp_nef"],
        cwd=ROOT,
        check=True,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    return folder / "model.tar.gz"


def run(name: str, archive: Path, corpus: Path, folder: Path, count: int) -> dict[str, Any]:
    """The figures of a run."""
    output = folder / f"output-{name}"
    if name == "predict":
        rows = folder / "requests.jsonl"  # predict refuses other fields
        with open(corpus) as source, open(rows, "w") as target:
            for line in source:
                target.write(json.dumps({"tokens": json.loads(line)["tokens"]}) + "\n")
        command = ["-m", "allennlp", "predict", str(archive), str(rows), "--silent"]
        command += ["--include-package", "allennlp_nef", "--batch-size", "64"]
        command += ["--output-file", str(output)]
    else:
        workers = [] if name == "alone" else ["--workers", name]
        command = ["-m", "allennlp_nef_console", "tag-corpus", str(archive), str(corpus)]
        command += ["--output", str(output), *workers]
    figures = measure(command, folder, output, count)
    parts = [output] if name == "predict" else sorted(output.glob("part-*"))
    if len(parts) > 1:
        times = [part.stat().st_mtime for part in parts]
        share = (len(parts) - 1) / len(parts)
        figures["steady_per_second"] = share * count / (max(times) - min(times))
    return {"run": name, **figures, "tags": digest_of_tags(parts)}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sentences", type=int, default=200_000)
    parser.add_argument("--archive", type=Path, help="default: a small tagger is trained")
    parser.add_argument("--runs", nargs="+", default=["predict", "alone", "1", "2"], metavar="RUN")
    parser.add_argument("--json", type=Path, metavar="FILE", help="file for the figures")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        archive = (args.archive or train(folder / "run")).resolve()
        corpus = folder / "corpus.jsonl"
        write_corpus(corpus, args.sentences)
        rows = []
        print(f"{args.sentences:,} sentences, {corpus.stat().st_size / 2**20:.0f} MB", flush=True)
        print(f"{'run':<8}" + "".join(f"{column:>23}" for column in COLUMNS), flush=True)
        for each in args.runs:
            rows.append(run(each, archive, corpus, folder, args.sentences))
            values = "".join(f"{rows[-1][column]:>23,.1f}" for column in COLUMNS)
            print(f"{each:<8}{values}", flush=True)
    if args.json:
        content = {"sentences": args.sentences, "cpus": os.cpu_count(), "runs": rows}
        args.json.write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")
    if len({row["tags"] for row in rows}) > 1:
        sys.exit("The tags differ: " + ", ".join(f"{row['run']} {row['tags'][:8]}" for row in rows))


if __name__ == "__main__":
    main()
