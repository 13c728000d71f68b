"""Scores of quality estimators at thresholds that were chosen on dev, and how well their probabilities are calibrated.

    python benchmarks/operating_points.py --data FOLDER --language ro-en     train.*, dev.*, test20.* of MLQE-PE
    python benchmarks/operating_points.py --data FOLDER --unweighted     train.*, dev.*, test.* of prepare_wmt22.py

Trains each config with several seeds, with training sentences that are weighted by their likeness to dev, as the page
on calibration recommends. Then it calibrates each model on dev, chooses the threshold for the highest F1-MULT and that
for the highest MCC there, and tags dev and test once: with the alignments of the files ("given"), with those of the
model's own aligner ("computed"), and without any ("none").

The row "target only" is a BiLSTM that sees no source: it is trained on the same data without their alignments.

Finished runs are kept and not repeated. Writes `results.md` and `results.json` into the output folder.
"""

import argparse
import json
from functools import partial
from pathlib import Path
from typing import Any

import numpy
from comparisons import comparison_cells, comparison_columns
from result_tasks import TASKS
from results import (
    ROOT,
    Results,
    add_data_options,
    difference,
    experiment,
    find_files,
    run_all,
    train,
)

TASK = TASKS["qe"]
TARGET_ONLY = "target only"
CONFIGS = ["qe_nef_f_affixes", "qe_bilstm_affixes", "qe_nef_f_tuned", TARGET_ONLY]
CONDITIONS = ("given", "computed", "none")
SCORES = {"f1_mult": "F1-MULT", "mcc": "MCC"}
PARTS = ("dev", "test")


def without_alignments(prefix: str, folder: Path) -> str:
    """A prefix of links to the files of a data set, without that of the alignments."""
    folder.mkdir(parents=True, exist_ok=True)
    name = folder / Path(prefix).name
    for ending in (".src", ".mt", ".tags"):
        link = Path(f"{name}{ending}")
        if not link.is_symlink():
            link.symlink_to(Path(f"{prefix}{ending}").resolve())
    return str(name)


def params_of(
    row: str,
    seed: int,
    files: dict[str, str],
    overrides: dict[str, Any],
    unweighted: bool,
    folder: Path,
) -> Any:
    """The experiment of a row."""
    weighting = {} if unweighted else {"dataset_reader.weighting": {"target_path": files["dev"]}}
    changes = {**weighting, **overrides}
    if row != TARGET_ONLY:
        return experiment(TASK, row, seed, files, changes)
    files = {
        part: without_alignments(files[part], folder.parent / "data") for part in ("train", "dev")
    }
    sizes = experiment(TASK, "qe_bilstm_affixes", seed, files, {})["model"]["encoder"]
    if weighting:
        changes["dataset_reader.weighting"] = {"target_path": files["dev"]}
    for part in ("dataset_reader", "validation_dataset_reader", "model.input_representation"):
        changes[f"{part}.word_similarity"] = False
    changes["model.input_representation.alignment_dropout"] = 0
    changes["model.encoder.input_size"] = sizes["input_size"] - 5
    return experiment(TASK, "qe_bilstm_affixes", seed, files, changes)


def words_of(predictor: Any, path: str) -> dict[str, Any]:
    """The probabilities of the words of a data set under each condition that the model knows."""
    from allennlp_nef.commands.calibration.words import Words, sentences_of

    reader = predictor._dataset_reader
    examples = list(reader.examples(path))
    found = {}
    for condition in CONDITIONS:
        if condition == "computed" and reader.aligner is None:
            continue
        instances = [
            reader.build_instance(
                each.source,
                each.target,
                {"given": each.alignments or [], "none": []}.get(condition),
                each.tags,
            )
            for each in examples
        ]
        found[condition] = Words(
            sentences_of(predictor, instances, path, 64), predictor._model.tag_head
        )
    return found


def run_one(params: Any, files: dict[str, str], folder: Path) -> None:
    """Trains and calibrates one model; writes its counts and calibration errors into `folder`."""
    from allennlp_nef.commands.calibration.measures import confidences
    from allennlp_nef.commands.calibration.run import calibration_of
    from allennlp_nef.metrics.calibration_scores import (
        calibration_bins,
        expected_calibration_error,
    )
    from allennlp_nef.metrics.tag_scores import WORD_QE
    from allennlp_nef.modules.calibration import Calibration
    from allennlp_nef.predictors.archives import load_predictor

    result = train(params, folder)
    predictor = load_predictor(str(folder / "model.tar.gz"))
    words = {part: words_of(predictor, files[part]) for part in PARTS}
    result["ece"], result["thresholds"] = {}, {}
    for score in SCORES:
        calibration = calibration_of(words["dev"]["given"], score)
        result["thresholds"][score] = calibration.threshold
        for part in PARTS:
            for condition, given in words[part].items():
                values = confidences(given, calibration).values
                tags = numpy.where(values >= calibration.threshold, "BAD", "OK").tolist()
                predicted, start = [], 0
                for sentence in given.sentences:
                    predicted.append(tags[start : start + len(sentence.tags)])
                    start += len(sentence.tags)
                gold = [sentence.gold for sentence in given.sentences]
                counts = WORD_QE.count(gold, predicted).sentences.tolist()
                result["counts"][f"{part} {condition} {score}"] = counts
    for part in PARTS:
        given = words[part]["given"]
        before = confidences(given, Calibration())
        result["ece"][f"{part} before"] = before.ece()
        result["ece"][f"{part} after"] = confidences(given, calibration).ece()
        weights = dict(zip(given.head.labels, given.head.label_weights.tolist()))
        odds = before.values / (1 - before.values).clip(1e-12) * weights["BAD"] / weights["OK"]
        bins = calibration_bins(odds / (1 + odds), before.is_right)
        result["ece"][f"{part} with weights"] = expected_calibration_error(bins)
    (folder / "result.json").write_text(json.dumps(result))


