"""Whole sentences: their classes, relatedness and entailment of pairs, and their dependency trees."""

import argparse
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import numpy
import torch
from allennlp.common.plugins import import_plugins
from allennlp.data import DatasetReader
from allennlp.models import load_archive
from allennlp.predictors import Predictor
from studies import PARTS, Counts, Files, Study, experiment
from studies_tagging import POS

from allennlp_nef.data.formats.conllu import find_cycle, read_conllu, tree_of
from allennlp_nef.metrics.tree_scores import NAMES, TREES
from allennlp_nef.metrics.wmt_scores import CORRELATIONS

SICK = ("SICK_train.txt", "SICK_trial.txt", "SICK_test_annotated.txt")
FILES = {
    "trec": ("train.txt", "train.txt", "test.txt"),
    "sst": tuple(f"stsa.fine.{name}" for name in ("train", *PARTS)),
    "sick-entailment": SICK,
    "sick-relatedness": SICK,
}
"""Train, dev and test of each task."""
ROWS = {
    "trec": "trec_bilstm trec_lstm trec_attention trec_nef_f",
    "sst": "sst_bilstm sst_nef_f",
    "sick-entailment": "sick_entailment_bilstm sick_entailment_attention sick_entailment_nef_f "
    "sick_entailment_esim sick_entailment_esim_nef_f",
    "sick-relatedness": "sick_relatedness_lstm sick_relatedness_bilstm "
    "sick_relatedness_attention sick_relatedness_nef_f sick_relatedness_tree_lstm",
}
TREC_DEV = 500


class Accuracy:
    """Of sums of right sentences and of all."""

    def scores(self, counts: numpy.ndarray) -> dict[str, numpy.ndarray]:
        return {"accuracy": counts[..., 0] / counts[..., 1]}


class Sentences(Study):
    """Accuracy of classes, or Pearson's r of relatedness."""

    def __init__(self, task: str) -> None:
        self.configs = ROWS[task].split()
        self.encoders = (f"{task.replace('-', '_')}_transformer",)
        self.patterns = {part: [name] for part, name in zip(("train", *PARTS), FILES[task])}
        self.task, self.is_scored = task, task == "sick-relatedness"
        self.scorer: Any = CORRELATIONS if self.is_scored else Accuracy()
        self.scores = {"pearson": "Pearson"} if self.is_scored else {"accuracy": "accuracy"}

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        if self.is_scored:
            parser.add_argument(
                "--parses",
                type=lambda path: str(Path(path).resolve()),
                metavar="FOLDER",
                help="with the trees of both sentences of each pair (docs/sentences.md says how to make them):\n"
                "SICK_train.conllu, SICK_trial.conllu and SICK_test_annotated.conllu",
            )

    def default_rows(self, args: argparse.Namespace) -> list[str]:
        """Without ESIM, which needs allennlp-models; the Tree-LSTM only with trees."""
        left_out = ("esim",) if getattr(args, "parses", None) else ("esim", "tree_lstm")
        return [row for row in self.configs if not any(name in row for name in left_out)]

    def find(self, parser: argparse.ArgumentParser, args: Any, output: Path) -> Files:
        """The last questions of TREC's training data become dev."""
        files = super().find(parser, args, output)
        if self.task == "trec":
            lines = Path(files["train"]).read_bytes().splitlines(keepends=True)
            output.mkdir(parents=True, exist_ok=True)
            for name, some in (("train", lines[:-TREC_DEV]), ("dev", lines[-TREC_DEV:])):
                files[name] = str(output / f"{name}.txt")
                Path(files[name]).write_bytes(b"".join(some))
        return files

    def params(self, args: Any, row: str, seed: int, files: Files, folder: Path) -> Any:
        changes: dict[str, Any] = {}
        for reader in ("dataset_reader", "validation_dataset_reader"):
            if self.task == "sst":
                changes[f"{reader}.layout"] = "blank"
            if row.endswith("tree_lstm"):
                changes[f"{reader}.parses"] = args.parses
        return experiment(row, seed, files, {**changes, **args.overrides})

    def prepare(self) -> None:
        import_plugins()  # allennlp-models, which has esim

    def gold_of(self, instance: Any) -> Any:
        return instance["score"].number if self.is_scored else instance["label"].label

    def count(self, args: Any, folder: Path, part: str, path: str) -> numpy.ndarray:
        archive = load_archive(str(folder / "model.tar.gz"), args.cuda_device)
        instances = list(archive.validation_dataset_reader.read(path))
        outputs: list[Any] = []
        for start in range(0, len(instances), 64):
            outputs += archive.model.eval().forward_on_instances(instances[start : start + 64])
        predicted = [output["score" if self.is_scored else "label"] for output in outputs]
        return self.counts(list(map(self.gold_of, instances)), predicted)

    def counts(self, gold: list[Any], predicted: list[Any]) -> numpy.ndarray:
        if self.is_scored:
            sides = ([[value] for value in side] for side in (gold, predicted))
            return CORRELATIONS.count(*sides).sentences
        return numpy.array([[a == b, 1] for a, b in zip(gold, predicted)], dtype=float)

    def trivial_counts(self, args: Any, files: Files) -> dict[str, Counts]:
        """Every sentence has the label that is the most frequent in the training data."""
        import allennlp_nef  # noqa: F401  # registers the readers

        if self.is_scored:
            return {}
        params = self.params(args, self.configs[0], 0, files, Path())
        reader = DatasetReader.from_params(params["validation_dataset_reader"])
        gold = {part: list(map(self.gold_of, reader.read(path))) for part, path in files.items()}
        majority = Counter(gold["train"]).most_common(1)[0][0]
        counts = {part: [self.counts(gold[part], [majority] * len(gold[part]))] for part in PARTS}
        return {"majority": counts}


