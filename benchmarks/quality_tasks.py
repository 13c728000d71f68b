"""Scores of quality estimators of gaps, of source words, and of target words with an ensemble.

    python benchmarks/quality_tasks.py gaps --data FOLDER --language en-de      train.*, dev.*, test20.* of MLQE-PE
    python benchmarks/quality_tasks.py source --data FOLDER --language en-de
    python benchmarks/quality_tasks.py words --data FOLDER                     those of prepare_wmt22.py

Trains NEF-F and the BiLSTM with several seeds, chooses the threshold with the highest MCC on dev, and tags dev and test
once. It also scores the ensembles of the seeds of each row and of all runs: the mean of their probabilities, with a
threshold from dev. The rows of trivial taggers are

all OK              every word or gap is OK
most frequent tag   a word gets the tag that it has most often in the training data; a gap that of the word after it
unaligned           a source word is BAD where it is aligned to no word of the translation; a gap is BAD where a source
                    word without alignment stands between those that the words beside the gap are aligned to

Finished runs are kept and not repeated. Writes `results.md` and `results.json` into the output folder.
"""

import argparse
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy
from comparisons import comparison_cells, comparison_columns
from operating_points import PARTS, TASK, as_markdown, mean_and_spread
from result_tasks import Task
from results import (
    ROOT,
    add_data_options,
    difference,
    experiment,
    find_files,
    run_all,
    train,
)
from trivial_baselines import Sentence, most_frequent_tags

from allennlp_nef.metrics.tag_scores import WORD_QE
from allennlp_nef.metrics.thresholds import best_threshold

CONFIGS = {
    "gaps": ["qe_nef_f_gaps", "qe_bilstm_gaps"],
    "source": ["qe_nef_f_source", "qe_bilstm_source"],
    "words": ["qe_nef_f_affixes", "qe_bilstm_affixes"],
}
SCORES = {"mcc": "MCC", "f1_mult": "F1-MULT"}


class Probabilities(NamedTuple):
    """Those of BAD, and the gold tags, of a part of the data."""

    values: numpy.ndarray
    """(words,)"""
    is_bad: numpy.ndarray
    """(words,)"""
    lengths: numpy.ndarray
    """(sentences,)"""

    def counts(self, threshold: float) -> numpy.ndarray:
        """The confusion matrix of each sentence: (sentences, 4)."""
        is_tagged = self.values >= threshold
        pairs = [
            (self.is_bad == bad) & (is_tagged == tagged)
            for bad in (True, False)
            for tagged in (True, False)
        ]
        starts = numpy.cumsum(self.lengths) - self.lengths
        return numpy.add.reduceat(numpy.stack(pairs, -1).astype(int), starts)


Run = dict[str, Probabilities]
"""The probabilities of dev and of test."""


def run_one(params: Any, files: dict[str, str], folder: Path) -> None:
    """Trains one model, and writes what it says of dev and test into `folder`."""
    from allennlp_nef.commands.calibration.words import sentences_of
    from allennlp_nef.predictors.archives import load_predictor

    result = train(params, folder)
    predictor = load_predictor(str(folder / "model.tar.gz"))
    bad = predictor._model.tag_head.labels.index("BAD")
    arrays: dict[str, numpy.ndarray] = {}
    for part in PARTS:
        instances = list(predictor._dataset_reader.read(files[part]))
        sentences = sentences_of(predictor, instances, files[part], 64)
        arrays[f"{part} values"] = numpy.concatenate([each.words[:, bad] for each in sentences])
        gold = [tag == "BAD" for each in sentences for tag in each.gold or ()]
        arrays[f"{part} is_bad"] = numpy.array(gold)
        arrays[f"{part} lengths"] = numpy.array([len(each.tags) for each in sentences])
    numpy.savez_compressed(folder / "probabilities.npz", **arrays)
    result["bytes"] = (folder / "model.tar.gz").stat().st_size
    result["parameters"] = sum(each.numel() for each in predictor._model.parameters())
    (folder / "result.json").write_text(json.dumps(result))


