"""`allennlp-nef card`: a model card for an archive, in the format of huggingface.co."""

import argparse
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from allennlp_nef.cli.shared import ARCHIVE_HELP, add_trust, is_stdout, options_of, write_text
from allennlp_nef.errors import UserError
from allennlp_nef.pretrained.multilingual_e5 import num_weights
from allennlp_nef.resources import archive_path, trained_models

SUMMARY = "Write a model card for an archive: scores, data, size, license, and how to load it."
DETAILS = """
The card is Markdown with a YAML header, the format of a model's README.md on huggingface.co. Validation scores come
from the metrics.json next to the archive. Add other scores with --metrics, from files written by `evaluate`.

    %(prog)s runs/ner/model.tar.gz
    %(prog)s runs/ner/model.tar.gz --metrics test=runs/ner/test_metrics.json --dataset CoNLL-2002 --language es \\
        --license mit --output runs/ner/README.md
"""

_TASKS = {
    "basic_classifier": "text-classification",
    "sentence_pair": "text-classification",
    "tree_lstm": "text-classification",
}
"""The hub's task names for models that are not taggers or parsers."""
_METRICS = {
    "f1-overall": "f1",
    "precision-overall": "precision",
    "recall-overall": "recall",
    "mcc": "matthews_correlation",
    "best_mcc": "matthews_correlation",
}
"""The hub's metric names, where they differ."""
_PARTS = ("pair_embedder", "encoder", "decoder", "tag_head")
_BEST = "best_validation_"
_TEMPLATE = """---
{head}
---

# {name}

A `{kind}` trained with allennlp_nef on {dataset}.

## How to use it

Install allennlp_nef and AllenNLP as described in the README of allennlp_nef. Then:

```python
from allennlp_nef import load

predictor = load("{reference}")
```

```bash
allennlp-nef predict {reference} requests.jsonl
```

## Scores

{scores}

## Details

{details}

## Limits

Expect lower scores on text of other domains or languages. The model predicts only the labels listed above.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("archive", metavar="ARCHIVE", help=ARCHIVE_HELP)
    add("--output", metavar="FILE", help="file to write (default = print the card)")
    add("--name", help="name of the model (default = the archive's folder)")
    add(
        "--metrics",
        nargs="+",
        default=[],
        metavar="SPLIT=FILE",
        help="the name of a data set, such as test, and a JSON file of metrics",
    )
    add("--dataset", metavar="NAME", help="name of the training data")
    add("--language", nargs="+", metavar="CODE", help="language codes, such as es")
    add("--license", metavar="ID", help="Hugging Face license ID, such as mit")
    add_trust(parser)


def run(args: argparse.Namespace) -> Iterator[str]:
    metrics = dict(map(_split_and_path, args.metrics))
    text = card(**{**options_of(args, card), "metrics": metrics})
    if args.output is None or is_stdout(args.output):
        yield text.rstrip("\n")
    else:
        write_text(Path(args.output), text)
        yield args.output


def _split_and_path(value: str) -> tuple[str, str]:
    split, equals, path = value.partition("=")
    if not (split and path):
        raise UserError(f"--metrics: expected SPLIT=FILE, got {value!r}")
    return split, path


def card(
    archive: str,
    *,
    name: str | None = None,
    metrics: Mapping[str, str] = {},
    dataset: str | None = None,
    language: Sequence[str] | None = None,
    license: str | None = None,
    trust: bool = False,
) -> str:
    """Returns an archive's model card, as Markdown with a YAML header.

    The parameters are the options of `allennlp-nef card`; `metrics` maps data set names to metrics files, such as
    `{"test": "test_metrics.json"}`.
    """
    from huggingface_hub import EvalResult, ModelCardData

    from allennlp_nef.archives import load_archive_safely

    path = Path(archive_path(archive))
    packaged = trained_models()[archive] if str(path) != archive else {}
    folder, file = (path, path / "model.tar.gz") if path.is_dir() else (path.parent, path)
    loaded = load_archive_safely(archive, trust=trust)
    config = loaded.config.as_dict(quiet=True)
    kind = config["model"]["type"]
    name = name or (archive if packaged else folder.resolve().name)
    dataset = dataset or packaged.get("data") or ", ".join(_names(config.get("train_data_path")))
    license = license or packaged.get("license")
    scores = [(packaged["split"], *score) for score in packaged.get("scores", {}).items()]
    own = {"validation": str(folder / "metrics.json")} if (folder / "metrics.json").exists() else {}
    for split, metrics_file in {**own, **metrics}.items():
        scores += [(split, *score) for score in _scores(Path(metrics_file)).items()]
    head = ModelCardData(
        language=list(language or packaged.get("languages", [])) or None,
        license=license and license.lower(),
        library_name="allennlp",
        tags=["allennlp_nef", kind],
        model_name=name,
        eval_results=[
            EvalResult(
                task_type=_TASKS.get(kind, "token-classification"),
                dataset_type=dataset,
                dataset_name=dataset,
                dataset_split=split,
                metric_type=_METRICS.get(metric, metric),
                metric_name=metric,
                metric_value=value,
            )
            for split, metric, value in scores
        ]
        or None,
    )
    parts = ((part, config["model"].get(part)) for part in _PARTS)
    labels = list(loaded.model.vocab.get_token_to_index_vocabulary("labels"))
    size = f"; archive: {file.stat().st_size / 1e6:.1f} MB" if file.is_file() else ""
    details = [
        f"Parameters: {num_weights(loaded.model):,}{size}.",
        *(
            f"{part.replace('_', ' ').capitalize()}: `{each['type']}`."
            for part, each in parts
            if isinstance(each, dict) and "type" in each
        ),
        *([f"Labels ({len(labels)}): {', '.join(labels)}."] if labels else []),
        f"License: {license or 'not stated'}.",
    ]
    text = _TEMPLATE.format(
        head=head,
        name=name,
        kind=kind,
        dataset=dataset,
        reference=archive if packaged else file.name,
        scores=_table(scores),
        details="\n".join(f"- {line}" for line in details),
    )
    if packaged:
        text += "\n" + path.with_name(f"{archive}.md").read_text("utf-8")
    return text


def _names(path: Any) -> list[str]:
    """Returns the file names in a data path, which may be a list or an object."""
    if not isinstance(path, list | dict):
        return [Path(str(path)).name]
    parts = path.values() if isinstance(path, dict) else path
    return [name for part in parts for name in _names(part)]


def _scores(path: Path) -> dict[str, float]:
    """Returns the scores in a metrics file, those of the best epoch if given. Per-type scores are left out."""
    values = json.loads(path.read_text(encoding="utf-8"))
    best = {key.removeprefix(_BEST): values[key] for key in values if key.startswith(_BEST)}
    return {
        metric: value
        for metric, value in (best or values).items()
        if isinstance(value, (int, float))
        and metric != "loss"
        and (metric.endswith("-overall") or "-" not in metric)
    }


def _table(scores: Sequence[tuple[str, str, float]]) -> str:
    """Returns the scores as a Markdown table: data, metric and value."""
    if not scores:
        return "No scores are known."
    lines = [f"| {split} | {metric} | {value:.4f} |" for split, metric, value in scores]
    if any(split == "validation" for split, _, _ in scores):
        note = "Validation scores are slightly optimistic: the epoch was selected on the same data."
        lines += ["", note]
    return "\n".join(["| data | metric | value |", "|---|---|---|", *lines])
