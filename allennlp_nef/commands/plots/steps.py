"""The work of `plot-steps`, and its plot."""

import argparse
import json
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

import torch
from allennlp.common import Params, Tqdm
from allennlp.data import Batch, Instance
from allennlp.nn.util import move_to_device

from allennlp_nef.commands.calibration.halting import SCORES, StepTable, labeled_steps
from allennlp_nef.commands.command import percent, table_text
from allennlp_nef.commands.output_files import check_folder, formats_of, save_figure, writing
from allennlp_nef.commands.sketched_sentences import instances_of
from allennlp_nef.errors import UserError
from allennlp_nef.figures.style import INK, LINE, check_installed, drawing, literal, shown
from allennlp_nef.models import NefTagger
from allennlp_nef.models.nef_tagger import has_steps
from allennlp_nef.modules.halting import FixedHalting, Halting
from allennlp_nef.modules.options import registered_name
from allennlp_nef.predictors.archives import check_device, load_predictor
from allennlp_nef.predictors.requests import batches_of, metadata_of
from allennlp_nef.predictors.tag_colors import BLUE, GREEN, RED

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_SERIES = (
    ("fixed", BLUE, "o", "-"),
    ("confident", GREEN, "s", "--"),
    ("settled", RED, "^", ":"),
    ("learned", INK, "D", "-."),
)


def steps_plot(results: Mapping[str, Any]) -> "Figure":
    """The score over the mean steps, and over the time of a sentence. Call it, and save it, within `drawing`."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure: Any = Figure(figsize=(9, 3.6))
    FigureCanvasAgg(figure)
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
            axes.plot(
                [row[name] for row in rows],
                [100 * row["score"] for row in rows],
                **{"color": color, "marker": marker, "linestyle": line, "markersize": 4.5},
                label=kind,
            )
        point = {"marker": "*", "markersize": 10, "linestyle": "none", "label": "all steps"}
        axes.plot([full[name]], [100 * full["score"]], color=INK, **point)
        axes.set_xlabel(label)
        axes.set_xlim(left=0)
    left.set_ylabel(f"{SCORES[results['score']]} %")
    left.legend(loc="lower right", labelcolor=INK)
    literal(left.set_title(shown(results["title"], 60)))
    figure.subplots_adjust(left=0.08, right=0.98, top=0.9, bottom=0.14, wspace=0.08)
    return figure


MAX_STEPS = (1, 2, 3, 4, 5, 6, 8, 10, 15, 20, 30, 50, 100)
THRESHOLDS = (0.5, 0.7, 0.8, 0.9, 0.95, 0.98, 0.99, 0.995, 0.999)
_COLUMNS = (
    ("halting", "name", str),
    ("mean steps", "mean_steps", "{:.2f}".format),
    ("score %", "score", percent),
    ("ms a sentence", "milliseconds", "{:.3f}".format),
)


def plot_steps(args: argparse.Namespace) -> Iterator[str]:
    """Writes the files, and yields what to print."""
    check_installed()
    check_folder(args.output)
    check_device(args.cuda_device)
    predictor = load_predictor(args.archive, args.cuda_device, trust=args.trust)
    model = predictor._model
    title = predictor.description()["title"]
    if not has_steps(getattr(model, "decoder", None)):
        raise UserError(
            f"{args.archive}: expected a model with the decoder neural_easy_first, got {title}"
        )
    instances = list(instances_of(predictor, args.data, False))
    table = labeled_steps(predictor, instances, args.data, args.batch_size)
    batches = _batches(model, instances, args.batch_size)
    rows = []
    for options in Tqdm.tqdm(_haltings(table, model.halting), desc="haltings"):
        halting = None if options is None else Halting.from_params(Params(dict(options)))
        outcome = table.outcome(halting or FixedHalting())
        seconds = median(_seconds(model, batches, halting) for _ in range(args.repeat))
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
        "archive": args.archive,
        "data": args.data,
        "sentences": len(instances),
        "score": table.kind,
        "rows": rows,
    }
    folder = Path(args.output)
    folder.mkdir(parents=True, exist_ok=True)
    texts = {"txt": as_text(results) + "\n", "json": json.dumps(results, indent=2) + "\n"}
    for ending, content in texts.items():
        with writing(folder / f"steps.{ending}") as draft:
            draft.write_text(content, encoding="utf-8", errors="backslashreplace")
    with drawing():
        save_figure(steps_plot(results), folder / "steps", formats_of(args))
    if args.json:
        yield texts["json"].rstrip("\n")
        return
    yield texts["txt"]
    names = ", ".join(f"steps.{ending}" for ending in (*texts, *formats_of(args)))
    yield f"wrote {names} in {folder}"


def as_text(results: Mapping[str, Any]) -> str:
    """The table, with a heading."""
    columns = [
        (SCORES[results["score"]] + " %" if name == "score" else head, name, write)
        for head, name, write in _COLUMNS
    ]
    heading = f"{results['title']}: {results['archive']} on {results['data']}, {results['sentences']} sentences"
    return f"{heading}\n\n{table_text(columns, results['rows'])}"


LEARNED_THRESHOLDS = (0.1, 0.3, 0.5, 0.7, 0.9)


def _haltings(table: StepTable, own: Halting | None) -> list[dict[str, Any] | None]:
    """The options of the haltings to measure; None for all steps."""
    most = int(table.num_steps.max())
    found: list[dict[str, Any] | None] = [
        {"type": "fixed", "max_steps": steps} for steps in MAX_STEPS if steps < most
    ]
    found += [{"type": "confident", "threshold": threshold} for threshold in THRESHOLDS]
    found += [{"type": "settled", "threshold": threshold} for threshold in (0.0, *THRESHOLDS)]
    if table.halted.any():
        found += [{"type": "learned", "threshold": threshold} for threshold in LEARNED_THRESHOLDS]
    if own is not None:
        options = {"type": registered_name(Halting, own), **vars(own)}
        found.append({name: value for name, value in options.items() if value is not None})
    return [*found, None]


def _name(options: Mapping[str, Any] | None) -> str:
    if options is None:
        return "all steps"
    values = [f"{name} {value:g}" for name, value in options.items() if name != "type"]
    return f"{options['type']}: {', '.join(values)}"


def _batches(model: NefTagger, instances: Sequence[Instance], batch_size: int) -> list[Any]:
    """The tensors of the sentences, those of like length together."""
    ordered = sorted(instances, key=lambda instance: len(metadata_of(instance).tokens))
    batches = []
    for group in batches_of(ordered, batch_size):
        batch = Batch(group)
        batch.index_instances(model.vocab)
        tensors: Any = move_to_device(batch.as_tensor_dict(), model._get_prediction_device())
        tensors.pop("tags", None)
        batches.append(tensors)
    return batches


@torch.no_grad()
def _seconds(model: NefTagger, batches: Sequence[Any], halting: Halting | None) -> float:
    """The time that the model takes for all batches, up to the tags."""
    before, model.halting = model.halting, halting
    try:
        start = time.perf_counter()
        for batch in batches:
            model(**batch)["tag_ids"].cpu()
        return time.perf_counter() - start
    finally:
        model.halting = before