def load(folder: Path) -> Run:
    """The probabilities of a finished run."""
    with numpy.load(folder / "probabilities.npz") as arrays:
        return {
            part: Probabilities(*(arrays[f"{part} {name}"] for name in Probabilities._fields))
            for part in PARTS
        }


def ensemble(runs: list[Run]) -> Run:
    """The mean of the probabilities of several runs."""
    return {
        part: runs[0][part]._replace(values=numpy.mean([run[part].values for run in runs], axis=0))
        for part in PARTS
    }


def counts_of(run: Run) -> dict[str, numpy.ndarray]:
    """The counts of each sentence at the threshold that is best on dev."""
    threshold = best_threshold(run["dev"].values, run["dev"].is_bad, "mcc").value
    return {part: run[part].counts(threshold) for part in PARTS}


def trivial_tags(
    task: str, files: dict[str, str]
) -> Iterator[tuple[str, Callable[[Any], list[str]]]]:
    """The names of the trivial taggers, and functions from an example to its tags."""
    from allennlp_nef.data.formats.wmt_word_qe import ReadOptions, read_examples

    def words_of(example: Any) -> list[str]:
        if task == "source":
            return example.source
        return example.target if task == "words" else [*example.target, ""]

    tagged = "target" if task == "words" else task
    examples = read_examples(files["train"], ReadOptions(tagged=tagged))
    tag_of = most_frequent_tags(
        [Sentence(words_of(each), each.tags_of(tagged) or []) for each in examples]
    )
    yield "all OK", lambda example: ["OK"] * len(words_of(example))
    yield "most frequent tag", lambda example: [tag_of(word) for word in words_of(example)]
    if task == "source":
        yield (
            "unaligned",
            lambda example: [
                "OK" if any(i == j for i, _ in example.alignments) else "BAD"
                for j in range(len(example.source))
            ],
        )
    if task == "gaps":
        yield "unaligned", unaligned_gaps


def unaligned_gaps(example: Any) -> list[str]:
    """BAD for the gaps of the translation where a source word without an alignment may be missing."""
    aligned = {source for source, _ in example.alignments}
    length = len(example.source)
    places: dict[int, list[int]] = {-1: [-1], len(example.target): [length]}
    for source, target in example.alignments:
        places.setdefault(target, []).append(source)
    tags = []
    for gap in range(len(example.target) + 1):
        before, after = places.get(gap - 1), places.get(gap)
        between = range(max(before) + 1, min(after)) if before and after else range(0)
        tags.append("OK" if set(between) <= aligned else "BAD")
    return tags


def trivial_rows(task: str, files: dict[str, str]) -> dict[str, dict[str, numpy.ndarray]]:
    """The counts of the trivial taggers for dev and test."""
    from allennlp_nef.data.formats.wmt_word_qe import ReadOptions, read_examples

    tagged = "target" if task == "words" else task
    rows: dict[str, dict[str, numpy.ndarray]] = {}
    for name, tags_of in trivial_tags(task, files):
        for part in PARTS:
            examples = list(read_examples(files[part], ReadOptions(tagged=tagged)))
            gold = [each.tags_of(tagged) or [] for each in examples]
            counts = WORD_QE.count(gold, [tags_of(each) for each in examples])
            rows.setdefault(name, {})[part] = counts.sentences
    return rows


