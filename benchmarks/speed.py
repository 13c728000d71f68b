"""Measures the taggers against AllenNLP's `simple_tagger` with the same BiLSTM; prints a table of ratios of times.

    python benchmarks/speed.py                          all parts, in less than 10 minutes on 2 cores
    python benchmarks/speed.py --only 1 3 --json FILE   parts by their numbers; FILE keeps every ratio

Our component and the baseline run in turn, after a warm-up. Each pair of runs has a ratio of times; a row of the table
has the median and the quartiles of these ratios. Below 1, ours is faster. Targets are for one CPU thread.
"""

import argparse
import gc
import json
import os
import platform
import resource
import tempfile
import time
from collections.abc import Callable
from copy import deepcopy
from functools import partial
from itertools import cycle, islice
from pathlib import Path
from typing import Any, NamedTuple

import torch
from allennlp.version import VERSION
from speed_functions import additive, attention, chain, trees
from speed_models import (
    BASELINE,
    Decoder,
    baselines,
    config,
    inference,
    nef_tagger,
    parsing,
    product_rate,
    scaling,
    simple_tagger,
    training_steps,
)
from timing import ROOT, Case, Row, Settings, Target, allennlp, paired, steady_allocator
from tqdm import tqdm

from allennlp_nef.data.formats.conllu import UNKNOWN, read_conllu


def on_cuda(settings: Settings) -> list[Case]:
    """Part 8: parts 1 to 3 and 7 on a CUDA device, if there is one."""
    return on_device(settings, torch.device("cuda")) if torch.cuda.is_available() else []


def on_device(settings: Settings, device: torch.device) -> list[Case]:
    """Parts 1 to 3 on a device, by batch size, in float32 and in bfloat16; part 7 in float32."""

    def case(what: str, inner: Case) -> list[Row]:
        return [row._replace(what=f"{row.what} ({what})", target=None) for row in inner()]

    cases: list[Case] = []
    for low_precision in (False, True):
        there = settings._replace(device=device, low_precision=low_precision, seconds=1)
        precision = "bfloat16" if low_precision else "float32"
        for size in (32, 256):
            sized = there._replace(batch_size=size)
            for title, part in (("training step", training_steps), ("inference", inference)):
                what = f"{title}, batch {size}, {precision}"
                cases += [partial(case, what, inner) for inner in part(sized)]
        cases += [partial(case, precision, inner) for inner in attention(there)]
    in_float32 = settings._replace(device=device, seconds=1)
    cases += [partial(case, "float32", inner) for inner in baselines(in_float32)]
    return cases