def mean_and_spread(values: Any) -> str:
    values = 100 * numpy.asarray(values)
    spread = f" ± {numpy.std(values, ddof=1):.2f}" if len(values) > 1 else ""
    return f"{numpy.mean(values):.2f}{spread}"


def scores_of(runs: list[dict[str, Any]], part: str, condition: str, score: str) -> str | None:
    from allennlp_nef.metrics.tag_scores import WORD_QE

    key = f"{part} {condition} {score}"
    if key not in runs[0]["counts"]:
        return None
    totals = numpy.array([numpy.sum(run["counts"][key], axis=0) for run in runs])
    return mean_and_spread(WORD_QE.scores(totals)[score])


def as_markdown(lines: list[list[str]]) -> str:
    lines.insert(1, ["---"] * len(lines[0]))
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def tables(results: Results) -> str:
    """The scores of each row, those without alignments, the calibration errors, and the comparisons."""
    keys = [(part, score) for score in SCORES for part in PARTS]
    scores = [["row", *(f"{part} {SCORES[score]}" for part, score in keys)]]
    scores[0] += ["seeds", "best epochs", "s/epoch"]
    links = [["row, alignments", *scores[0][1:5]]]
    errors = [["row", "dev, with label weights", "dev, before", "test, before", "test, calibrated"]]
    for row, runs in results.items():
        cells = [str(scores_of(runs, part, "given", score)) for part, score in keys]
        per_epoch = numpy.median([run["seconds"] / run["epochs"] for run in runs])
        best = ", ".join(str(run["best_epoch"]) for run in runs)
        scores.append([f"`{row}`", *cells, str(len(runs)), best, f"{per_epoch:.1f}"])
        for condition in CONDITIONS:
            found = [scores_of(runs, part, condition, score) for part, score in keys]
            if row != TARGET_ONLY and None not in found:
                links.append([f"`{row}`, {condition}", *map(str, found)])
        names = ("dev with weights", "dev before", "test before", "test after")
        errors.append(
            [f"`{row}`", *(mean_and_spread([run["ece"][name] for run in runs]) for name in names)]
        )
    return "\n\n".join(map(as_markdown, (scores, links, errors, comparisons(results))))


def comparisons(results: Results) -> list[list[str]]:
    """Paired tests of NEF-F and BiLSTM, and of the models without alignments and the one without source."""
    from allennlp_nef.metrics.tag_scores import WORD_QE

    nef, bilstm = CONFIGS[:2]
    pairs = [
        ((nef, "given"), (bilstm, "given")),
        ((nef, "none"), (TARGET_ONLY, "none")),
        ((bilstm, "none"), (TARGET_ONLY, "none")),
    ]
    lines = [["", "score", *comparison_columns()]]
    for pair in pairs:
        if not {row for row, _ in pair} <= set(results):
            continue
        seeds = min(len(results[row]) for row, _ in pair)
        for score, title in SCORES.items():
            cells = [" minus ".join(f"`{row}`, {condition}" for row, condition in pair), title]
            for part in PARTS:
                counts = [
                    numpy.array(
                        [run["counts"][f"{part} {condition} {score}"] for run in results[row]][
                            :seeds
                        ]
                    )
                    for row, condition in pair
                ]
                cells += comparison_cells(*counts, partial(_score, WORD_QE.scores, score))
            lines.append(cells)
    return lines


def _score(scores: Any, name: str, sums: numpy.ndarray) -> numpy.ndarray:
    return scores(sums)[name]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    add_data_options(parser)
    parser.add_argument("--configs", nargs="+", choices=CONFIGS, default=CONFIGS, help="rows")
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3], help="(default 1 2 3)")
    parser.add_argument("--jobs", type=int, default=2, choices=range(1, 65), metavar="N")
    parser.add_argument("--output", type=Path, help="folder (default runs/operating_points/DATA)")
    parser.add_argument(
        "--overrides", type=json.loads, default={}, help="settings of every run, as JSON"
    )
    parser.add_argument(
        "--unweighted", action="store_true", help="training sentences count as much as each other"
    )
    parser.add_argument("--one", action="store_true", help=argparse.SUPPRESS)
    args = parser.parse_args()
    args.task = "qe"
    args.data = args.data.resolve()
    files = find_files(parser, TASK, args)
    if args.one:
        folder = args.output
        settings = files, args.overrides, args.unweighted
        params = params_of(args.configs[0], args.seeds[0], *settings, folder)
        run_one(params, files, folder)
        return
    output = (args.output or ROOT / "runs" / "operating_points" / args.data.name).resolve()
    jobs = [(config, seed) for config in args.configs for seed in args.seeds]
    for config, seed in jobs:
        folder = output / config / str(seed)
        settings = files, args.overrides, args.unweighted
        another = difference(params_of(config, seed, *settings, folder), folder)
        if another:
            parser.error(
                f"--output: {another}. Runs are kept: delete this one, or choose another folder"
            )
    options = ["--data", str(args.data), "--overrides", json.dumps(args.overrides)]
    if args.language not in (None, "*"):
        options += ["--language", args.language]
    if args.unweighted:
        options.append("--unweighted")
    finished = run_all([__file__, *options], jobs, output, args.jobs)
    results: Results = {config: [] for config in args.configs}
    for (config, _), result in zip(jobs, finished):
        results[config].append(result)
    text = tables(results) + "\n"
    (output / "results.md").write_text(text)
    (output / "results.json").write_text(json.dumps(results))
    print(text)


if __name__ == "__main__":
    main()
