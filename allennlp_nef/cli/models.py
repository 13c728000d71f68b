"""`allennlp-nef models`: the trained models that come with the package."""

import argparse
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from allennlp_nef.cli.outputs import table_text
from allennlp_nef.errors import UserError
from allennlp_nef.resources import trained_models

DETAILS = """
Use the name of a model wherever a command takes an archive, and in `allennlp_nef.load`. With NAME, prints the
languages, scores, training data and known weaknesses of a model:

    %(prog)s
    %(prog)s qe-multilingual
    allennlp-nef predict ner-multilingual requests.jsonl
    allennlp-nef serve qe-multilingual

Scores are percentages. A file of the same name takes precedence over a model.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", nargs="?", metavar="NAME", help="name of a model")
    parser.add_argument(
        "--json",
        action="store_true",
        help="print JSON, which also has the path, the training data and their license, and the training command; "
        "scores are fractions of 1",
    )


def run(args: argparse.Namespace) -> Iterator[str]:
    models = trained_models()
    if args.name is not None and args.name not in models:
        raise UserError(f"{args.name}: expected one of {', '.join(models)}")
    if args.json:
        yield json.dumps(models[args.name] if args.name else models, indent=2)
    elif args.name:
        yield description(args.name, models[args.name])
    else:
        yield table_text([_row(name, model) for name, model in models.items()])


def description(name: str, model: dict[str, Any]) -> str:
    """Returns what is known about a model, as Markdown: see `trained_models` for its fields."""
    return f"""# {name}

- Task: {model["task"]}
- Languages: {", ".join(model["languages"])}
- Data: {model["data"]}
- Scores on the {model["split"]} set: {_scores(model["scores"])}
- License: {model["license"]}
- Trained by: `{model["command"]}`

{Path(model["path"].removesuffix(".tar.gz") + ".md").read_text("utf-8").strip()}"""


def _row(name: str, model: dict[str, Any]) -> dict[str, str]:
    codes = model["languages"]
    return {
        "name": name,
        "task": model["task"],
        "languages": ", ".join(codes) if len(codes) < 10 else f"{len(codes)} languages",
        "data": model["data"],
        "scores": _scores(model["scores"]),
        "license": model["license"],
        "MB": f"{os.path.getsize(model['path']) / 1e6:.1f}",
    }


def _scores(scores: dict[str, float]) -> str:
    return ", ".join(f"{name} {100 * value:.1f}" for name, value in scores.items())
