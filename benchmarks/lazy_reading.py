"""What it costs not to keep training data in memory (`max_instances_in_memory`): the time and the peak memory.

    python benchmarks/lazy_reading.py                                 200,000 sentences of the fixtures, repeated
    python benchmarks/lazy_reading.py --sentences 1000000 --json FILE

For the reader and the batches of a config, with all sentences in memory and with `--limit` at a time: the seconds in
which the vocabulary is made, which reads all sentences, the seconds in which all batches of an epoch are made, and the
peak memory. Each is measured in a process of its own, without a model. Linux only.
"""

import argparse
import json
import multiprocessing
import resource
import sys
import tempfile
import time
from itertools import cycle, islice
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
CONFIG = ROOT / "training_configs" / "pos_bilstm.jsonnet"
COLUMNS = ("vocabulary_seconds", "epoch_seconds", "next_epoch_seconds", "peak_mb")


def write_corpus(path: Path, count: int) -> None:
    """The sentences of the fixtures, again and again, in CoNLL-U."""
    text = (ROOT / "fixtures" / "pos" / "train.conllu").read_text(encoding="utf-8")
    with open(path, "w", encoding="utf-8") as file:
        for sentence in islice(cycle(text.strip().split("\n\n")), count):
            file.write(sentence + "\n\n")


def measure(path: str, limit: int | None) -> dict[str, Any]:
    """The figures of a loader of the sentences of a file, of which it keeps at most `limit`, or all."""
    from allennlp.common import Params
    from allennlp.data import DataLoader, DatasetReader, Vocabulary

    import allennlp_nef.components  # noqa: F401

    params = Params.from_file(str(CONFIG))
    reader = DatasetReader.from_params(params.pop("dataset_reader"))
    loader_params = params.pop("data_loader")
    loader_params["max_instances_in_memory"] = limit
    seconds = [time.perf_counter()]
    loader = DataLoader.from_params(loader_params, reader=reader, data_path=path)
    loader.index_with(Vocabulary.from_instances(loader.iter_instances()))
    seconds.append(time.perf_counter())
    for _ in range(2):
        sentences = sum(len(batch["metadata"]) for batch in loader)
        seconds.append(time.perf_counter())
    times = [end - begin for begin, end in zip(seconds, seconds[1:])]
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return {"limit": limit, "sentences": sentences, **dict(zip(COLUMNS, [*times, peak]))}


def main() -> None:
    """Runs the program."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sentences", type=int, default=200_000)
    parser.add_argument("--limit", type=int, default=10_000, help="sentences in memory")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also writes the figures here")
    args = parser.parse_args()
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "train.conllu"
        write_corpus(path, args.sentences)
        print(f"{args.sentences:,} sentences, {path.stat().st_size / 2**20:.0f} MB", flush=True)
        print(f"{'in memory':<12}" + "".join(f"{column:>20}" for column in COLUMNS), flush=True)
        for limit in (None, args.limit):
            with multiprocessing.get_context("spawn").Pool(1) as pool:
                rows.append(pool.apply(measure, (str(path), limit)))
            values = "".join(f"{rows[-1][column]:>20,.1f}" for column in COLUMNS)
            print(f"{'all' if limit is None else f'{limit:,}':<12}{values}", flush=True)
            if rows[-1]["sentences"] != args.sentences:
                sys.exit(f"expected {args.sentences} sentences, got {rows[-1]['sentences']}")
    if args.json:
        args.json.write_text(json.dumps(rows, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
