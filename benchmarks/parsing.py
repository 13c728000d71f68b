"""Attachment scores of dependency parsers.

    python benchmarks/parsing.py --data FOLDER                    *-train.conllu, *-dev.conllu, *-test.conllu
    python benchmarks/parsing.py --data FOLDER --tagger ARCHIVE   also with the tags of this tagger in dev and test

Trains the configs with several seeds, and scores dev and test once, by the official evaluation (`udtools`). Words and
tags are the gold ones. With --tagger, a second table has the scores where the parts of speech of dev and test are those
that a model of this package predicts; the parsers are the same.

The row "most frequent" attaches each word as most words of its part of speech are attached in the training data: to the
root, or to the word so many places before or after it, with the most frequent label. Each config is compared with the
first one.

`biaffine_parser` needs allennlp-models. On CPUs most of its time goes into torch's `bilinear`; here it is computed by
matrix products, with the same values. Finished runs are kept and not repeated. Writes `results.md` and `results.json`
into the output folder.
"""

import argparse
import json
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import numpy
import torch
from comparisons import comparison_cells, comparison_columns
from operating_points import PARTS, TASK, as_markdown
from quality_tasks import add_run_options, finished_runs
from results import ROOT, experiment, train

from allennlp_nef.data.formats.conllu import read_conllu, tree_of
from allennlp_nef.metrics.tree_scores import NAMES, TREES

CONFIGS = ["parse_biaffine", "parse_biaffine_nef_f", "parse_arc_mlp", "parse_arc_mlp_nef_f"]
SCORES = ("uas", "las", "clas", "mlas")
GOLD, PREDICTED = "gold tags", "predicted tags"


def find_treebank(parser: argparse.ArgumentParser, data: Path) -> dict[str, str]:
    """The file of each part."""
    files = {}
    for part in ("train", *PARTS):
        found = sorted(data.glob(f"*-{part}.conllu"))
        if len(found) != 1:
            parser.error(f"--data: expected one file *-{part}.conllu in {data}, got {len(found)}")
        files[part] = str(found[0])
    return files


def counts_of(gold: str, predicted: list[dict[str, Any]]) -> list[list[int]]:
    """The counts of each sentence, from heads and labels."""
    rows, others = [], []
    for sentence, answer in zip(read_conllu(gold), predicted):
        rows.append(sentence.words)
        pairs = zip(sentence.words, answer["heads"], answer["labels"])
        others.append([(*row[:6], str(head), label, *row[8:]) for row, head, label in pairs])
    return TREES.count(rows, others).sentences.tolist()


def tagged(archive: str, path: str, output: Path) -> str:
    """Writes a file with the predicted tags in place of the gold ones; returns its path."""
    from allennlp_nef.predictors.archives import load_predictor

    predictor = load_predictor(archive, output_format="conllu")
    answers = predictor.predict_batch_instance(list(predictor._dataset_reader.read(path)))
    output.mkdir(parents=True, exist_ok=True)
    written = output / f"tagged-{Path(path).name}"
    written.write_text("".join(map(predictor.dump_line, answers)), encoding="utf-8")
    return str(written)


def bilinear(
    first: torch.Tensor,
    second: torch.Tensor,
    weight: torch.Tensor,
    bias: torch.Tensor | None = None,
) -> torch.Tensor:
    """`torch.nn.functional.bilinear`, with a matrix product for each output.

    With four dimensions it is that of all pairs of heads, the second one, and dependents, the third one.
    """
    if first.dim() == 4:
        heads, dependents = first[:, :, 0], second[:, 0].transpose(1, 2)
        outputs = torch.stack([heads @ rows @ dependents for rows in weight], -1)
    else:
        outputs = torch.stack([((first @ rows) * second).sum(-1) for rows in weight], -1)
    return outputs if bias is None else outputs + bias


def run_one(params: Any, files: dict[str, str], tagger: str | None, folder: Path) -> None:
    """Trains one parser, and writes the counts of dev and test into `folder`."""
    from allennlp.common.plugins import import_plugins
    from allennlp.models import load_archive
    from allennlp.predictors import Predictor

    import_plugins()  # allennlp-models, which has biaffine_parser
    torch.nn.functional.bilinear = bilinear
    result = train(params, folder)
    archive = load_archive(str(folder / "model.tar.gz"))
    predictor = Predictor.from_archive(archive, "dependency_parser")
    for part in PARTS:
        sources = {GOLD: files[part]}
        if tagger is not None:
            sources[PREDICTED] = tagged(tagger, files[part], folder)
        for kind, path in sources.items():
            answers = predictor.predict_batch_instance(list(predictor._dataset_reader.read(path)))
            result["counts"].setdefault(kind, {})[part] = counts_of(files[part], answers)
    (folder / "result.json").write_text(json.dumps(result))


