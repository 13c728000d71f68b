"""Correlations of sentence scores with HTER.

    python benchmarks/sentence_scores.py --data FOLDER --language en-de      train.*, dev.*, test20.* of MLQE-PE

Trains the configs with several seeds, and scores dev and test once. `qe_nef_f_sentences` and `qe_bilstm_sentences`
learn HTER together with the tags. The score of `qe_nef_f_tuned`, the baseline, is the mean probability of BAD. The row
"mean of training" gives every sentence the same score.

Finished runs are kept and not repeated. Writes `results.md` and `results.json` into the output folder.
"""

import argparse
import json
from pathlib import Path
from typing import Any

import numpy
from comparisons import comparison_cells, comparison_columns
from operating_points import PARTS, TASK, as_markdown
from quality_tasks import add_run_options, finished_runs
from results import ROOT, experiment, find_files, train

from allennlp_nef.metrics.wmt_scores import CORRELATIONS

CONFIGS = ["qe_nef_f_sentences", "qe_bilstm_sentences", "qe_nef_f_tuned"]
COMPARISONS = [
    ("qe_nef_f_sentences", "qe_nef_f_tuned"),
    ("qe_bilstm_sentences", "qe_nef_f_tuned"),
    ("qe_nef_f_sentences", "qe_bilstm_sentences"),
]


def hter_of(path: str) -> list[float]:
    """The gold scores of a data set."""
    from allennlp_nef.data.formats.wmt_word_qe import ReadOptions, read_examples

    return [
        float(each.hter or 0) for each in read_examples(path, ReadOptions(sentence_scores=True))
    ]


def run_one(params: Any, files: dict[str, str], folder: Path) -> None:
    """Trains one model, and writes its scores of dev and test into `folder`."""
    from allennlp_nef.predictors.archives import load_predictor

    result = train(params, folder)
    predictor = load_predictor(str(folder / "model.tar.gz"))
    for part in PARTS:
        instances = list(predictor._dataset_reader.read(files[part]))
        answers = predictor.predict_batch_instance(instances)
        result[part] = [answer["sentence_score"] for answer in answers]
    (folder / "result.json").write_text(json.dumps(result))


def scores_of(gold: list[float], predicted: list[float]) -> dict[str, float]:
    from scipy.stats import pearsonr, spearmanr

    errors = numpy.asarray(predicted) - numpy.asarray(gold)
    return {
        "Pearson": float(pearsonr(gold, predicted)[0]),
        "Spearman": float(spearmanr(gold, predicted)[0]),
        "MAE": float(numpy.abs(errors).mean()),
        "RMSE": float(numpy.sqrt((errors**2).mean())),
    }


def tables(files: dict[str, str], results: dict[str, list[dict[str, Any]]]) -> str:
    """The scores of each row, and the comparisons by Pearson's r."""
    gold = {part: hter_of(files[part]) for part in PARTS}
    mean = float(numpy.mean(hter_of(files["train"])))
    names = ("Pearson", "Spearman", "MAE", "RMSE")
    lines = [["row", *(f"{part} {name}" for name in names for part in PARTS), "seeds"]]
    constant = {part: numpy.abs(numpy.array(gold[part]) - mean) for part in PARTS}
    rmse = {part: float(numpy.sqrt((constant[part] ** 2).mean())) for part in PARTS}
    cells = [f"{constant[part].mean():.4f}" for part in PARTS]
    cells += [f"{rmse[part]:.4f}" for part in PARTS]
    lines.append(["mean of training", *["0"] * 4, *cells, ""])
    for config, runs in results.items():
        table = {part: [scores_of(gold[part], run[part]) for run in runs] for part in PARTS}
        cells = []
        for name in names:
            for part in PARTS:
                values = [scores[name] for scores in table[part]]
                spread = f" ± {numpy.std(values, ddof=1):.4f}" if len(values) > 1 else ""
                cells.append(f"{numpy.mean(values):.4f}{spread}")
        lines.append([f"`{config}`", *cells, str(len(runs))])
    tests = [["Pearson", *comparison_columns()]]
    for first, second in COMPARISONS:
        if not {first, second} <= set(results):
            continue
        seeds = min(len(results[first]), len(results[second]))
        cells = [f"`{first}` minus `{second}`"]
        for part in PARTS:
            tags = [[score] for score in gold[part]]
            arrays = (
                numpy.array(
                    [
                        CORRELATIONS.count(tags, [[score] for score in run[part]]).sentences
                        for run in results[config][:seeds]
                    ]
                )
                for config in (first, second)
            )
            cells += comparison_cells(
                *arrays, lambda sums: CORRELATIONS.scores(sums)["pearson"], scale=1, digits=4
            )
        tests.append(cells)
    return "\n\n".join(map(as_markdown, (lines, tests)))


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    add_run_options(parser)
    args = parser.parse_args()
    args.task, args.configs = "qe", args.configs or CONFIGS
    args.data = args.data.resolve()
    files = find_files(parser, TASK, args)
    if args.one:
        params = experiment(TASK, args.configs[0], args.seeds[0], files, args.overrides)
        run_one(params, files, args.output)
        return
    output = (args.output or ROOT / "runs" / "sentence_scores" / args.data.name).resolve()
    results = finished_runs(parser, args, [__file__], files, output)
    text = tables(files, results) + "\n"
    (output / "results.md").write_text(text)
    (output / "results.json").write_text(json.dumps(results))
    print(text)


if __name__ == "__main__":
    main()
