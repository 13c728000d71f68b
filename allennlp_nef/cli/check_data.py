"""`allennlp-nef check-data`: checks the data of a config, or other files, before training."""

import argparse
import json
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import chain, islice
from statistics import mean, median
from typing import Any

from allennlp_nef.cli.arguments import options_of, read_config
from allennlp_nef.cli.outputs import percent, table_text
from allennlp_nef.data.files import data_paths, parse_json
from allennlp_nef.errors import DataFormatError, UserError

DETAILS = """
Reads the training, validation and test data as train would, and prints the number and lengths of sentences, the share
of each label, words and labels that do not occur in the training data, and sentences that are repeated within and
across data sets. Shares are fractions of 1. Reading stops at the first error in a file and continues with the next
file. Warns if the config needs a `min_count`.

    %(prog)s training_configs/ner_nef_f_crf_5.jsonnet
    %(prog)s training_configs/qe_nef_f.jsonnet -o '{"train_data_path": "data/train"}' --json

Instead of a config, you can give the name of a dataset reader (--reader) and set its options with --overrides:

    %(prog)s --reader conll_tags --train train.conll --test test.conll -o '{"dataset_reader.tag_column": 1}'

The exit status is 1 if there are errors in the data, and 2 for a missing file or an invalid option.
"""
SPLITS = ("train", "validation", "test")
# At most so many labels are shown, the most frequent ones.
MAX_LABELS = 20
# Warn if the training data lack more than this share of a data set's words.
MAX_UNSEEN = 0.15


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("config", metavar="CONFIG", nargs="?", help="training config")
    add("--reader", metavar="NAME", help="a dataset reader, instead of a config")
    add("--train", metavar="PATH", help="training data, instead of the config's")
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
    """Reads data as training would, and computes statistics.

    The parameters are the options of `allennlp-nef check-data`. `train`, `dev` and `test` can be any data paths of the
    reader, or the JSON of one.

    # Returns

    `dict[str, dict[str, Any]]`
        The findings for each of the `SPLITS`, as printed by --json. `errors` are the errors in the data.

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
    vocabulary = settings.get("vocabulary") or {}
    trains_unknown_words = config is None or {"min_count", "directory"} & {*vocabulary}
    splits: dict[str, Split] = {}
    results = {}
    for name, path in zip(SPLITS, (train, dev, test)):
        path = _parsed(path) or settings.get(f"{name}_data_path")
        if not path:
            continue
        key = "dataset_reader"
        if name != "train" and settings.get("validation_dataset_reader"):
            key = "validation_dataset_reader"
        split = Split(path)
        dataset_reader = DatasetReader.from_params(Params(settings).duplicate().pop(key))
        split.read(dataset_reader)
        is_unlabeled = split.keys and not split.num_labeled
        # Test data may be unlabeled, and with `tag_column: null` all data.
        if is_unlabeled and name != "test" and getattr(dataset_reader, "tag_column", 0) is not None:
            split.errors.append(f"{path}: expected labels, got none")
        results[name] = split.to_json()
        results[name]["overlap"] = {other: split.overlap(each) for other, each in splits.items()}
        if "train" in splits:
            results[name] |= split.unseen(splits["train"])
            if not trains_unknown_words:
                results[name]["warnings"] = _unknown_words(results[name]["unseen"], split.indexed)
        splits[name] = split
    if not results:
        raise UserError("expected data: --train, --dev or --test")
    return results


def _parsed(path: Any) -> Any:
    """Returns a data path, which may be JSON."""
    if not isinstance(path, str) or not path.startswith(("{", "[")):
        return path
    try:
        return parse_json(path)
    except ValueError as error:
        raise UserError(f"data path: {error}") from error


def _unknown_words(unseen: Mapping[str, Mapping[str, float]], indexed: set[str]) -> list[str]:
    """Returns warnings about fields with many unknown words, if no training word is unknown."""
    return [
        f"{percent(share['words'])}% of the words of {name} are unknown, but no training word is, so the vector of the "
        "unknown word is not trained: set vocabulary.min_count, for example to 2"
        for name, share in unseen.items()
        if name in indexed and share["words"] > MAX_UNSEEN
    ]


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
    indexed: set[str] = field(default_factory=set)
    """The text fields whose words are looked up in the vocabulary."""

    def read(self, reader: Any) -> None:
        """Reads the data, which may be several files."""
        for path in data_paths(self.path, getattr(reader, "prefix_ending", "")):
            try:
                for instance in reader.read(path):
                    self.add(instance, getattr(reader, "label_namespace", "labels"))
            except DataFormatError as error:
                self.errors.append(str(error))

    def add(self, instance: Any, label_namespace: str) -> None:
        """Counts an instance."""
        from allennlp.data.fields import SequenceLabelField, TextField
        from allennlp.data.token_indexers import SingleIdTokenIndexer

        labels: list[Any] = []
        sides = []
        for name, each in instance.items():
            if isinstance(each, TextField):
                words = [str(token) for token in each.tokens]
                self.words.setdefault(name, Counter()).update(words)
                self.lengths.setdefault(name, []).append(len(words))
                sides.append(tuple(words))
                indexers = (each._token_indexers or {}).values()
                if any(isinstance(indexer, SingleIdTokenIndexer) for indexer in indexers):
                    self.indexed.add(name)
            elif getattr(each, "_label_namespace", None) == label_namespace:
                labels += each.labels if isinstance(each, SequenceLabelField) else [each.label]
        self.labels.update(str(label) for label in labels if label is not None)
        self.num_labeled += bool(labels) or "score" in instance.fields
        self.keys.append((hash(tuple(sides)), hash(tuple(labels))))

    def to_json(self) -> dict[str, Any]:
        """Returns the statistics that do not depend on other splits."""
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
        """Counts the sentences that also occur in another split, and those that have different labels there."""
        first = dict(reversed(other.keys))
        shared = [(words, labels) for words, labels in self.keys if words in first]
        contradictory = sum(first[words] != labels for words, labels in shared)
        return {"sentences": len(shared), "contradictory": contradictory}

    def unseen(self, training: "Split") -> dict[str, Any]:
        """Returns the share of each field's words, and the labels with their counts, that the training data lack."""
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
    """Returns the report: a table with a column for each split, then the warnings and the errors."""
    columns = {name: dict(_rows(split)) for name, split in results.items()}
    names = dict.fromkeys(chain.from_iterable(columns.values()))
    table = [
        {"": name, **{split: rows.get(name, "-") for split, rows in columns.items()}}
        for name in names
    ]
    parts = [table_text(table)]
    for name, split in results.items():
        parts += [f"warning: {name}: {warning}" for warning in split.get("warnings", ())]
    parts += [f"error: {error}" for split in results.values() for error in split["errors"]]
    return "\n\n".join(parts)


def _rows(found: Mapping[str, Any], above: str = "") -> Iterator[tuple[str, str]]:
    """Yields the keys that lead to each number, as the name of a row, and the number. Lists count as their length."""
    for key, value in islice(found.items(), MAX_LABELS):
        name = above + key
        if isinstance(value, Mapping):
            yield from _rows(value, f"{name}: ")
        elif name != "path":
            yield name, f"{len(value) if isinstance(value, list) else round(value, 3):,}"
