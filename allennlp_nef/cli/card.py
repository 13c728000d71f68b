"""`allennlp-nef card`: a model card of an archive, in the form of huggingface.co."""

import argparse
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from allennlp_nef.cli.shared import call_with, check_outputs, checking, read_metrics, writing
from allennlp_nef.data.formats.data_paths import name_of
from allennlp_nef.errors import UserError, quote
from allennlp_nef.resources import archive_path, trained_models

SUMMARY = "Write a model card of an archive: scores, data, sizes, license, and how to load it."
DETAILS = """
The card is Markdown with a head in YAML, as huggingface.co reads it from a file README.md beside the model. The head
has the scores as a model index. Those of the best epoch on the validation data come from the file metrics.json beside
the archive, where there is one. Others are added with --metrics, as `evaluate --output-file` writes them.

    %(prog)s runs/ner/model.tar.gz
    %(prog)s runs/ner/model.tar.gz --metrics test=runs/ner/test_metrics.json --dataset CoNLL-2002 --language es \\
        --license mit --output runs/ner/README.md

Nothing of the archive is run.
"""

_TASKS = {
    "nef_tagger": "token-classification",
    "nef_tagger_ensemble": "token-classification",
    "arc_mlp_parser": "token-classification",
    "biaffine_parser": "token-classification",
    "basic_classifier": "text-classification",
    "sentence_pair": "text-classification",
    "tree_lstm": "text-classification",
}
"""What the hub calls the task of a model."""
_METRICS = {
    "f1-overall": "f1",
    "precision-overall": "precision",
    "recall-overall": "recall",
    "mcc": "matthews_correlation",
    "best_mcc": "matthews_correlation",
}
"""What the hub calls a metric; others have their own name there."""
_BEST = "best_validation_"
_TYPE = re.compile(r"(precision|recall|f1)-(?!overall$)")
"""The metrics of a single type of chunks or tag."""
MAX_LABELS = 50
"""So many are listed."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("archive", metavar="ARCHIVE", help="archive of a trained model, or the folder of a run")
    add("--output", metavar="FILE", help="file to write (default: the card is printed)")
    add("--name", help="name of the model (default: that of the folder of the archive)")
    add(
        "--metrics",
        nargs="+",
        metavar="SPLIT=FILE",
        help="a name such as test, and a JSON file of metrics",
    )
    add("--dataset", metavar="NAME", help="name of the data")
    add("--language", nargs="+", metavar="CODE", help="languages, such as es")
    add("--license", metavar="ID", help="license of the model as on the hub, such as mit")
    add("--json", action="store_true", help="print the facts of the card as JSON")


def run(args: argparse.Namespace) -> Iterator[str]:
    facts = call_with(card, args)
    if args.json:
        yield json.dumps(facts)
    elif args.output is None:
        yield facts["card"].rstrip("\n")
    else:
        splits = dict.fromkeys(score["split"] for score in facts["scores"])
        yield f"{args.output}: a model card, with scores of {', '.join(splits) or 'no data'}"


@checking(add_arguments)
def card(
    archive: str,
    *,
    output: str | None = None,
    name: str | None = None,
    metrics: Sequence[str] | None = None,
    dataset: str | None = None,
    language: Sequence[str] | None = None,
    license: str | None = None,
) -> dict[str, Any]:
    """
    The model card of an archive.

    The parameters are the options of `allennlp-nef card`.

    # Returns

    `dict[str, Any]`
        What the command prints as JSON: the text of the `card`, and its facts: the `name`, the `scores` (each with its
        split, metric and value), `parameters` (how many), `bytes` of the archive (None where
        there is none), `labels`, and `versions`.

    # Raises

    `UserError`: an archive or a file of metrics that cannot be used.
    """
    from huggingface_hub import EvalResult, ModelCardData

    from allennlp_nef.cli.archive_files import local_path, read_config
    from allennlp_nef.cli.check_archive import check_archive

    report = check_archive(archive)
    problems = [
        check["problem"]
        for part, check in report["checks"].items()
        if not check["passed"] and part != "files"
    ]
    if problems:
        raise UserError(f"{archive}: expected an archive of a model, got {problems[0]}")
    # A trained model of the package says more of itself, and its name stands for its archive.
    trained = {} if archive_path(archive) == archive else trained_models()[archive]
    config = read_config(archive)
    path = local_path(archive)
    folder = path if path.is_dir() else path.parent
    file = path / "model.tar.gz" if path.is_dir() else path
    given = [Path(value.partition("=")[2]) for value in metrics or ()]
    check_outputs({"output": output}, [file, folder / "metrics.json", *given])
    kind = str(config["model"].get("type"))
    facts: dict[str, Any] = {
        "name": name or (archive if trained else folder.name),
        "scores": [
            *(
                {"split": trained["split"], "metric": m, "value": v}
                for m, v in trained.get("scores", {}).items()
            ),
            *_scores(folder, metrics or ()),
        ],
        "parameters": report["numbers"],
        "bytes": file.stat().st_size if file.is_file() else None,
        "labels": report["labels"],
        "versions": report["versions"],
    }
    encoder = _encoder_of(config["model"])
    task = _TASKS.get(kind, "other")
    language, license = language or trained.get("languages"), license or trained.get("license")
    train_name = Path(name_of(config.get("train_data_path") or "None")).name
    data_name = dataset or (trained["data"].partition(" (")[0] if trained else train_name)
    head = ModelCardData(
        language=list(language) if language else None,
        license=license and license.lower(),
        library_name="allennlp",
        tags=["allennlp_nef", kind],
        base_model=encoder,
        model_name=facts["name"],
        eval_results=[
            EvalResult(
                task_type=task,
                dataset_type=data_name,
                dataset_name=data_name,
                dataset_split=score["split"],
                metric_type=_METRICS.get(score["metric"], score["metric"]),
                metric_name=score["metric"],
                metric_value=score["value"],
            )
            for score in facts["scores"]
        ]
        or None,
    )
    reference = archive if trained else file.name
    body = "\n".join(_lines(facts, reference, config, data_name, encoder, license))
    facts = {"card": f"---\n{head.to_yaml()}\n---\n\n{body}\n", **facts}
    if output is not None:
        with writing(Path(output)) as draft:
            draft.write_text(facts["card"], encoding="utf-8")
    return facts


def _scores(folder: Path, metrics: Sequence[str]) -> Iterator[dict[str, Any]]:
    """The scores of the best epoch, where the folder has them, and of each file of metrics."""
    files = [("validation", folder / "metrics.json")] if (folder / "metrics.json").exists() else []
    for value in metrics:
        split, equals, path = value.partition("=")
        if not (split and equals and path):
            raise UserError(f"--metrics: expected SPLIT=FILE, got {quote(value)}")
        files.append((split, Path(path)))
    for split, file in files:
        values = read_metrics(file)
        if split == "validation" and any(key.startswith(_BEST) for key in values):
            values = {
                key.removeprefix(_BEST): value
                for key, value in values.items()
                if key.startswith(_BEST)
            }
        for metric, value in values.items():
            is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
            if is_number and metric != "loss" and not _TYPE.match(metric):
                yield {"split": split, "metric": metric, "value": value}


def _encoder_of(config: Any) -> str | None:
    """The name of the pretrained transformer of a model; None where it has none."""
    from allennlp_nef.predictors.archives import items_of

    if isinstance(config, dict) and isinstance(config.get("model_name"), str):
        return str(config["model_name"])
    names = (_encoder_of(part) for _, part in items_of(config))
    return next((name for name in names if name is not None), None)


def _lines(
    facts: Mapping[str, Any],
    file: str,
    config: Mapping[str, Any],
    data_name: str,
    encoder: str | None,
    license_name: str | None,
) -> Iterator[str]:
    """The text of the card."""
    model, labels = config["model"], facts["labels"] or []
    versions = ", ".join(f"{name} {version}" for name, version in facts["versions"].items())
    yield f"# {facts['name']}\n"
    yield f"A model of the type `{model.get('type')}`, trained with allennlp_nef on {data_name}.\n"
    yield "## How to use it\n"
    place = ", with the archive in the current folder" if file.endswith(".gz") else ""
    yield f"Install allennlp_nef and AllenNLP as the README of allennlp_nef says. Then{place}:\n"
    yield "```python\nfrom allennlp_nef import load\n"
    yield f'predictor = load("{file}")\n```\n'
    yield f"```bash\nallennlp-nef predict {file} requests.jsonl\n```\n"
    if encoder:
        yield f"It reads with the pretrained encoder `{encoder}`.\n"
    yield "## Scores\n"
    if facts["scores"]:
        yield "| data | metric | value |\n|---|---|---|"
        for score in facts["scores"]:
            yield f"| {score['split']} | {score['metric']} | {score['value']:.4f} |"
        if any(score["split"] == "validation" for score in facts["scores"]):
            yield "\nThose of validation data are of the epoch that was chosen on them, so they are a little too good."
        yield ""
    else:
        yield "None are known.\n"
    yield "## What it is\n"
    size = "" if facts["bytes"] is None else f"; archive: {facts['bytes']:,} bytes"
    yield f"- Parameters: {facts['parameters']:,}{size}."
    for part in ("input_representation", "encoder", "decoder", "tag_head"):
        if isinstance(model.get(part), dict):
            yield f"- {part.replace('_', ' ').capitalize()}: `{model[part].get('type')}`."
    if labels:
        dots = ["..."] if len(labels) > MAX_LABELS else []
        yield f"- Labels ({len(labels)}): {', '.join([*labels[:MAX_LABELS], *dots])}."
    for title, part in (("Training", "train"), ("Validation", "validation")):
        path = config.get(f"{part}_data_path")
        if path:
            yield f"- {title} data: `{Path(name_of(path)).name}`."
    yield f"- Saved with {versions or 'versions that are not recorded'}."
    yield f"- License: {license_name or 'not stated'}.\n"
    yield "## Limits\n"
    yield "The model was trained on the data above. On other kinds of text, or in other languages, it can be much worse"
    yield "than the scores say. It predicts no other labels than those listed."
