"""F1 of characters of the error spans of word-level models, on WMT23 English-German.

    python benchmarks/error_spans.py --data FOLDER --runs runs/quality_tasks/words

FOLDER has dev_spans.tsv, gold_T2.tsv, test.src and hallucinations.tsv of WMT23 task 2. The runs are those of
`quality_tasks.py words`, trained with the reader's options `eos`, `source_tokenizer` and `target_tokenizer`.

The baseline has the threshold with the highest MCC of words on the dev data of the runs, and all its spans are major.
The other rows have the threshold with the highest F1 of characters on dev_spans.tsv, and the severity that is better
there. "Every word" marks each text from end to end. Sentences listed as hallucinations are left out, as officially.
"""

import argparse
import json
from pathlib import Path
from typing import Any, NamedTuple

import numpy
from comparisons import comparison_cells, comparison_columns
from operating_points import PARTS, as_markdown, mean_and_spread
from quality_tasks import CONFIGS, Run, ensemble, load

from allennlp_nef.metrics.thresholds import best_threshold
from allennlp_nef.metrics.wmt_scores import SPANS

SEVERITIES = ("major", "minor")


class Part(NamedTuple):
    """The sentences of a part of the data, and what a model says of their words."""

    sentences: list[Any]
    """With `metadata`."""
    values: numpy.ndarray
    """The probabilities of BAD: (words,)."""


def read(archive: Path, files: dict[str, Any]) -> dict[str, Part]:
    """What the model of an archive says of each part."""
    from allennlp.predictors import Predictor

    import allennlp_nef  # noqa: F401
    from allennlp_nef.commands.calibration.words import Words, sentences_of

    overrides = {"validation_dataset_reader.clip_spans": True}
    predictor: Any = Predictor.from_path(str(archive), "word_qe", overrides=overrides)
    parts = {}
    for part in PARTS:
        instances = list(predictor._dataset_reader.read(files[part]))
        sentences = sentences_of(predictor, instances, part, 64)
        words = Words(sentences, predictor._model.tag_head)
        bad = predictor._model.tag_head.labels.index("BAD")
        parts[part] = Part(list(sentences), words.table[:, bad])
    return parts


def counts_of(part: Part, threshold: float, severity: str, left_out: list[int]) -> numpy.ndarray:
    """The counts of `SPANS` for each sentence."""
    from allennlp_nef.data.formats.error_spans import ErrorSpan, join_bad_words, severities_of

    gold, predicted = [], []
    start = 0
    for number, sentence in enumerate(part.sentences):
        split = sentence.metadata.split_text()
        values = part.values[start : start + len(split.words)]
        start += len(split.words)
        if number in left_out:
            continue
        tagged = [severity if value >= threshold else None for value in values]
        spans = [
            ErrorSpan(*each[:2], each.severity) for each in join_bad_words(split, tagged, values)
        ]
        expected = [ErrorSpan(*span) for span in sentence.metadata.spans or ()]
        gold.append(severities_of(split.text, expected))
        predicted.append(severities_of(split.text, spans))
    return SPANS.count(gold, predicted).sentences


def best_on_dev(part: Part) -> tuple[float, str]:
    """The threshold and the severity with the highest F1 of characters, of 50 quantiles of the probabilities."""
    candidates = numpy.unique(numpy.quantile(part.values, numpy.linspace(0.6, 0.998, 50)))
    scores = {
        (float(value), severity): float(
            SPANS.scores(counts_of(part, value, severity, []).sum(0))["f1"]
        )
        for value in candidates
        for severity in SEVERITIES
    }
    return max(scores, key=lambda key: scores[key])


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--data", type=Path, required=True, help="folder of the data set")
    parser.add_argument("--runs", type=Path, required=True, help="output of quality_tasks.py words")
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3], help="(default 1 2 3)")
    args = parser.parse_args()
    files: dict[str, Any] = {
        "dev": str(args.data / "dev_spans.tsv"),
        "test": {"spans": str(args.data / "gold_T2.tsv"), "source": str(args.data / "test.src")},
    }
    rows = (args.data / "hallucinations.tsv").read_text(encoding="utf-8").splitlines()[1:]
    left_out = {"dev": [], "test": [int(row.split("\t")[1]) for row in rows]}
    models: dict[str, list[dict[str, Part]]] = {}
    runs: dict[str, list[Run]] = {}
    for config in CONFIGS["words"]:
        folders = [args.runs / config / str(seed) for seed in args.seeds]
        models[config] = [read(folder / "model.tar.gz", files) for folder in folders]
        runs[config] = [load(folder) for folder in folders]
    everything = [each for several in models.values() for each in several]
    models["all runs, ensemble"] = [
        {
            part: everything[0][part]._replace(
                values=numpy.mean([each[part].values for each in everything], axis=0)
            )
            for part in PARTS
        }
    ]
    runs["all runs, ensemble"] = [ensemble([run for several in runs.values() for run in several])]
    words = {
        name: [best_threshold(run["dev"].values, run["dev"].is_bad).value for run in several]
        for name, several in runs.items()
    }

    counts: dict[str, dict[str, list[numpy.ndarray]]] = {}
    settings: dict[str, list[tuple[float, str]]] = {}
    some = everything[0]
    counts["every word, major"] = {
        part: [counts_of(some[part], -1.0, "major", left_out[part])] for part in PARTS
    }
    for name, several in models.items():
        chosen = [best_on_dev(each["dev"]) for each in several]
        settings[name] = chosen
        for title, options in (
            (f"{name}, threshold for MCC, major", [(value, "major") for value in words[name]]),
            (f"{name}, threshold for spans", chosen),
        ):
            counts[title] = {
                part: [
                    counts_of(each[part], *option, left_out[part])
                    for each, option in zip(several, options)
                ]
                for part in PARTS
            }
    names = ("f1", "precision", "recall")
    lines = [["row", *(f"{part} {name}" for name in names for part in PARTS)]]
    for title, table in counts.items():
        cells = [
            mean_and_spread(SPANS.scores(numpy.array([each.sum(0) for each in table[part]]))[name])
            for name in names
            for part in PARTS
        ]
        lines.append([title, *cells])
    tests = [["", *comparison_columns("F1")]]
    for name in models:
        pair = (f"{name}, threshold for spans", f"{name}, threshold for MCC, major")
        cells = [" minus ".join(pair)]
        for part in PARTS:
            arrays = (numpy.array(counts[title][part]) for title in pair)
            cells += comparison_cells(*arrays, lambda sums: SPANS.scores(sums)["f1"])
        tests.append(cells)
    text = "\n\n".join(map(as_markdown, (lines, tests))) + "\n"
    (args.runs / "error_spans.md").write_text(text)
    (args.runs / "error_spans.json").write_text(json.dumps(settings))
    print(text)


if __name__ == "__main__":
    main()