def write_data(settings: Settings) -> tuple[int, int]:
    """Writes the repeated sentences of a file in both formats; returns the numbers of sentences and words.

    The first tenth is also written to a file for validation.
    """
    path = settings.data or ROOT / "fixtures" / "pos" / "train.conllu"
    sentences = [
        sentence for sentence in read_conllu(str(path)) if UNKNOWN not in sentence.column("upos")
    ]
    if not sentences:
        raise ValueError(f"{path}: expected sentences with tags in upos, got none")
    wanted = 50 if settings.quick else 5000
    sentences = list(islice(cycle(sentences), wanted))
    for name, some in (("all", sentences), ("dev", sentences[: wanted // 10])):
        conllu = "".join(
            sentence.with_columns({"upos": sentence.column("upos")}) for sentence in some
        )
        (settings.folder / f"{name}.conllu").write_text(conllu, encoding="utf-8")
        lines = [
            "\t".join(map("###".join, zip(sentence.column("form"), sentence.column("upos")))) + "\n"
            for sentence in some
        ]
        (settings.folder / f"{name}.txt").write_text("".join(lines), encoding="utf-8")
    return len(sentences), sum(len(sentence.words) for sentence in sentences)


def write_configs(settings: Settings) -> None:
    """Writes `ours.json` and `theirs.json`: one epoch over all sentences."""
    ours = deepcopy(config())
    ours["model"] = nef_tagger(Decoder("full", 5, "csoftmax"), dropout=ours["model"]["dropout"])
    ours["trainer"]["num_epochs"] = 1
    ours["dataset_reader"]["max_tokens"] = None
    theirs = deepcopy(ours)
    theirs["model"] = simple_tagger()
    for reader in ("dataset_reader", "validation_dataset_reader"):
        indexers = theirs[reader]["token_indexers"]
        options = {"token_delimiter": "\t", "token_indexers": indexers}
        theirs[reader] = {"type": "sequence_tagging", **options}
    for name, experiment, ending in (("ours", ours, "conllu"), ("theirs", theirs, "txt")):
        for key, data in (("train_data_path", "all"), ("validation_data_path", "dev")):
            experiment[key] = str(settings.folder / f"{data}.{ending}")
        (settings.folder / f"{name}.json").write_text(json.dumps(experiment))


def run(settings: Settings, name: str, *arguments: str) -> float:
    """Runs an `allennlp` command, with its output in a log; returns its seconds."""
    begin, used = time.perf_counter(), _cpu_time_of_children()
    allennlp(settings.folder / f"{name}.log", *arguments, threads=settings.threads)
    return _cpu_time_of_children() - used if settings.cpu_time else time.perf_counter() - begin


def _cpu_time_of_children() -> float:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def train(settings: Settings, name: str) -> float:
    folder = settings.folder / name
    return run(settings, name, "train", f"{folder}.json", "-f", "-s", str(folder))


def predict(settings: Settings, name: str) -> float:
    """AllenNLP's plain `Predictor` writes the answers of the baseline: its default predictor loads a spaCy model."""
    folder, ending = settings.folder, "conllu" if name == "ours" else "txt"
    options = ["--use-dataset-reader", "--batch-size", "64", "--silent"]
    options += ["--output-file", str(folder / f"{name}.jsonl")]
    if name == "theirs":
        options += ["--predictor", "allennlp.predictors.predictor.Predictor"]
    paths = folder / name / "model.tar.gz", folder / f"all.{ending}"
    return run(settings, name, "predict", *map(str, paths), *options)


def commands(settings: Settings) -> list[Case]:
    """Part 6, as programs: one epoch of training, then prediction with the trained model; NEF-F, N = 5.

    `nef_tagger` reads CoNLL-U and has the dropout of its config. `simple_tagger` reads the same words and tags with
    AllenNLP's `sequence_tagging`. Everything else is the same.
    """
    counts: dict[str, Any] = {}

    def case(what: str, command: Any, *target: Target) -> list[Row]:
        if not counts:
            write_configs(settings)
            counts["sentences"], counts["words"] = write_data(settings)
        pairs = [
            (command(settings, "ours"), command(settings, "theirs"))
            for _ in range(settings.rounds(3))
        ]
        title = f"{what} {counts['sentences']:,} sentences, NEF-F N=5"
        row = paired(title, BASELINE, pairs, *target)
        return [row._replace(details={**(row.details or {}), **counts})]

    return [
        partial(case, "allennlp train, one epoch of", train),
        partial(case, "allennlp predict of", predict, Target(1.3, 1.2)),
    ]


class Part(NamedTuple):
    title: str
    cases: Callable[[Settings], list[Case]]


PARTS = {
    1: Part("training step", training_steps),
    2: Part("inference", inference),
    3: Part("forward and backward", attention),
    4: Part("CRF", chain),
    5: Part("one sentence", scaling),
    6: Part("whole command", commands),
    7: Part("baselines", lambda settings: baselines(settings) + additive(settings)),
    8: Part("CUDA", on_cuda),
    9: Part("trees", trees),
    10: Part("parsing", parsing),
}


def machine(settings: Settings) -> dict[str, Any]:
    """The machine, the clock and the versions on which the figures depend."""
    cuda = torch.cuda.is_available()
    return {
        "cores": os.cpu_count(),
        "threads": settings.threads,
        "product_gflops": round(product_rate(settings)),
        "clock": "CPU time" if settings.cpu_time else "wall clock",
        "cuda": torch.cuda.get_device_name() if cuda else None,
        "python": platform.python_version(),
        "torch": torch.__version__,
        "allennlp": VERSION,
    }


def line(part: Part, row: Row, quick: bool) -> str:
    """A row of the Markdown table."""
    low, median, high = row.summary()
    digits, unit = (0, " MB") if row.unit == "MB" else (3 if median < 0.2 else 2, "")
    target = ""
    if row.target:
        target = f"{row.target.at_most:g} (aim {row.target.aim:g})"
        target += ", missed" * (median > row.target.at_most and not quick)
    cells = [part.title, row.what, row.baseline, f"{median:.{digits}f}{unit}"]
    return f"| {' | '.join([*cells, f'{low:.{digits}f} to {high:.{digits}f}', target])} |"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    names = "; ".join(f"{number} {part.title}" for number, part in PARTS.items())
    parser.add_argument(
        "--only", type=int, nargs="+", choices=PARTS, default=list(PARTS), metavar="N", help=names
    )
    parser.add_argument("--json", type=Path, help="file for all measurements")
    parser.add_argument("--data", type=Path, help="CoNLL-U file for part 6 (default: the fixtures)")
    threads = {"type": int, "default": 1, "choices": range(1, 65), "metavar": "N"}
    parser.add_argument("--threads", **threads, help="threads of torch (default 1)")
    text = "measure CPU time, for a machine that runs other programs too (not on CUDA)"
    parser.add_argument("--cpu-time", action="store_true", help=text)
    text = "measure everything once, to test that the program runs"
    parser.add_argument("--quick", action="store_true", help=text)
    args = parser.parse_args()
    if args.data and not args.data.is_file():
        parser.error(f"--data: expected a CoNLL-U file, got {args.data}")
    if args.data:
        try:
            list(read_conllu(str(args.data)))
        except ValueError as error:
            parser.error(f"--data: {error}")
    if args.json and (args.json.is_dir() or not args.json.absolute().parent.is_dir()):
        parser.error(f"--json: expected a file in a folder that exists, got {args.json}")
    if args.cpu_time and args.threads > 1:
        parser.error("--cpu-time: is that of all threads together; expected --threads 1")

    steady_allocator()
    torch.set_num_threads(args.threads)
    gc.freeze()  # later collections skip the imported modules
    numbers = sorted(set(args.only))
    lines = ["| part | | over | median | quartiles | at most |", "|---|---|---|---|---|---|"]
    with tempfile.TemporaryDirectory() as folder:
        settings = Settings(
            Path(folder),
            quick=args.quick,
            cpu_time=args.cpu_time,
            threads=args.threads,
            data=args.data and args.data.resolve(),
            seconds=0 if args.quick else Settings._field_defaults["seconds"],
            batch_size=2 if args.quick else Settings._field_defaults["batch_size"],
        )
        report: dict[str, Any] = {"machine": machine(settings), "quick": args.quick, "parts": {}}
        cases = {number: PARTS[number].cases(settings) for number in numbers}
        with tqdm(total=sum(map(len, cases.values()))) as progress:
            for number in numbers:
                part, rows = PARTS[number], []
                progress.set_description(part.title)
                for case in cases[number]:
                    rows += case()
                    progress.update()
                lines += [line(part, row, args.quick) for row in rows]
                report["parts"][str(number)] = {
                    "title": part.title,
                    "rows": [row.to_json() for row in rows],
                }
                if args.json:  # after each part, so that an interrupted run keeps its results
                    args.json.write_text(json.dumps(report) + "\n")
    print("\n".join(lines))
    about = report["machine"]
    print(
        f"\n{about['cores']} cores, {about['threads']} thread{'s' * (args.threads > 1)}, {about['clock']}; "
        f"Python {about['python']}, torch {about['torch']}, AllenNLP {about['allennlp']}; "
        f"800x250x100 matrix products at {about['product_gflops']} GFlop/s; "
        + (f"CUDA: {about['cuda']}." if about["cuda"] else "no CUDA device, so no part 8.")
    )


if __name__ == "__main__":
    main()
