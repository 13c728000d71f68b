"""`allennlp-nef check-data`: the data of a config, or other files, before a training."""

import argparse
import json
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from allennlp_nef.cli.shared import call_with, checking, integer
from allennlp_nef.errors import DataCheckError

SUMMARY = "Check the data of a config, or other files, before a training."
DETAILS = """
Reads the training, validation and test data as a training would, goes on after sentences with errors, and prints what
it finds: numbers and lengths of sentences, the share of each label, words and labels that the training data lack,
chunks that begin with I-, words without alignments, sentences that occur again within and across the data, odd
characters, and the number of batches and the memory that a training needs.

    %(prog)s training_configs/ner_nef_f_crf_5.jsonnet
    %(prog)s training_configs/qe_nef_f.jsonnet -o '{"train_data_path": "data/train"}' --json

Without a config, --reader names the reader, and --overrides sets its options:

    %(prog)s --reader conll_tags --train train.conll --test test.conll -o '{"dataset_reader.tag_column": 1}'

The exit status is 1 where a sentence cannot be read, and 2 where a file is missing or an option is wrong.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("config", metavar="CONFIG", nargs="?", help="config of a training")
    add("--reader", metavar="NAME", help="in place of a config: the dataset reader")
    add("--train", metavar="PATH", help="training data, in place of those of the config")
    add("--dev", metavar="PATH", help="validation data, likewise")
    add("--test", metavar="PATH", help="test data, likewise")
    add("-o", "--overrides", default="", metavar="JSON", help="changes to the config, as for train")
    add(
        "--max-errors",
        type=integer(1),
        default=20,
        metavar="N",
        help="how many errors are shown; all are counted",
    )
    add("--json", action="store_true", help="print JSON instead of tables")


def run(args: argparse.Namespace) -> Iterator[str]:
    """Yields the report. Raises `DataCheckError`, after it, where there are errors in data."""
    results = call_with(check_data, args)
    yield json.dumps(results, indent=2) if args.json else as_text(results)
    number = sum(split["errors"]["count"] for split in results["data"].values())
    if number:
        raise DataCheckError(
            f"expected data without errors, got {number} error{'s' * (number > 1)}"
        )


@checking(add_arguments)
def check_data(
    config: str | None = None,
    *,
    reader: str | None = None,
    train: str | None = None,
    dev: str | None = None,
    test: str | None = None,
    overrides: str = "",
    max_errors: int = 20,
) -> dict[str, Any]:
    """
    Reads data as a training would, and goes on after sentences with errors.

    # Parameters

    config : `str`
        The path of a config.
    reader : `str`
        In place of a config: the registered name of a dataset reader.
    train, dev, test : `str`
        Data in place of those of the config.
    overrides : `str`
        Changes to the config, as for `train`.
    max_errors : `int`, optional (default = `20`)
        How many errors of each split are told; all are counted.

    # Returns

    `dict[str, Any]`
        What the command prints as JSON: `data`, what was found in each split, and what a `training` needs.

    # Raises

    `UserError`: a wrong option or config, a file that is missing.
    """
    from allennlp_nef.cli.data_statistics import check_training, splits_of, training_needs

    given = {"train": train, "validation": dev, "test": test}
    params, splits = splits_of(config, reader, given, overrides)
    check_training(params)
    for split in splits:
        split.read(max_errors)
    training = next((split for split in splits if split.name == "train"), None)
    data = {
        split.name: split.as_json(training, splits[:number]) for number, split in enumerate(splits)
    }
    return {"data": data, "training": training_needs(params, splits)}


MAX_LABELS = 20
"""The most frequent labels, which are shown."""
Data = dict[str, dict[str, Any]]
Row = tuple[str, list[str | None]]
"""A title and a value for each split; None where there is none."""


def _number(value: int | None) -> str | None:
    return None if value is None else f"{value:,}"


def _share(value: float | None) -> str | None:
    return None if value is None else f"{value:.2%}"


def as_text(results: dict[str, Any]) -> str:
    """The report: a table with a column for each split, then what is in no table."""
    data, training = results["data"], results["training"]
    lines = [*_table([("", list(data)), *_rows(data)]), ""]
    if any(split["labels"] for split in data.values()):
        lines += [*_table(_labels(data)), ""]
    for name, split in data.items():
        path = split["path"]
        files = ", ".join(map(str, path.values())) if isinstance(path, dict) else path
        lines += [f"{name}: {files}", *(f"  {line}" for line in _notes(split)), ""]
    steps = training["steps"]
    if steps:
        lines.append(
            f"training: {steps['batches']:,} batches an epoch with {steps['padding']:.1%} of padding; "
            f"{steps['epochs']:,} epochs are {steps['steps']:,} steps"
        )
    used = [name for name in ("train", "validation") if name in data]
    if used:
        memory = f"about {training['memory'] / 2**20:,.0f} MiB"
        lines.append(f"memory of the instances of {' and '.join(used)}: {memory}")
    return "\n".join(lines).rstrip()


def _table(rows: Sequence[Row]) -> list[str]:
    """Lines of aligned columns, without the rows that have no value."""
    rows = [row for row in rows if any(value is not None for value in row[1])]
    title = max(len(name) for name, _ in rows)
    width = max(len(value or "") for _, values in rows for value in values) + 2
    return [
        f"{name:<{title}}" + "".join(f"{value or '-':>{width}}" for value in values)
        for name, values in rows
    ]


def _rows(data: Data) -> Iterator[Row]:
    def row(title: str, *keys: str, write: Callable[[Any], str | None] = _number) -> Row:
        """The values at the keys, one inside the other."""
        values: list[Any] = list(data.values())
        for key in keys:
            values = [(value or {}).get(key) for value in values]
        return title, list(map(write, values))

    yield row("sentences", "sentences")
    if any(split["left_out_sentences"] for split in data.values()):
        yield row("  too long for training", "left_out_sentences")
    yield row("tokens", "tokens")
    yield row("tokens a sentence: mean", "lengths", "mean", write="{:.1f}".format)
    yield row("  median", "lengths", "median")
    yield row("  90%", "lengths", "quantile_90")
    yield row("  99%", "lengths", "quantile_99")
    yield row("  longest", "lengths", "longest")
    for side in dict.fromkeys(side for split in data.values() for side in split["words"]):
        name = "words" if side == "words" else f"{side} words"
        yield row(f"different {name}", "words", side, "different_words")
        yield row("  not in train", "unseen", side, "different_words", write=_share)
        yield row(f"{name} not in train", "unseen", side, "words", write=_share)
    yield row("words without alignment", "unaligned_words", write=_share)
    yield row("chunks", "chunks", "count")
    yield row("  ill-formed", "chunks", "ill_formed")
    # Sentences that occur again: in their split, and in those before it.
    places = [("that occur again", ["repeated"])]
    places += [(f"also in {other}", ["overlap", other]) for other in data]
    for title, keys in places:
        yield row(f"sentences {title}", *keys, "sentences")
        yield row("  share of all tokens", *keys, "share_of_tokens", write=_share)
        yield row("  with other labels", *keys, "contradictory")
        yield row(f"source sentences {title}", *keys, "sources")
    yield row("errors", "errors", "count")


def _labels(data: Data) -> list[Row]:
    """The share of each label, the most frequent ones of the first split first."""
    names = list(dict.fromkeys(label for split in data.values() for label in split["labels"]))
    rows: list[Row] = [(f"labels: {len(names)}", list(data))]
    for name in names[:MAX_LABELS]:
        rows.append((f"  {name}", [_share(split["labels"].get(name)) for split in data.values()]))
    if len(names) > MAX_LABELS:
        others = names[MAX_LABELS:]
        shares = [sum(split["labels"].get(name, 0) for name in others) for split in data.values()]
        rows.append((f"  {len(others)} others", list(map(_share, shares))))
    return rows


def _notes(split: dict[str, Any]) -> Iterator[str]:
    """What is in no table of a split."""
    marks = {"byte_order_mark": "a byte order mark", "crlf": "lines that end in CRLF"}
    for file in split["files"]:
        texts = [text for name, text in marks.items() if file[name]]
        if texts:
            yield f"{file['path']} has {' and '.join(texts)}"
    if split["lengths"]["longest_place"]:
        yield f"longest sentence: {split['lengths']['longest_place']}"
    missing = split["sentences"] - split["labeled_sentences"]
    if missing:
        yield f"unlabeled sentences: {missing:,}"
    if split.get("unseen_labels"):
        labels = [f"{label} ({count:,})" for label, count in split["unseen_labels"].items()]
        dots = ["..."] if len(labels) > MAX_LABELS else []
        shown = ", ".join([*labels[:MAX_LABELS], *dots])
        yield f"labels that train lacks: {len(labels):,}: {shown}"
    if "chunks" in split:
        chunks = split["chunks"]
        first = (
            f"; tags that do not fit it: {chunks['ill_formed']:,}, the first in {chunks['first']}"
        )
        yield f"chunk tags: {chunks['scheme']}{first if chunks['ill_formed'] else ''}"
    for name, odd in split["odd_characters"].items():
        yield f"{name}: {odd['count']:,}, the first in {odd['first']}"
    if split["sentences_not_in_nfc"]:
        yield f"sentences with letters that are not in NFC: {split['sentences_not_in_nfc']:,}"
    for warning in split["warnings"]:
        yield f"warning: {warning}"
    errors = split["errors"]
    for error in errors["first"]:
        yield f"error: {error}"
    if errors["count"] > len(errors["first"]):
        yield f"errors that are not shown (see --max-errors): {errors['count'] - len(errors['first']):,}"