def tables(
    trivial: dict[str, dict[str, numpy.ndarray]], runs: dict[str, list[Run]], results: dict
) -> str:
    """The scores of all rows, and the comparison of the two configs."""
    keys = [(part, score) for score in SCORES for part in PARTS]
    lines = [["row", *(f"{part} {SCORES[score]}" for part, score in keys)]]
    lines[0] += ["seeds", "parameters", "archive, MB", "min"]
    counts = {name: [each] for name, each in trivial.items()}
    counts.update({name: [counts_of(run) for run in each] for name, each in runs.items()})
    everything = [run for each in runs.values() for run in each]
    groups = {f"{name}, ensemble": each for name, each in runs.items() if len(each) > 1}
    if len(runs) > 1:
        groups["all runs, ensemble"] = everything
    counts.update({name: [counts_of(ensemble(each))] for name, each in groups.items()})
    for name, each in counts.items():
        totals = {part: numpy.array([one[part].sum(0) for one in each]) for part in PARTS}
        cells = [mean_and_spread(WORD_QE.scores(totals[part])[score]) for part, score in keys]
        facts = ["", "", "", ""]
        if name in results:
            first = results[name][0]
            minutes = numpy.median([one["seconds"] for one in results[name]]) / 60
            facts = [str(len(each)), f"{first['parameters']:,}", f"{first['bytes'] / 1e6:.1f}"]
            facts.append(f"{minutes:.1f}")
        lines.append([f"`{name}`" if name in runs else name, *cells, *facts])
    tests = [["", "score", *comparison_columns()]]
    for first, second in zip(list(runs)[:1], list(runs)[1:]):
        for score, title in SCORES.items():
            cells = [f"`{first}` minus `{second}`", title]
            seeds = min(len(runs[first]), len(runs[second]))
            for part in PARTS:
                arrays = (
                    numpy.array([one[part] for one in counts[name][:seeds]])
                    for name in (first, second)
                )
                cells += comparison_cells(
                    *arrays, lambda sums, score=score: WORD_QE.scores(sums)[score]
                )
            tests.append(cells)
    return "\n\n".join(map(as_markdown, (lines, tests)))


def add_run_options(parser: argparse.ArgumentParser) -> None:
    """The options of a benchmark that trains configs with several seeds."""
    add_data_options(parser)
    parser.add_argument("--configs", nargs="+", help="configs to run (default: all)")
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3], help="(default 1 2 3)")
    parser.add_argument("--jobs", type=int, default=2, choices=range(1, 65), metavar="N")
    parser.add_argument("--output", type=Path, help="folder (default in runs)")
    parser.add_argument(
        "--overrides", type=json.loads, default={}, help="settings of every run, as JSON"
    )
    parser.add_argument("--one", action="store_true", help=argparse.SUPPRESS)


def finished_runs(
    parser: argparse.ArgumentParser,
    args: argparse.Namespace,
    script: list[str],
    files: dict[str, str],
    output: Path,
    task: Task = TASK,
) -> dict[str, list[dict[str, Any]]]:
    """The results of each config, after the runs that were missing. Of the task, the overrides count."""
    jobs = [(config, seed) for seed in args.seeds for config in args.configs]
    for config, seed in jobs:
        params = experiment(task, config, seed, files, args.overrides)
        another = difference(params, output / config / str(seed))
        if another:
            parser.error(
                f"--output: {another}. Runs are kept: delete this one, or choose another folder"
            )
    options = ["--data", str(args.data), "--overrides", json.dumps(args.overrides)]
    if args.language not in (None, "*"):
        options += ["--language", args.language]
    finished = run_all([*script, *options], jobs, output, args.jobs)
    results: dict[str, list[dict[str, Any]]] = {config: [] for config in args.configs}
    for (config, _), result in zip(jobs, finished):
        results[config].append(result)
    return results


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("task", choices=CONFIGS)
    add_run_options(parser)
    args = parser.parse_args()
    task, args.task = args.task, "qe"
    args.data = args.data.resolve()
    files = find_files(parser, TASK, args)
    args.configs = args.configs or CONFIGS[task]
    if args.one:
        params = experiment(TASK, args.configs[0], args.seeds[0], files, args.overrides)
        run_one(params, files, args.output)
        return
    output = (args.output or ROOT / "runs" / "quality_tasks" / task).resolve()
    results = finished_runs(parser, args, [__file__, task], files, output)
    runs = {
        config: [load(output / config / str(seed)) for seed in args.seeds]
        for config in args.configs
    }
    text = tables(trivial_rows(task, files), runs, results) + "\n"
    (output / "results.md").write_text(text)
    (output / "results.json").write_text(json.dumps(results))
    print(text)


if __name__ == "__main__":
    main()