def most_frequent(train_path: str, path: str) -> list[list[int]]:
    """The counts of the trivial baseline."""
    arcs: dict[str, Counter] = defaultdict(Counter)
    for sentence in read_conllu(train_path):
        tree = tree_of(sentence, train_path)
        for word, (tag, head, label) in enumerate(zip(sentence.column("upos"), *tree), 1):
            arcs[tag][head - word if head else None, label] += 1
    every = sum(arcs.values(), Counter())
    answers = []
    for sentence in read_conllu(path):
        heads, labels = [], []
        for word, tag in enumerate(sentence.column("upos"), 1):
            (offset, label), _ = arcs.get(tag, every).most_common(1)[0]
            inside = offset is not None and 1 <= word + offset <= len(sentence.words)
            heads.append(word + offset if inside else 0)
            labels.append(label)
        answers.append({"heads": _as_tree(heads), "labels": labels})
    return counts_of(path, answers)


def _as_tree(heads: list[int]) -> list[int]:
    """The same heads as far as they make a tree: other roots, and words of a cycle, hang on the first root."""
    from allennlp_nef.data.formats.conllu import find_cycle

    root = heads.index(0) + 1 if 0 in heads else 1
    heads = [0 if word == root else head or root for word, head in enumerate(heads, 1)]
    cycle = find_cycle(heads)
    while cycle:
        heads[cycle[0] - 1] = root
        cycle = find_cycle(heads)
    return heads


def table(
    results: dict[str, list[dict[str, Any]]], kind: str, baseline: dict[str, list[list[int]]]
) -> str:
    """The scores of each row, and the comparisons with the first config."""

    def cells_of(part: str, score: str, counts: numpy.ndarray) -> str:
        scores = 100 * TREES.scores(counts.sum(1))[score]
        spread = f" ± {numpy.std(scores, ddof=1):.2f}" if len(scores) > 1 else ""
        return f"{numpy.mean(scores):.2f}{spread}"

    columns = [(part, score) for part in PARTS for score in SCORES]
    lines = [[kind, *(f"{part} {NAMES[score]}" for part, score in columns), "seeds", "training"]]
    if kind == GOLD:
        cells = [cells_of(part, score, numpy.array([baseline[part]])) for part, score in columns]
        lines.append(["most frequent", *cells, "", ""])
    counts = {
        config: {part: numpy.array([run["counts"][kind][part] for run in runs]) for part in PARTS}
        for config, runs in results.items()
    }
    for config, runs in results.items():
        cells = [cells_of(part, score, counts[config][part]) for part, score in columns]
        minutes = numpy.median([run["seconds"] for run in runs]) / 60
        lines.append([f"`{config}`", *cells, str(len(runs)), f"{minutes:.1f} min"])
    first, *others = results
    tests = [["LAS", *comparison_columns()]]
    for config in others:
        cells = [f"`{config}` minus `{first}`"]
        for part in PARTS:
            pair = counts[config][part], counts[first][part]
            cells += comparison_cells(*pair, lambda sums: TREES.scores(sums)["las"])
        tests.append(cells)
    return "\n\n".join(map(as_markdown, (lines, tests)))


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    add_run_options(parser)
    parser.add_argument("--tagger", metavar="ARCHIVE", help="a tagger of parts of speech")
    args = parser.parse_args()
    args.data = args.data.resolve()
    args.configs = args.configs or CONFIGS
    files = find_treebank(parser, args.data)
    if args.one:
        params = experiment(TASK, args.configs[0], args.seeds[0], files, args.overrides)
        run_one(params, files, args.tagger, args.output)
        return
    output = (args.output or ROOT / "runs" / "parsing" / args.data.name).resolve()
    options = ["--tagger", str(Path(args.tagger).resolve())] if args.tagger else []
    results = finished_runs(parser, args, [__file__, *options], files, output)
    baseline = {part: most_frequent(files["train"], files[part]) for part in PARTS}
    kinds = [GOLD, PREDICTED] if args.tagger else [GOLD]
    text = "\n\n".join(table(results, kind, baseline) for kind in kinds) + "\n"
    (output / "results.md").write_text(text)
    (output / "results.json").write_text(json.dumps(results))
    print(text)


if __name__ == "__main__":
    main()