class Parsing(Study):
    """Attachment scores by the official evaluation (`udtools`), with gold words and tags.

    The trivial row attaches each word as most words of its part of speech are attached in the training data: to the
    root, or to the word so many places before or after it, with the most frequent label. `biaffine_parser` needs
    allennlp-models.
    """

    configs = ("parse_biaffine", "parse_biaffine_nef_f", "parse_arc_mlp", "parse_arc_mlp_nef_f")
    encoders = ("parse_transformer",)
    patterns = POS.patterns
    scorer = TREES
    scores = {name: NAMES[name] for name in ("las", "uas", "clas", "mlas")}

    def prepare(self) -> None:
        import_plugins()  # allennlp-models, which has biaffine_parser
        torch.nn.functional.bilinear = bilinear

    def count(self, args: Any, folder: Path, part: str, path: str) -> numpy.ndarray:
        archive = load_archive(str(folder / "model.tar.gz"), args.cuda_device)
        predictor = Predictor.from_archive(archive, "dependency_parser")
        answers = predictor.predict_batch_instance(list(predictor._dataset_reader.read(path)))
        return tree_counts(path, answers)

    def trivial_counts(self, args: Any, files: Files) -> dict[str, Counts]:
        counts = {part: [most_frequent(files["train"], files[part])] for part in PARTS}
        return {"most frequent": counts}


def bilinear(
    first: torch.Tensor,
    second: torch.Tensor,
    weight: torch.Tensor,
    bias: torch.Tensor | None = None,
) -> torch.Tensor:
    """`torch.nn.functional.bilinear`, with a matrix product for each output, which is faster on CPUs.

    With four dimensions it is that of all pairs of heads, the second one, and dependents, the third one.
    """
    if first.dim() == 4:
        heads, dependents = first[:, :, 0], second[:, 0].transpose(1, 2)
        outputs = torch.stack([heads @ rows @ dependents for rows in weight], -1)
    else:
        outputs = torch.stack([((first @ rows) * second).sum(-1) for rows in weight], -1)
    return outputs if bias is None else outputs + bias


def tree_counts(gold: str, answers: list[dict[str, Any]]) -> numpy.ndarray:
    """The counts of each sentence, from heads and labels."""
    rows, others = [], []
    for sentence, answer in zip(read_conllu(gold), answers):
        rows.append(sentence.words)
        pairs = zip(sentence.words, answer["heads"], answer["labels"])
        others.append([(*row[:6], str(head), label, *row[8:]) for row, head, label in pairs])
    return TREES.count(rows, others).sentences


def most_frequent(train_path: str, path: str) -> numpy.ndarray:
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
        answers.append({"heads": as_tree(heads), "labels": labels})
    return tree_counts(path, answers)


def as_tree(heads: list[int]) -> list[int]:
    """The same heads as far as they make a tree: other roots, and words of a cycle, hang on the first root."""
    root = heads.index(0) + 1 if 0 in heads else 1
    heads = [0 if word == root else head or root for word, head in enumerate(heads, 1)]
    cycle = find_cycle(heads)
    while cycle:
        heads[cycle[0] - 1] = root
        cycle = find_cycle(heads)
    return heads
