"""Accuracies of classes of sentences and of entailment, and correlations of relatedness.

    python benchmarks/sentences.py trec --data FOLDER                 train.txt, test.txt; the last 500 of train are dev
    python benchmarks/sentences.py sst --data FOLDER                  stsa.fine.train, .dev, .test
    python benchmarks/sentences.py sick-entailment --data FOLDER      SICK_train.txt, SICK_trial.txt,
    python benchmarks/sentences.py sick-relatedness --data FOLDER     SICK_test_annotated.txt

With --parses FOLDER, sick-relatedness has a row for the Tree-LSTM: FOLDER has the trees of both sentences of each pair
in SICK_train.conllu, SICK_trial.conllu and SICK_test_annotated.conllu (docs/trees.md says how to make them).

ESIM needs allennlp-models (docs/installation.md), so its rows have to be asked for, after the first one:

    python benchmarks/sentences.py sick-entailment --data FOLDER \\
        --configs sick_entailment_bilstm sick_entailment_esim sick_entailment_esim_nef_f

Trains the configs with several seeds, and scores dev and test once. The row "majority" gives every sentence the label
that is the most frequent in the training data. Each config is compared with the first one.

Finished runs are kept and not repeated. Writes `results.md` and `results.json` into the output folder.
"""

import argparse
import json
from collections import Counter
from pathlib import Path
from typing import Any, NamedTuple

import numpy
from comparisons import comparison_cells, comparison_columns
from operating_points import PARTS, TASK, as_markdown
from quality_tasks import add_run_options, finished_runs
from results import ROOT, experiment, train

from allennlp_nef.metrics.wmt_scores import CORRELATIONS

TREC_DEV = 500
_BLANK = {"dataset_reader.layout": "blank", "validation_dataset_reader.layout": "blank"}


class SentenceTask(NamedTuple):
    """Configs, and the files of a data set."""

    configs: list[str]
    files: list[str]
    """Train, dev and test; of TREC train and test."""
    overrides: dict[str, Any] = {}


_SICK = ["SICK_train.txt", "SICK_trial.txt", "SICK_test_annotated.txt"]
TREE_LSTM = "sick_relatedness_tree_lstm"
TASKS = {
    "trec": SentenceTask(
        ["trec_bilstm", "trec_lstm", "trec_attention", "trec_nef_f"], ["train.txt", "test.txt"]
    ),
    "sst": SentenceTask(
        ["sst_bilstm", "sst_nef_f"],
        [f"stsa.fine.{name}" for name in ("train", "dev", "test")],
        _BLANK,
    ),
    "sick-entailment": SentenceTask(
        [f"sick_entailment_{name}" for name in ("bilstm", "attention", "nef_f")], _SICK
    ),
    "sick-relatedness": SentenceTask(
        [f"sick_relatedness_{name}" for name in ("lstm", "bilstm", "attention", "nef_f")], _SICK
    ),
}


def files_of(task: SentenceTask, data: Path, output: Path) -> dict[str, str]:
    """The file of each part. Those that are made of the training data of TREC are in the output folder."""
    paths = [data / name for name in task.files]
    if len(paths) == 2:
        lines = paths[0].read_bytes().splitlines(keepends=True)
        output.mkdir(parents=True, exist_ok=True)
        parts = {"train": lines[:-TREC_DEV], "dev": lines[-TREC_DEV:]}
        for name, part in parts.items():
            (output / f"{name}.txt").write_bytes(b"".join(part))
        paths = [output / "train.txt", output / "dev.txt", paths[1]]
    return dict(zip(("train", *PARTS), map(str, paths)))


def run_one(params: Any, files: dict[str, str], folder: Path) -> None:
    """Trains one model, and writes gold and predicted labels or scores of dev and test into `folder`."""
    from allennlp.common.plugins import import_plugins
    from allennlp.models import load_archive

    import_plugins()  # allennlp-models, which has esim
    result = train(params, folder)
    archive = load_archive(str(folder / "model.tar.gz"))
    reader, model = archive.validation_dataset_reader, archive.model.eval()
    for part in PARTS:
        instances = list(reader.read(files[part]))
        pairs = []
        for start in range(0, len(instances), 64):
            batch = instances[start : start + 64]
            for instance, output in zip(batch, model.forward_on_instances(batch)):
                if "score" in instance.fields:
                    pairs.append([instance["score"].number, output["score"]])
                else:
                    pairs.append([instance["label"].label, output["label"]])
        result[part] = pairs
    (folder / "result.json").write_text(json.dumps(result))


