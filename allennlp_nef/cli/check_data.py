"""`allennlp-nef check-data`: checks the data of a config, or other files, before training."""

import argparse
import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from statistics import mean, median
from typing import Any

from allennlp_nef.cli.shared import Column, options_of, percent, read_config, table_text
from allennlp_nef.data.text_files import data_paths
from allennlp_nef.errors import DataFormatError, UserError, quote

SUMMARY = "Check the data of a config, or other files, before training."
DETAILS = """
Reads the training, validation and test data as train would, and prints the number and lengths of sentences, the share
of each label, words and labels that do not occur in the training data, and sentences that are repeated within and
across data sets. Reading stops at the first error in a file and continues with the next file.

    %(prog)s training_configs/ner_nef_f_crf_5.jsonnet
    %(prog)s training_configs/qe_nef_f.jsonnet -o '{"train_data_path": "data/train"}' --json

Instead of a config, you can give the name of a dataset reader (--reader) and set its options with --overrides:

    %(prog)s --reader conll_tags --train train.conll --test test.conll -o '{"dataset_reader.tag_column": 1}'

The exit status is 1 if there are errors in the data, and 2 for a missing file or an invalid option.
"""
SPLITS = ("train", "validation", "test")
# The most frequent labels are shown.
MAX_LABELS = 20


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("config", metavar="CONFIG", nargs="?", help="training config")
    add("--reader", metavar="NAME", help="a dataset reader, instead of a config")
    add("--train", metavar="PATH", help="training data, instead of those of the config")
    add("--dev", metavar="PATH", help="validation data")
    add("--test", metavar="PATH", help="test data")
    add("-o", "--overrides", default="", metavar="JSON", help="changes to the config, as in train")
    add("--json", action="store_true", help="print JSON instead of tables")


def run(args: argparse.Namespace) -> Iterator[str]:
    results = check_data(**options_of(args, check_data))
    yield json.dumps(results, indent=2) if args.json else as_text(results)
    if any(split["errors"] for split in results.values()):
        raise SystemExit(1)


def check_data(
    config: str | None = None,
    *,
    reader: str | None = None,
    train: Any = None,
    dev: Any = None,
    test: Any = None,
    overrides: str = "",
) -> dict[str, dict[str, Any]]:
    """
    Reads data as training would and counts what is in them.

    # Parameters

    config : `str`, optional (default = `None`)
        The path of a config.
    reader : `str`, optional (default = `None`)
        The registered name of a dataset reader, instead of a config.
    train, dev, test : optional (default = `None`, the data of the config)
        Data paths of the reader; a string can be the JSON of one.
    overrides : `str`, optional (default = `""`)
        Changes to the config, as for `allennlp train`.

    # Returns

    `dict[str, dict[str, Any]]`
        What was found in each of the `SPLITS`, as printed by the option --json. `errors` are the errors in the data.

    # Raises

    `UserError`: an invalid option. `ConfigurationError`: an invalid option of the reader. `OSError`: a missing file.
    """
    from allennlp.common import Params
    from allennlp.common.params import parse_overrides, with_overrides
    from allennlp.data import DatasetReader

    if (config is None) == (reader is None):
        raise UserError("expected either a config or --reader")
    if config is not None:
        settings = read_config(config, overrides)
    else:
        settings = with_overrides({"dataset_reader": {"type": reader}}, parse_overrides(overrides))
    paths = {}
    for name, path in zip(SPLITS, (train, dev, test)):
        if isinstance(path, str) and path.startswith(("{", "[")):
            try:
                path = json.loads(path)
            except (ValueError, RecursionError) as error:
                raise UserError(
                    f"{name} data: expected a data path or its JSON, got {quote(path)} ({error})"
                ) from error
        path = path or settings.get(f"{name}_data_path")
        if path:
            paths[name] = path
    if not paths:
        raise UserError("expected data: --train, --dev or --test")
    splits: dict[str, Split] = {}
    for name, path in paths.items():
        key = "dataset_reader"
        if name != "train" and settings.get("validation_dataset_reader"):
            key = "validation_dataset_reader"
        splits[name] = Split(path)
        splits[name].read(DatasetReader.from_params(Params(settings).duplicate().pop(key)))
    results = {}
    for number, (name, split) in enumerate(splits.items()):
        results[name] = split.to_json()
        others = list(splits.items())[:number]
        results[name]["overlap"] = {other: split.overlap(before) for other, before in others}
        if name != "train" and "train" in splits:
            results[name] |= split.unseen(splits["train"])
    return results


