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
from the metrics.json beside the archive. Add other scores with --metrics, in files that `evaluate --output-file` wrote.

    %(prog)s runs/ner/model.tar.gz
    %(prog)s runs/ner/model.tar.gz --metrics test=runs/ner/test_metrics.json --dataset CoNLL-2002 --language es \\
        --license mit --output runs/ner/README.md
"""

_TASKS = {
    "basic_classifier": "text-classification",
    "sentence_pair": "text-classification",
    "tree_lstm": "text-classification",
}
"""The hub's names of the tasks of models that are not taggers or parsers."""
_METRICS = {
    "f1-overall": "f1",
    "precision-overall": "precision",
    "recall-overall": "recall",
    "mcc": "matthews_correlation",
    "best_mcc": "matthews_correlation",
}
"""The hub's names of metrics, where they differ."""
_BEST = "best_validation_"
_TEMPLATE = """---
{{ card_data }}
---

# {{ name }}

A `{{ kind }}` trained with allennlp_nef on {{ dataset }}.

## How to use it

Install allennlp_nef and AllenNLP as described in the README of allennlp_nef. Then:

```python
from allennlp_nef import load

predictor = load("{{ reference }}")
```

```bash
allennlp-nef predict {{ reference }} requests.jsonl
```

## Scores
{% if scores %}
| data | metric | value |
|---|---|---|
{% for score in scores -%}
| {{ score.split }} | {{ score.metric }} | {{ '%.4f' % score.value }} |
{% endfor -%}
{% if has_validation %}
Validation scores are slightly optimistic: the epoch was selected on the same data.
{% endif -%}
{% else %}
No scores are known.
{% endif %}
## Details

- Parameters: {{ '{:,}'.format(parameters) }}{% if bytes %}; archive: {{ '{:,}'.format(bytes) }} bytes{% endif %}.
{%- for part, type in parts.items() %}
- {{ part }}: `{{ type }}`.
{%- endfor %}
{%- if labels %}
- Labels ({{ labels | length }}): {{ labels | join(', ') }}.
{%- endif %}
- License: {{ license or 'not stated' }}.

## Limits

Expect lower scores on text of other domains or languages. The model predicts only the labels listed above.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("archive", metavar="ARCHIVE", help=ARCHIVE_HELP)
    add("--output", metavar="FILE", help="file to write (default = print the card)")
    add("--name", help="name of the model (default = the folder of the archive)")
    add(
        "--metrics",
        nargs="+",
        default=[],
        metavar="SPLIT=FILE",
        help="the name of a data set, such as test, and a JSON file of metrics",
    )
    add("--dataset", metavar="NAME", help="name of the training data")
    add("--language", nargs="+", metavar="CODE", help="languages, such as es")
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
    """The model card of an archive, as Markdown with a YAML header.

    # Parameters

    archive : `str`
        An archive, the folder of a run, or the name of a trained model of this package.
    name, dataset, language, license
        See the options of `allennlp-nef card`.
    metrics : `Mapping[str, str]`
        JSON files of metrics by the names of their data, such as `{"test": "test_metrics.json"}`.
    trust : `bool`
        Skips the safety checks of the archive.
    """
    from huggingface_hub import EvalResult, ModelCard, ModelCardData

    from allennlp_nef.predictors.archives import load_archive_safely

    path = Path(archive_path(archive))
    trained = trained_models().get(archive, {}) if str(path) != archive else {}
    folder, file = (path, path / "model.tar.gz") if path.is_dir() else (path.parent, path)
    loaded = load_archive_safely(archive, trust=trust)
    config = loaded.config.as_dict(quiet=True)
    kind = str(config["model"]["type"])
    name = name or (archive if trained else folder.resolve().name)
    dataset = dataset or trained.get("data") or Path(str(config.get("train_data_path"))).name
    scores = [
        {"split": trained["split"], "metric": metric, "value": value}
        for metric, value in trained.get("scores", {}).items()
    ]
    files = (
        {"validation": str(folder / "metrics.json")} if (folder / "metrics.json").exists() else {}
    )
    for split, metrics_file in {**files, **metrics}.items():
        scores += _scores(split, json.loads(Path(metrics_file).read_text(encoding="utf-8")))
    head = ModelCardData(
        language=list(language or trained.get("languages", [])) or None,
        license=(license or trained.get("license", "")).lower() or None,
        library_name="allennlp",
        tags=["allennlp_nef", kind],
        model_name=name,
        eval_results=[
            EvalResult(
                task_type=_TASKS.get(kind, "token-classification"),
                dataset_type=dataset,
                dataset_name=dataset,
                dataset_split=score["split"],
                metric_type=_METRICS.get(score["metric"], score["metric"]),
                metric_name=score["metric"],
                metric_value=score["value"],
            )
            for score in scores
        ]
        or None,
    )
    parts = {
        part.replace("_", " ").capitalize(): config["model"][part].get("type")
        for part in ("pair_embedder", "encoder", "decoder", "tag_head")
        if isinstance(config["model"].get(part), dict)
    }
    vocab = loaded.model.vocab
    card = ModelCard.from_template(
        head,
        template_str=_TEMPLATE,
        name=name,
        kind=kind,
        dataset=dataset,
        reference=archive if trained else file.name,
        scores=scores,
        has_validation=any(score["split"] == "validation" for score in scores),
        parameters=num_weights(loaded.model),
        bytes=file.stat().st_size if file.is_file() else None,
        parts=parts,
        labels=list(vocab.get_token_to_index_vocabulary("labels")),
    )
    return str(card)


def _scores(split: str, values: dict[str, Any]) -> list[dict[str, Any]]:
    """The scores in a file of metrics, of the best epoch if it names them. Scores of single types are left out."""
    if any(key.startswith(_BEST) for key in values):
        values = {
            key.removeprefix(_BEST): value for key, value in values.items() if key.startswith(_BEST)
        }
    return [
        {"split": split, "metric": metric, "value": value}
        for metric, value in values.items()
        if isinstance(value, (int, float))
        and metric != "loss"
        and (metric.endswith("-overall") or "-" not in metric)
    ]
