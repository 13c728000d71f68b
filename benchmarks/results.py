"""Trains and scores configs on real data with several seeds; writes the tables of docs/results.md.

    python benchmarks/results.py qe --data FOLDER                    train.*, dev.*, test20.* of MLQE-PE
    python benchmarks/results.py pos --data FOLDER                   *-train.conllu, *-dev.conllu, *-test.conllu
    python benchmarks/results.py ner --data FOLDER --language esp    esp.train, esp.testa, esp.testb of CoNLL-2002
    python benchmarks/results.py ner --data FOLDER --language esp --trivial

The tasks are

    qe, thresholds, gaps, source, hter    quality estimation: words; words at thresholds from dev; gaps; source words;
                                          sentence scores
    pos, ner, pos-baselines, ner-baselines   tags; label attention and self-attention on the same data
    parsing                               the labeled attachment score (LAS) on a treebank of UD
    trec, sst, sick-entailment, sick-relatedness   sentences and pairs

Files may also be in subfolders; `--language` must occur in their paths. `--configs` chooses rows, and is needed for
those with a pretrained encoder (extra `multilingual`) or with a model of allennlp-models. `--trivial` does not
train: it gives each word the tag that it has most often in the training data.

Each run is an `allennlp train` with its own data paths and seed, in a process of its own with one thread. The model of
the epoch that is best on dev is scored on dev and test. Finished runs are kept. Writes `results.md` and `results.json`
into the output folder.
"""

import argparse
import json
import os
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from datetime import timedelta
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy
import torch
from allennlp.commands.train import train_model
from allennlp.common import Params
from allennlp.common.plugins import import_plugins
from allennlp.data import DatasetReader
from studies import STUDIES, Study
from tqdm import tqdm

import allennlp_nef  # noqa: F401  # registers the components
from allennlp_nef.archives import load_archive_safely, load_predictor
from allennlp_nef.metrics.correlations import CORRELATIONS
from allennlp_nef.metrics.significance import compare
from allennlp_nef.predictors.base import Item
from allennlp_nef.qe.calibration import (
    LabeledWords,
    bad_words,
    fit,
    labeled_words,
    scores_of,
)
from allennlp_nef.qe.files import find_files
from allennlp_nef.qe.predictor import WordQePredictor

ROOT = Path(__file__).resolve().parent.parent
PARTS = ("dev", "test")
Files = dict[str, str]
"""The data paths of train, dev and test."""
Part = dict[str, Any]
"""The scores of dev or test, and `counts`, the counts of each sentence for the paired tests."""
Result = dict[str, Any]
"""The `epochs` and `seconds` of a run, and its `conditions`: by title, the `Part` of dev and of test."""


@dataclass
class Run:
    """A row of a study, trained with a seed."""

    task: str
    row: str
    seed: int
    files: Files
    output: str
    overrides: dict[str, Any]
    cuda_device: int = -1

    @property
    def folder(self) -> Path:
        return Path(self.output, self.row, str(self.seed))

    @property
    def config(self) -> Path:
        folders = (ROOT / "training_configs", ROOT / "benchmarks" / "configs")
        return next(filter(Path.exists, (folder / f"{self.row}.jsonnet" for folder in folders)))

    def params(self) -> Params:
        """The experiment: the config with the data paths, the seed and the overrides."""
        study = STUDIES[self.task]
        changes = {
            "train_data_path": self.files["train"],
            "validation_data_path": self.files["dev"],
            "trainer.cuda_device": self.cuda_device,
            **dict.fromkeys(("random_seed", "numpy_seed", "pytorch_seed"), self.seed),
            **study.overrides,
            **study.row_overrides.get(self.row, {}),
            **self.overrides,
        }
        return Params.from_file(str(self.config), json.dumps(changes))

    def result(self) -> Result | None:
        """The result of a finished run. Exits if the folder has a run of another experiment."""
        config = self.folder / "config.json"
        if config.exists() and json.loads(config.read_text()) != self.params().as_dict(quiet=True):
            raise SystemExit(
                f"{self.folder} has a run of another experiment: choose another --output"
            )
        path = self.folder / "result.json"
        return json.loads(path.read_text()) if path.exists() else None


