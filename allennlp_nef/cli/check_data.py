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
    add("--dev", metavar="PATH", dest="validation", help="validation data, likewise")
    add("--test", metavar="PATH", help="test data, likewise")
    add(
        "-o",
        "--overrides",
        default="",
        metavar="JSON",
        help="changes to the config, as for train",
    )
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
    validation: str | None = None,
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
    train, validation, test : `str`
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
    from allennlp_nef.cli.data_statistics import splits_of, training_needs

    given = {"train": train, "validation": validation, "test": test}
    params, splits = splits_of(config, reader, given, overrides)
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


def as_text(results: dict[str, Any]) -> str:
    """The report: a table with a column for each split, then what is in no table."""
    data = results["data"]
    rows = [("", list(data)), *_rows(data)]
    lines = [*_table(rows), ""]
    if any(split["labels"] for split in data.values()):
        lines += [*_table(_labels(data)), ""]
    for name, split in data.items():
        lines += [
            f"{name}: {_quoted_path(split['path'])}",
            *(f"  {line}" for line in _notes(split)),
            "",
        ]
    used = [name for name in ("train", "validation") if name in data]
    return "\n".join([*lines, *_needs(results["training"], used)]).rstrip()


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
    def row(title: str, value: Callable[[dict[str, Any]], str | None]) -> Row:
        return title, [value(split) for split in data.values()]

    yield row("sentences", lambda split: _number(split["sentences"]))
    if any(split["left_out_sentences"] for split in data.values()):
        yield row("  too long for training", lambda split: _number(split["left_out_sentences"]))
    yield row("tokens", lambda split: _number(split["tokens"]))
    yield row("tokens a sentence: mean", lambda split: f"{split['lengths']['mean']:.1f}")
    for title, name in (
        ("median", "median"),
        ("90%", "quantile_90"),
        ("99%", "quantile_99"),
        ("longest", "longest"),
    ):
        yield row(f"  {title}", lambda split, name=name: _number(split["lengths"][name]))  # type: ignore[misc]
    sides = list(dict.fromkeys(side for split in data.values() for side in split["words"]))
    for side in sides:
        name = "words" if side == "words" else f"{side} words"
        counts = [split["words"].get(side, {}) for split in data.values()]
        unseen = [split.get("unseen", {}).get(side, {}) for split in data.values()]
        yield f"different {name}", [_number(each.get("different_words")) for each in counts]
        yield "  not in train", [_share(each.get("different_words")) for each in unseen]
        yield f"{name} not in train", [_share(each.get("words")) for each in unseen]
    yield row("words without alignment", lambda split: _share(split.get("unaligned_words")))
    yield row("chunks", lambda split: _number(split.get("chunks", {}).get("count")))
    yield row("  ill-formed", lambda split: _number(split.get("chunks", {}).get("ill_formed")))
    yield from _repeated(data)
    yield row("errors", lambda split: _number(split["errors"]["count"]))


def _repeated(data: Data) -> Iterator[Row]:
    """Sentences that occur again: in their split, and in those before it."""
    found = [("that occur again", [split["repeated"] for split in data.values()])]
    for other in data:
        found.append((f"also in {other}", [split["overlap"].get(other) for split in data.values()]))
    for title, counts in found:
        for name, text, shown in (
            ("sentences", f"sentences {title}", _number),
            ("share_of_tokens", "  share of all tokens", _share),
            ("contradictory", "  with other labels", _number),
            ("sources", f"source sentences {title}", _number),
        ):
            yield text, [shown((count or {}).get(name)) for count in counts]


def _labels(data: Data) -> list[Row]:
    """The share of each label, the most frequent ones of the first split first."""
    names = list(dict.fromkeys(label for split in data.values() for label in split["labels"]))
    rows: list[Row] = [(f"labels: {len(names)}", list(data))]
    for name in names[:MAX_LABELS]:
        rows.append((f"  {name}", [_share(split["labels"].get(name)) for split in data.values()]))
    if len(names) > MAX_LABELS:
        rest = names[MAX_LABELS:]
        shares = [sum(split["labels"].get(name, 0) for name in rest) for split in data.values()]
        rows.append((f"  {len(rest)} others", [_share(share) for share in shares]))
    return rows


def _notes(split: dict[str, Any]) -> Iterator[str]:
    """What is in no table of a split."""
    for file in split["files"]:
        marks = [
            text
            for name, text in (
                ("byte_order_mark", "a byte order mark"),
                ("crlf", "lines that end in CRLF"),
            )
            if file[name]
        ]
        if marks:
            yield f"{file['path']} has {' and '.join(marks)}"
    if split["lengths"]["longest_place"]:
        yield f"longest sentence: {split['lengths']['longest_place']}"
    missing = split["sentences"] - split["labeled_sentences"]
    if missing:
        yield f"unlabeled sentences: {missing:,}"
    if split.get("unseen_labels"):
        labels = split["unseen_labels"]
        shown = ", ".join(
            f"{label} ({count:,})" for label, count in list(labels.items())[:MAX_LABELS]
        )
        yield f"labels that train lacks: {len(labels):,}: {shown}{', ...' if len(labels) > MAX_LABELS else ''}"
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


def _needs(training: dict[str, Any], used: Sequence[str]) -> Iterator[str]:
    steps = training["steps"]
    if steps:
        yield (
            f"training: {steps['batches']:,} batches an epoch with {steps['padding']:.1%} of padding; "
            f"{steps['epochs']:,} epochs are {steps['steps']:,} steps"
        )
    if used:
        yield f"memory of the instances of {' and '.join(used)}: about {training['memory'] / 2**20:,.0f} MiB"


def _quoted_path(path: Any) -> str:
    return ", ".join(map(str, path.values())) if isinstance(path, dict) else str(path)


def _number(value: int | None) -> str | None:
    return None if value is None else f"{value:,}"


def _share(value: float | None) -> str | None:
    return None if value is None else f"{value:.2%}"
