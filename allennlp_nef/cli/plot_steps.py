"""`allennlp-nef plot-steps`: how good a tagger is after how many steps, and how long it takes."""

import argparse
import json
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

from allennlp_nef.cli.shared import (
    Column,
    add_batches,
    add_format,
    add_output,
    add_trust,
    call_with,
    check_folder,
    checking,
    formats_of,
    integer,
    percent,
    save_figure,
    table_text,
    write_texts,
)
from allennlp_nef.errors import UserError
from allennlp_nef.figures.style import (
    BLUE,
    GREEN,
    INK,
    LINE,
    RED,
    check_installed,
    drawing,
    literal,
    new_figure,
    shown,
)

if TYPE_CHECKING:
    from allennlp.data import Instance
    from matplotlib.figure import Figure

    from allennlp_nef.calibration.halting import StepTable
    from allennlp_nef.models import NefTagger
    from allennlp_nef.modules.halting import Halting

SUMMARY = "Measure how good a tagger is after how many steps, and how long it takes."
DETAILS = """
Tags DATA, which have gold tags, with different halting rules of a model with neural_easy_first: a maximum of steps
(fixed), a threshold of the probabilities (confident), and tags that no longer change (settled). Prints a table, with
the mean number of steps, the score (accuracy of words, F1 of chunks, or MCC in quality estimation) and the time of a
sentence; and writes steps.txt, steps.json and a plot of the score over steps and over time.

    %(prog)s runs/anytime/model.tar.gz fixtures/pos/dev.conllu --output plots/steps

The time is that of the model alone, in batches of --batch-size sentences of similar length. It is the median of
--repeat runs.

The exit status is 2 where DATA or the archive cannot be used.
"""
MAX_STEPS = (1, 2, 3, 4, 5, 6, 8, 10, 15, 20, 30, 50, 100)
THRESHOLDS = (0.5, 0.7, 0.8, 0.9, 0.95, 0.98, 0.99, 0.995, 0.999)
LEARNED_THRESHOLDS = (0.1, 0.3, 0.5, 0.7, 0.9)
_SERIES = (
    ("fixed", BLUE, "o", "-"),
    ("confident", GREEN, "s", "--"),
    ("settled", RED, "^", ":"),
    ("learned", INK, "D", "-."),
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("archive", metavar="ARCHIVE", help="archive of a model with neural_easy_first")
    add("data", metavar="DATA", help="labeled data for the model's reader")
    add_output(parser)
    add_format(parser)
    add("--json", action="store_true", help="print the numbers as JSON, and nothing else")
    add(
        "--repeat",
        type=integer(1),
        default=3,
        metavar="N",
        help="how many times the time of a row is measured",
    )
    add_batches(parser)
    add_trust(parser)


def run(args: argparse.Namespace) -> Iterator[str]:
    results = call_with(plot_steps, args)
    if args.json:
        yield json.dumps(results, indent=2)
        return
    yield as_text(results)
    names = ", ".join(f"steps.{ending}" for ending in ("txt", "json", *formats_of(args.format)))
    yield f"wrote {names} in {Path(args.output)}"


@checking(add_arguments)
def plot_steps(
    archive: str,
    data: str,
    *,
    output: str,
    format: Sequence[str] | None = None,
    repeat: int = 3,
    batch_size: int = 64,
    cuda_device: int = -1,
    trust: bool = False,
) -> dict[str, Any]:
    """Measures a model with different halting rules, and writes the numbers and their plot into a folder.

    The parameters are the options of `allennlp-nef plot-steps`, and the result is what it prints as JSON, with a row
    for each halting. Raises `UserError`.
    """
    from allennlp.common import Tqdm

    from allennlp_nef.calibration.halting import halting_of, labeled_steps
    from allennlp_nef.cli.inputs import instances_of
    from allennlp_nef.models.nef_tagger import has_steps
    from allennlp_nef.modules.halting import FixedHalting
    from allennlp_nef.predictors.archives import check_device, load_predictor

    check_installed()
    check_folder(output)
    check_device(cuda_device)
    predictor = load_predictor(archive, cuda_device, trust=trust)
    model = predictor._model
    title = predictor.description()["title"]
    if not has_steps(getattr(model, "decoder", None)):
        raise UserError(
            f"{archive}: expected a model with the decoder neural_easy_first, got {title}"
        )
    instances = list(instances_of(predictor, data))
    table = labeled_steps(predictor, instances, data, batch_size)
    batches = _batches(model, instances, batch_size)
    rows = []
    for options in Tqdm.tqdm(_haltings(table, model.halting), desc="halting rules"):
        halting = None if options is None else halting_of(options)
        outcome = table.outcome(halting or FixedHalting())
        seconds = median(_seconds(model, batches, halting) for _ in range(repeat))
        rows.append(
            {
                "halting": options,
                "name": _name(options),
                **outcome._asdict(),
                "milliseconds": 1000 * seconds / len(instances),
            }
        )
    results = {
        "title": title,
        "archive": archive,
        "data": data,
        "sentences": len(instances),
        "score": table.kind,
        "rows": rows,
    }
    texts = {"txt": as_text(results), "json": json.dumps(results, indent=2) + "\n"}
    write_texts(Path(output, "steps"), texts)
    with drawing():
        save_figure(steps_plot(results), Path(output, "steps"), formats_of(format))
    return results


def as_text(results: Mapping[str, Any]) -> str:
    """The table, with a heading."""
    from allennlp_nef.calibration.halting import SCORES

    columns: list[Column] = [
        ("halting", "name", str),
        ("mean steps", "mean_steps", "{:.2f}".format),
        (f"{SCORES[results['score']]} %", "score", percent),
        ("ms a sentence", "milliseconds", "{:.3f}".format),
    ]
    heading = f"{results['title']}: {results['archive']} on {results['data']}, {results['sentences']} sentences"
    return f"{heading}\n\n{table_text(columns, results['rows'])}\n"


def _haltings(table: "StepTable", own: "Halting | None") -> list[dict[str, Any] | None]:
    """The options of the halting rules to measure; None for all steps."""
    from allennlp_nef.modules.halting import Halting
    from allennlp_nef.modules.options import registered_name

    thresholds = {"confident": THRESHOLDS, "settled": (0.0, *THRESHOLDS)}
    if table.halted.any():
        thresholds["learned"] = LEARNED_THRESHOLDS
    haltings: list[dict[str, Any] | None] = [
        {"type": "fixed", "max_steps": n} for n in MAX_STEPS if n < table.num_steps.max()
    ]
    haltings += [{"type": k, "threshold": value} for k in thresholds for value in thresholds[k]]
    if own is not None:
        options = {"type": registered_name(Halting, own), **vars(own)}
        haltings.append({name: value for name, value in options.items() if value is not None})
    return [*haltings, None]


def _name(options: Mapping[str, Any] | None) -> str:
    if options is None:
        return "all steps"
    values = [f"{name} {value:g}" for name, value in options.items() if name != "type"]
    return f"{options['type']}: {', '.join(values)}"


def _batches(model: "NefTagger", instances: "Sequence[Instance]", batch_size: int) -> list[Any]:
    """The tensors of the sentences, those of similar length together."""
    from allennlp_nef.data.metadata import metadata_of
    from allennlp_nef.models.base import unlabeled_tensors
    from allennlp_nef.predictors.requests import batches_of

    ordered = sorted(instances, key=lambda instance: len(metadata_of(instance).tokens))
    return [unlabeled_tensors(model, group) for group in batches_of(ordered, batch_size)]


def _seconds(model: "NefTagger", batches: Sequence[Any], halting: "Halting | None") -> float:
    """The time that the model takes for all batches, up to the tags."""
    import torch

    before, model.halting = model.halting, halting
    try:
        start = time.perf_counter()
        with torch.no_grad():
            for batch in batches:
                model(**batch)["tag_ids"].cpu()
        return time.perf_counter() - start
    finally:
        model.halting = before


def steps_plot(results: Mapping[str, Any]) -> "Figure":
    """The score over the mean steps, and over the time of a sentence."""
    from allennlp_nef.calibration.halting import SCORES

    figure: Any = new_figure(9, 3.6)
    left, right = figure.subplots(1, 2, sharey=True)
    full = next(row for row in results["rows"] if row["halting"] is None)
    for axes, name, label in (
        (left, "mean_steps", "mean steps"),
        (right, "milliseconds", "milliseconds a sentence"),
    ):
        axes.axhline(100 * full["score"], color=LINE, linewidth=1, zorder=1)
        for kind, color, marker, line in _SERIES:
            rows = [row for row in results["rows"] if (row["halting"] or {}).get("type") == kind]
            rows.sort(key=lambda row: row[name])
            x, y = ([row[name] for row in rows], [100 * row["score"] for row in rows])
            look = {"color": color, "marker": marker, "linestyle": line, "markersize": 4.5}
            axes.plot(x, y, **look, label=kind)
        point = {"marker": "*", "markersize": 10, "linestyle": "none", "label": "all steps"}
        axes.plot([full[name]], [100 * full["score"]], color=INK, **point)
        axes.set_xlabel(label)
        axes.set_xlim(left=0)
    left.set_ylabel(f"{SCORES[results['score']]} %")
    left.legend(loc="lower right", labelcolor=INK)
    literal(left.set_title(shown(results["title"], 60)))
    figure.subplots_adjust(left=0.08, right=0.98, top=0.9, bottom=0.14, wspace=0.08)
    return figure