def finish(run: Run) -> None:
    """Trains and scores a run, in a new process. Its output goes to a log beside its folder."""
    study, folder = STUDIES[run.task], run.folder
    folder.parent.mkdir(parents=True, exist_ok=True)
    with folder.with_suffix(".log").open("w") as log:
        for stream in (1, 2):
            os.dup2(log.fileno(), stream)
    torch.set_num_threads(1)
    import_plugins()  # allennlp-models
    if not (folder / "metrics.json").exists():
        train_model(run.params(), str(folder), force=True)
    metrics = json.loads((folder / "metrics.json").read_text())
    hours, minutes, seconds = map(float, metrics["training_duration"].split(":"))
    duration = timedelta(hours=hours, minutes=minutes, seconds=seconds).total_seconds()
    score = score_calibrated if study.calibrated else score_answers
    result = {"epochs": metrics["epoch"] + 1, "seconds": duration, "conditions": score(run, study)}
    (folder / "result.json").write_text(json.dumps(result))


def score_answers(run: Run, study: Study) -> dict[str, dict[str, Part]]:
    predictor = load_predictor(str(run.folder / "model.tar.gz"), run.cuda_device)
    parts = {}
    for part in PARTS:
        instances = list(predictor._dataset_reader.read(run.files[part]))
        gold = list(map(study.labels.gold, instances))
        answers = predictor.predict_batch_instance(instances)
        parts[part] = scored(study, gold, list(map(study.labels.predicted, answers)))
    return {"": parts}


def scored(study: Study, gold: list[list[Any]], predicted: list[list[Any]]) -> Part:
    counts = study.scorer.count(gold, predicted).sentences
    scores = {**study.scorer.scores(counts.sum(0)), **study.scorer.corpus_scores(gold, predicted)}
    named = {name: float(scores[name]) for name in study.scores if name in scores}
    return {**named, "counts": counts.tolist()}


def score_calibrated(run: Run, study: Study) -> dict[str, dict[str, Part]]:
    """Scores words at thresholds that are fitted to dev with its alignments.

    The conditions: the alignments of the data, those of the model's own aligner, and none.
    """
    archive = load_archive_safely(str(run.folder / "model.tar.gz"), run.cuda_device)
    model: Any = archive.model
    reader: Any = archive.validation_dataset_reader

    def read(alignments: bool) -> dict[str, LabeledWords]:
        words = {}
        for part in PARTS:
            files = find_files(run.files[part])
            if not alignments:
                files.pop("alignments", None)
            items = [*map(Item, reader.read(files))]
            WordQePredictor(model, reader).run(items)
            words[part] = labeled_words(model, items)
        return words

    words = {"": read(alignments=True)}
    if "alignments" in find_files(run.files["dev"]) and reader.aligner is not None:
        words["alignments computed"] = read(alignments=False)
        reader.aligner = None
        words["no alignments"] = read(alignments=False)
    conditions: dict[str, dict[str, Part]] = {name: {"dev": {}, "test": {}} for name in words}
    for objective in ("f1_mult", "mcc"):
        calibration = fit(words[""]["dev"], objective)
        for condition, parts in words.items():
            for part, some in parts.items():
                scores = scores_of(some, *calibration)
                found = conditions[condition][part]
                found |= {objective: scores[objective], "ece": scores["ece"]}
                if objective == next(iter(study.scores)):
                    found["counts"] = confusion_matrices(some, *calibration).tolist()
    return conditions


def confusion_matrices(words: LabeledWords, temperature: float, threshold: float) -> numpy.ndarray:
    """The counts of `word_qe_scores` of each sentence: (sentences, 4)."""
    bad, is_bad = bad_words(words, temperature)
    counts = numpy.zeros((words.sentences.max() + 1, 4), dtype=int)
    numpy.add.at(counts, (words.sentences, 2 * ~is_bad + ~(bad >= threshold)), 1)
    return counts


