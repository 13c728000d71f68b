"""`allennlp-nef models`: the trained models that come with the package."""

import argparse
import json
import os
from collections.abc import Iterator

from allennlp_nef.cli.shared import Column, table_text
from allennlp_nef.resources import trained_models

SUMMARY = "List the trained models that come with the package, with their scores."
DETAILS = """
Use the name of a model wherever a command takes an archive, and in `allennlp_nef.load`:

    %(prog)s
    allennlp-nef predict ner-multilingual requests.jsonl
    allennlp-nef serve qe-multilingual

Scores are percentages. A file of the same name takes precedence over a model.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--json",
        action="store_true",
        help="print JSON, which also has the path, the training data and their license, and the training command; "
        "scores are fractions of 1",
    )


def run(args: argparse.Namespace) -> Iterator[str]:
    models = trained_models()
    if args.json:
        yield json.dumps(models, indent=2)
        return
    columns: list[Column] = [
        ("name", "name", str),
        ("task", "task", str),
        ("languages", "languages", _languages),
        ("data", "data", str),
        ("scores", "scores", _scores),
        ("license", "license", str),
        ("MB", "path", lambda path: f"{os.path.getsize(path) / 1e6:.1f}"),
    ]
    yield table_text(columns, [{"name": name, **model} for name, model in models.items()])


def _languages(codes: list[str]) -> str:
    return ", ".join(codes) if len(codes) < 10 else f"{len(codes)} languages"


def _scores(scores: dict[str, float]) -> str:
    return ", ".join(f"{name} {100 * value:.1f}" for name, value in scores.items())
