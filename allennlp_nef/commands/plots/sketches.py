"""The work of `plot-sketches`."""

import argparse
import json
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from allennlp.common import Tqdm

from allennlp_nef.commands.output_files import check_folder, formats_of, save_figure, writing
from allennlp_nef.commands.plots.saliency import check_saliency, saliency_maps
from allennlp_nef.commands.plots.sketch_summary_plot import summary_plot
from allennlp_nef.commands.sketch_summary import SketchSummary, as_text
from allennlp_nef.commands.sketched_sentences import (
    SketchedAnswer,
    SketchModel,
    load_models,
    read_answers,
)
from allennlp_nef.errors import UserError
from allennlp_nef.figures.heat_maps import heat_map
from allennlp_nef.figures.replay_page import page_of
from allennlp_nef.figures.style import check_installed, drawing


def plot_sketches(args: argparse.Namespace) -> Iterator[str]:
    """Writes the files, and yields what to print."""
    _check(args)
    models = load_models(
        [args.archive, *args.compare], args.cuda_device, args.batch_size, args.trust
    )
    for model in models if args.saliency else ():
        check_saliency(model)
    for model in models if args.summary else ():
        if model.description["step_name"] != "step":
            raise UserError(
                f"{model.path}: expected a model with neural_easy_first for --summary, "
                f"got {model.description['title']}"
            )
    folder = Path(args.output)
    folder.mkdir(parents=True, exist_ok=True)
    descriptions = [model.description for model in models]
    pages: list[dict[str, Any]] = [{"description": one, "sentences": []} for one in descriptions]
    summaries = [
        SketchSummary(model.description["title"], model.path)
        for model in (models if args.summary else [])
    ]
    formats = formats_of(args)
    stems = []
    for number, answers in enumerate(_sentences(args, models), 1):
        if args.limit is None or number <= args.limit:
            stems.append(f"sentence-{number:04d}")
            maps = list(_maps(models, answers, args.saliency))
            with drawing():
                save_figure(heat_map(*zip(*maps)), folder / stems[-1], formats)
            for page, answer in zip(pages, answers):
                page["sentences"] += [answer] if args.html else []
        for summary, answer in zip(summaries, answers):
            summary.add(answer)

    if args.html:
        text = page_of(pages)
        with writing(folder / "index.html") as draft:
            draft.write_text(text, encoding="utf-8")
    if args.summary:
        texts = _write_summary(folder, summaries, descriptions, formats)
        yield texts["json"].rstrip("\n") if args.json else texts["txt"]
    if not args.json:
        yield from _written(folder, args, stems)


def _maps(
    models: Sequence[SketchModel], answers: Sequence[SketchedAnswer], with_saliency: bool
) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    """The maps of a sentence: of each model, an answer and a description for `heat_map`."""
    for model, answer in zip(models, answers):
        yield answer, model.description
        if with_saliency:
            yield from saliency_maps(model, answer)


def _check(args: argparse.Namespace) -> None:
    """Finds mistakes in the options before a model is loaded."""
    check_installed()
    if args.limit == 0 and (args.html or not args.summary):
        raise UserError("--limit: expected 0 only with --summary and without --html, or at least 1")
    if args.limit == 0 and args.saliency:
        raise UserError("--saliency: expected heat maps, got --limit 0")
    if args.json and not args.summary:
        raise UserError("--json: expected --summary, whose numbers it prints")
    check_folder(args.output)


def _sentences(
    args: argparse.Namespace, models: Sequence[SketchModel]
) -> Iterator[list[SketchedAnswer]]:
    """The answers for as many sentences as are wanted."""
    limit = None if args.summary else args.limit
    batch_size = args.batch_size if limit is None else min(limit, args.batch_size)
    answers = read_answers(models, args.input, batch_size)
    # At the end of the context the bar ends its line, before an error is printed.
    with Tqdm.tqdm(islice(answers, limit), desc="sentences") as progress:
        yield from progress


def _write_summary(
    folder: Path,
    summaries: Sequence[SketchSummary],
    descriptions: Sequence[dict[str, Any]],
    formats: Sequence[str],
) -> dict[str, str]:
    """Writes the files of the summary; returns the texts of summary.txt and summary.json by their endings."""
    results = [summary.results() for summary in summaries]
    text = "\n\n\n".join(map(as_text, results)) + "\n"
    texts = {"txt": text, "json": json.dumps(results, indent=2) + "\n"}
    for ending, content in texts.items():
        with writing(folder / f"summary.{ending}") as draft:
            draft.write_text(content, encoding="utf-8", errors="backslashreplace")
    with drawing():
        figure = summary_plot(results, [description["colours"] for description in descriptions])
        save_figure(figure, folder / "summary", formats)
    return texts


def _written(folder: Path, args: argparse.Namespace, stems: Sequence[str]) -> Iterator[str]:
    """Lines that tell which files were written."""
    formats = formats_of(args)
    for ending in formats if stems else ():
        first, last = (folder / f"{stem}.{ending}" for stem in (stems[0], stems[-1]))
        yield f"{len(stems)} heat maps: {first} to {last}" if stems[1:] else f"1 heat map: {first}"
    if args.html:
        yield f"1 page: {folder / 'index.html'}"
    if args.summary:
        names = ", ".join(f"summary.{ending}" for ending in ("txt", "json", *formats))
        yield f"1 summary: {names} in {folder}"