def most_frequent(keys: Iterable[list[str]], gold: Iterable[list[str]]) -> Callable[[str], str]:
    """A function from a key, such as a word, to the label that it has most often; for a new key, the most frequent
    label of all."""
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    for names, labels in zip(keys, gold):
        for name, label in zip(names, labels):
            counts[name][label] += 1
    default = sum(counts.values(), Counter())
    return lambda key: min(counts.get(key, default).items(), key=lambda item: (-item[1], item[0]))[
        0
    ]


def trivial_parts(run: Run, study: Study) -> dict[str, Part]:
    """The scores of the most frequent labels."""
    reader = DatasetReader.from_params(run.params()["validation_dataset_reader"])
    keys, gold = {}, {}
    for part, path in run.files.items():
        instances = list(reader.read(path))
        keys[part] = list(map(study.labels.keys, instances))
        gold[part] = list(map(study.labels.gold, instances))
    label_of = most_frequent(keys["train"], gold["train"])
    predicted = {part: [list(map(label_of, names)) for names in keys[part]] for part in PARTS}
    return {part: scored(study, gold[part], predicted[part]) for part in PARTS}


def score_cells(study: Study, runs: list[dict[str, Part]]) -> list[str]:
    """The mean of each score on dev and test, and its standard deviation over the runs."""
    scale, digits = (100, 2) if study.percent else (1, 4)
    cells = []
    for name in study.scores:
        for part in PARTS:
            values = [scale * run[part][name] for run in runs if name in run[part]]
            spread = f" ± {numpy.std(values, ddof=1):.{digits}f}" if len(values) > 1 else ""
            cells.append(f"{numpy.mean(values):.{digits}f}{spread}" if values else "")
    return cells


def score_titles(study: Study) -> list[str]:
    return [f"{part} {title}" for title in study.scores.values() for part in PARTS]


def scores_table(study: Study, results: dict[str, list[Result]]) -> str:
    lines = [["config", *score_titles(study), "seeds", "s/epoch", "training"]]
    for row, runs in results.items():
        per_epoch = numpy.median([run["seconds"] / run["epochs"] for run in runs])
        minutes = numpy.median([run["seconds"] for run in runs]) / 60
        facts = [str(len(runs)), f"{per_epoch:.1f}", f"{minutes:.1f} min"]
        for condition in runs[0]["conditions"]:
            title = f"`{row}`" + (f", {condition}" if condition else "")
            cells = score_cells(study, [run["conditions"][condition] for run in runs])
            lines.append([title, *cells, *facts])
    return markdown(lines)


def tests_table(study: Study, results: dict[str, list[Result]]) -> str:
    """Paired tests over the sentences and the seeds that both rows have."""
    name, title = next(iter(study.scores.items()))
    scale, digits = (100, 2) if study.percent else (1, 4)
    tests = ("95% interval", "p", "p of runs")
    lines = [["", *(cell for part in PARTS for cell in (f"{part} {title}", *tests))]]
    first, *others = results
    pairs = [tuple(pair.split()) for pair in study.pairs.split(",") if pair]
    for pair in pairs or [(other, first) for other in others]:
        if not set(pair) <= set(results):
            continue
        seeds = min(len(results[row]) for row in pair)
        cells = [f"`{pair[0]}` minus `{pair[1]}`" + (f", {seeds} seeds" if seeds > 1 else "")]
        for part in PARTS:
            sides = (
                numpy.array([run["conditions"][""][part]["counts"] for run in results[row][:seeds]])
                for row in pair
            )
            ours, theirs = sides
            found = compare(ours, theirs, lambda counts: study.scorer.scores(counts)[name])
            difference, low, high = (
                f"{scale * value:+.{digits}f}"
                for value in (found.difference, found.low, found.high)
            )
            of_runs = "" if found.p_value_of_runs is None else f"{found.p_value_of_runs:.4f}"
            cells += [difference, f"{low} to {high}", f"{found.p_value:.4f}", of_runs]
        lines.append(cells)
    return markdown(lines)