def counts_of(pairs: list[list[Any]]) -> numpy.ndarray:
    """Of each sentence: whether its label is right, and 1; or the sums that a correlation needs."""
    if isinstance(pairs[0][0], str):
        return numpy.array([[gold == predicted, 1] for gold, predicted in pairs], dtype=float)
    gold, predicted = ([[pair[side]] for pair in pairs] for side in (0, 1))
    return CORRELATIONS.count(gold, predicted).sentences


def score_of(sums: numpy.ndarray) -> numpy.ndarray:
    """Accuracy or Pearson's r, in percent."""
    if sums.shape[-1] == 2:
        return 100 * sums[..., 0] / sums[..., 1]
    return 100 * CORRELATIONS.scores(sums)["pearson"]


def majority_of(file: str, config: str, overrides: dict[str, Any]) -> str:
    """The label that is the most frequent in a file."""
    from allennlp.data import DatasetReader

    params = experiment(TASK, config, 0, {"train": file, "dev": file}, overrides)
    reader = DatasetReader.from_params(params["validation_dataset_reader"])
    labels = Counter(instance["label"].label for instance in reader.read(file))
    return labels.most_common(1)[0][0]


def tables(results: dict[str, list[dict[str, Any]]], majority: str | None) -> str:
    """The scores of each row, and the comparisons with the first config."""
    counts = {
        config: {part: numpy.array([counts_of(run[part]) for run in runs]) for part in PARTS}
        for config, runs in results.items()
    }
    first, *others = results
    lines = [["config", *PARTS, "seeds", "training"]]
    if majority is not None:
        shares = (
            numpy.mean([gold == majority for gold, _ in results[first][0][part]]) for part in PARTS
        )
        lines.append(["majority", *(f"{100 * share:.2f}" for share in shares), "", ""])
    for config, runs in results.items():
        cells = [f"`{config}`"]
        for part in PARTS:
            scores = score_of(counts[config][part].sum(1))
            spread = f" ± {numpy.std(scores, ddof=1):.2f}" if len(runs) > 1 else ""
            cells.append(f"{numpy.mean(scores):.2f}{spread}")
        minutes = numpy.median([run["seconds"] for run in runs]) / 60
        lines.append([*cells, str(len(runs)), f"{minutes:.1f} min"])
    tests = [["", *comparison_columns()]]
    for config in others:
        cells = [f"`{config}` minus `{first}`"]
        for part in PARTS:
            cells += comparison_cells(counts[config][part], counts[first][part], score_of, scale=1)
        tests.append(cells)
    return "\n\n".join(map(as_markdown, (lines, tests)))


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("task", choices=TASKS)
    add_run_options(parser)
    parser.add_argument("--parses", metavar="FOLDER", help="the trees of sick-relatedness")
    args = parser.parse_args()
    name, task = args.task, TASKS[args.task]
    args.data = args.data.resolve()
    options, runs = [], TASK
    if args.parses is not None:
        if name != "sick-relatedness":
            parser.error(f"--parses: expected sick-relatedness, got {name}")
        parses = str(Path(args.parses).resolve())
        options = ["--parses", parses]
        readers = ("dataset_reader", "validation_dataset_reader")
        changes = {f"{reader}.parses": parses for reader in readers}
        runs = TASK._replace(overrides={TREE_LSTM: changes})
        task = task._replace(configs=[*task.configs, TREE_LSTM])
    args.configs = args.configs or task.configs
    output = (args.output or ROOT / "runs" / "sentences" / name).resolve()
    files = files_of(task, args.data, output.parents[1] if args.one else output)
    if args.one:
        overrides = {**task.overrides, **args.overrides}
        params = experiment(runs, args.configs[0], args.seeds[0], files, overrides)
        run_one(params, files, output)
        return
    args.overrides = {**task.overrides, **args.overrides}
    results = finished_runs(parser, args, [__file__, name, *options], files, output, runs)
    majority = None
    if name != "sick-relatedness":
        import allennlp_nef  # noqa: F401  # registers the readers

        majority = majority_of(files["train"], args.configs[0], args.overrides)
    text = tables(results, majority) + "\n"
    (output / "results.md").write_text(text)
    (output / "results.json").write_text(json.dumps(results))
    print(text)


if __name__ == "__main__":
    main()