@dataclass
class Split:
    """The statistics of the training, validation or test data."""

    path: Any
    errors: list[str] = field(default_factory=list)
    labels: Counter[str] = field(default_factory=Counter)
    words: dict[str, Counter[str]] = field(default_factory=dict)
    """The words of each text field."""
    lengths: dict[str, list[int]] = field(default_factory=dict)
    """The numbers of words in each sentence."""
    keys: list[tuple[int, int]] = field(default_factory=list)
    """The hashes of the words and of the labels of each sentence."""
    num_labeled: int = 0

    def read(self, reader: Any) -> None:
        """Reads the data; if they are several files, each of them."""
        for path in data_paths(self.path, getattr(reader, "prefix_ending", "")):
            try:
                for instance in reader.read(path):
                    self.add(instance, getattr(reader, "label_namespace", "labels"))
            except DataFormatError as error:
                self.errors.append(str(error))

    def add(self, instance: Any, label_namespace: str) -> None:
        """Counts an instance."""
        from allennlp.data.fields import SequenceLabelField, TextField

        labels: list[Any] = []
        sides = []
        for name, each in instance.items():
            if isinstance(each, TextField):
                words = [str(token) for token in each.tokens]
                self.words.setdefault(name, Counter()).update(words)
                self.lengths.setdefault(name, []).append(len(words))
                sides.append(tuple(words))
            elif getattr(each, "_label_namespace", None) == label_namespace:
                labels += each.labels if isinstance(each, SequenceLabelField) else [each.label]
        self.labels.update(str(label) for label in labels if label is not None)
        self.num_labeled += bool(labels) or "score" in instance.fields
        self.keys.append((hash(tuple(sides)), hash(tuple(labels))))

    def to_json(self) -> dict[str, Any]:
        """The statistics that need no other split."""
        first = dict(reversed(self.keys))
        repeated = len(self.keys) - len(first)
        contradictory = sum(first[words] != labels for words, labels in self.keys)
        return {
            "path": self.path,
            "sentences": len(self.keys),
            "labeled_sentences": self.num_labeled,
            "words": {
                name: {
                    "words": sum(lengths),
                    "different_words": len(self.words[name]),
                    "mean_length": mean(lengths),
                    "median_length": median(lengths),
                    "max_length": max(lengths),
                }
                for name, lengths in self.lengths.items()
            },
            "labels": {
                label: count / self.labels.total() for label, count in self.labels.most_common()
            },
            "repeated": {"sentences": repeated, "contradictory": contradictory},
            "errors": self.errors,
        }

    def overlap(self, other: "Split") -> dict[str, int]:
        """The number of sentences that also occur in another split; how many of them have other labels there."""
        first = dict(reversed(other.keys))
        shared = [(words, labels) for words, labels in self.keys if words in first]
        contradictory = sum(first[words] != labels for words, labels in shared)
        return {"sentences": len(shared), "contradictory": contradictory}

    def unseen(self, training: "Split") -> dict[str, Any]:
        """The share of the words of each field, and the labels with their numbers, that the training data lack."""
        shares = {}
        for name, words in self.words.items():
            known = training.words.get(name, Counter())
            unseen = {word: count for word, count in words.items() if word not in known}
            shares[name] = {
                "words": sum(unseen.values()) / words.total(),
                "different_words": len(unseen) / len(words),
            }
        labels = {each: n for each, n in self.labels.items() if each not in training.labels}
        return {"unseen": shares, "unseen_labels": labels}


def as_text(results: Mapping[str, Mapping[str, Any]]) -> str:
    """The report: a table with a column for each split, then the errors."""
    columns: list[Column] = [("", "title", str)]
    columns += [(name, name, str) for name in results]
    rows: list[dict[str, Any]] = []

    def add(title: str, *keys: str, write: Callable[[Any], str] = "{:,}".format) -> None:
        """Adds a row with the values at the keys, one inside the other; "-" for a split that has no such value."""
        cells = {}
        for name, value in results.items():
            found: Any = value
            for key in keys:
                found = (found or {}).get(key)
            cells[name] = "-" if found is None else write(found)
        if set(cells.values()) != {"-"}:
            rows.append({"title": title, **cells})

    add("sentences", "sentences")
    add("labeled sentences", "labeled_sentences")
    for side in dict.fromkeys(side for split in results.values() for side in split["words"]):
        add(f"{side}: words", "words", side, "words")
        add("  words per sentence, mean", "words", side, "mean_length", write="{:.1f}".format)
        add("  median", "words", side, "median_length")
        add("  maximum", "words", side, "max_length")
        add("  % not in the training data", "unseen", side, "words", write=percent)
        add("  different words", "words", side, "different_words")
        add("  % not in the training data", "unseen", side, "different_words", write=percent)
    for title, keys in [
        ("repeated sentences", ["repeated"]),
        *((f"sentences also in {other}", ["overlap", other]) for other in SPLITS),
    ]:
        add(title, *keys, "sentences")
        add("  with other labels", *keys, "contradictory")
    add("errors", "errors", write=lambda errors: str(len(errors)))
    parts = [table_text(columns, rows)]
    labels = list(dict.fromkeys(label for split in results.values() for label in split["labels"]))
    if labels:
        rows = []
        for label in labels[:MAX_LABELS]:
            add(label, "labels", label, write=percent)
        title = f"labels: {len(labels)} (%)"
        parts.append(table_text([(title, "title", str), *columns[1:]], rows))
    for name, split in results.items():
        unseen = split.get("unseen_labels")
        if unseen:
            names = ", ".join(list(unseen)[:MAX_LABELS])
            parts.append(f"{name}: {len(unseen)} labels do not occur in the training data: {names}")
    parts += [f"error: {error}" for split in results.values() for error in split["errors"]]
    return "\n\n".join(parts)