def markdown(lines: Iterable[Sequence[str]]) -> str:
    """A table, of which the first line is the header."""
    header, *rows = lines
    return "\n".join(f"| {' | '.join(cells)} |" for cells in (header, ["---"] * len(header), *rows))


def find_data(study: Study, data: Path, language: str | None) -> Files:
    """The data path of each part. Exits if there is no file for one of them, or more than one."""
    files = {}
    for part, patterns in zip(("train", *PARTS), study.files):
        found: list[Path] = []
        for pattern in patterns.split("|"):
            paths = (path for path in sorted(data.rglob(pattern)) if path.is_file())
            found = found or [
                path for path in paths if (language or "") in str(path.relative_to(data))
            ]
        if len(found) != 1:
            names = ", ".join(str(path.relative_to(data)) for path in found)
            raise SystemExit(
                f"--data: expected one file {patterns} for {part} in {data}, got {names or 'none'}"
                + "; choose with --language" * bool(found)
            )
        files[part] = str(found[0]).removesuffix(".src")
    return files


def split_off_dev(files: Files, size: int, output: Path) -> Files:
    """Files in the output folder in which the last sentences of the training data are dev."""
    lines = Path(files["train"]).read_bytes().splitlines(keepends=True)
    output.mkdir(parents=True, exist_ok=True)
    for part, some in (("train", lines[:-size]), ("dev", lines[-size:])):
        path = output / f"{part}.txt"
        path.write_bytes(b"".join(some))
        files = {**files, part: str(path)}
    return files


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("task", choices=STUDIES, metavar="TASK", help="see above")
    parser.add_argument("--data", type=Path, required=True, help="folder of the data set")
    parser.add_argument("--language", help="part of the paths, such as esp or en-de")
    parser.add_argument("--configs", nargs="+", help="rows (default: those of the task)")
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3], help="(1 2 3)")
    parser.add_argument("--jobs", type=int, default=2, help="runs at a time (default 2)")
    parser.add_argument("--cuda-device", type=int, default=-1, help="a GPU (default -1, none)")
    parser.add_argument("--output", type=Path, help="folder (default in runs/results)")
    parser.add_argument("--overrides", type=json.loads, default={}, help="of every run, as JSON")
    parser.add_argument("--trivial", action="store_true", help="the trivial baseline, untrained")
    args = parser.parse_args()
    study = STUDIES[args.task]
    rows = study.rows.split()
    unknown = set(args.configs or ()) - {*rows, *study.more_rows.split()}
    if unknown:
        parser.error(f"--configs: expected some of {study.rows} {study.more_rows}, got {unknown}")
    data = args.data.resolve()
    name = "_".join(filter(None, (args.task, data.name, args.language)))
    output = (args.output or ROOT / "runs" / "results" / name).resolve()
    files = find_data(study, data, args.language)
    if study.dev_size:
        files = split_off_dev(files, study.dev_size, output)
    options = (files, str(output), args.overrides, args.cuda_device)
    if args.trivial:
        if study.scorer is CORRELATIONS:
            parser.error("--trivial: expected a task with labels, got one with scores")
        cells = score_cells(study, [trivial_parts(Run(args.task, rows[0], 0, *options), study)])
        print(markdown([["baseline", *score_titles(study)], ["most frequent label", *cells]]))
        return
    runs = {
        row: [Run(args.task, row, seed, *options) for seed in args.seeds]
        for row in args.configs or rows
    }
    todo = [run for some in runs.values() for run in some if run.result() is None]
    os.environ["OMP_NUM_THREADS"] = "1"
    with ProcessPoolExecutor(args.jobs, get_context("spawn"), max_tasks_per_child=1) as pool:
        list(tqdm(pool.map(finish, todo), total=len(todo), desc="runs"))
    results: dict[str, Any] = {row: [run.result() for run in some] for row, some in runs.items()}
    text = scores_table(study, results) + "\n"
    if len(results) > 1:
        text += "\n" + tests_table(study, results) + "\n"
    (output / "results.md").write_text(text)
    (output / "results.json").write_text(json.dumps(results))
    print(text)


if __name__ == "__main__":
    main()
