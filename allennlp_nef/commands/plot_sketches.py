import argparse
import json
from itertools import islice
from pathlib import Path
from typing import Any, Dict, Iterator, List, Sequence

from allennlp.commands.subcommand import Subcommand
from allennlp.common import Tqdm
from overrides import overrides

from allennlp_nef.commands.arguments import add_parser, integer
from allennlp_nef.commands.figures import FORMATS, drawing, save
from allennlp_nef.commands.heat_maps import heat_map
from allennlp_nef.commands.output_files import check_folder, check_matplotlib, writing
from allennlp_nef.commands.printed import printed
from allennlp_nef.commands.replay_page import page_of
from allennlp_nef.commands.sketch_summary import SketchSummary, as_text
from allennlp_nef.commands.sketch_summary_plot import summary_plot
from allennlp_nef.commands.sketched_sentences import SketchModel, load_models, read_answers
from allennlp_nef.errors import DataFormatError

_SUMMARY = "Plot what the steps of a tagger attend to, sentence by sentence or over a corpus."
_DETAILS = """
A heat map a sentence, sentence-0001.png and so on: a row a step, a column a word, the darker the more attention (by its
square root), on one scale for all. Words have the colours of their predicted tags. A cross below a word says that its
tag is wrong, where INPUT has gold tags. All of INPUT is plotted, some three sentences a second, if --limit does not say
less.

INPUT is a file of JSON requests, one a line, as for `allennlp predict`; or what the dataset reader of the model reads,
as for `allennlp evaluate`: a file, or for quality estimation the prefix of several.

    allennlp plot-sketches runs/qe_nef_f/model.tar.gz fixtures/qe/test --output plots --limit 10 --html
    allennlp plot-sketches runs/pos/model.tar.gz fixtures/pos/test.conllu --output plots --limit 0 --summary

With --summary, summary.txt (also printed), summary.json and a plot, over all sentences of INPUT: on which tags the
first step falls, after which steps tags settle and how right they are, and the attention on words that were wrong.

The exit status is 2 where INPUT or an archive cannot be read.
"""


@Subcommand.register("plot-sketches")
class PlotSketches(Subcommand):
    """
    Plots the attention of each step; `allennlp plot-sketches --help` says how.

    Registered as a `Subcommand` with name "plot-sketches".
    """

    requires_plugins = False

    @overrides
    def add_subparser(self, parser: argparse._SubParsersAction) -> argparse.ArgumentParser:
        subparser = add_parser(parser, self.name, _SUMMARY, _DETAILS)
        add = subparser.add_argument
        add("archive", metavar="ARCHIVE", help="of a model with steps, layers or self-attention")
        add("input", metavar="INPUT", help="requests, or data of the model's reader: see above")
        add("--output", metavar="DIR", required=True, help="folder; files in it are written over")
        add(
            "--compare",
            nargs="+",
            default=[],
            metavar="ARCHIVE",
            help="further models, whose maps stand beside the first one's, or below where they are wide",
        )
        add(
            "--format",
            nargs="+",
            choices=FORMATS,
            help="of the plots (default = both)",
        )
        add(
            "--limit",
            type=integer(0),
            metavar="N",
            help="plot the first N sentences only (default = all); 0 only with --summary",
        )
        add("--html", action="store_true", help="write index.html too, which replays the steps")
        add("--summary", action="store_true", help="report on all of INPUT")
        add(
            "--batch-size",
            type=integer(1),
            default=64,
            metavar="N",
            help="sentences that go through a model at once (default = 64)",
        )
        add(
            "--cuda-device",
            type=integer(-1),
            default=-1,
            metavar="I",
            help="the number of a GPU (default = -1, the CPU)",
        )
        subparser.set_defaults(func=printed(_plot))
        return subparser


def _plot(args: argparse.Namespace) -> Iterator[str]:
    """Writes the files; what is to be printed."""
    _check(args)
    formats = list(dict.fromkeys(args.format or FORMATS))
    models = load_models([args.archive, *args.compare], args.cuda_device, args.batch_size)
    descriptions = [model.description for model in models]
    for model in models if args.summary else ():
        if model.description["step_name"] != "step":
            raise DataFormatError(
                f"{model.path}: expected a model with neural_easy_first for --summary, "
                f"got {model.description['title']}"
            )
    folder = Path(args.output)
    folder.mkdir(parents=True, exist_ok=True)
    pages: List[Dict[str, Any]] = [{"description": one, "sentences": []} for one in descriptions]
    summaries = [
        SketchSummary(model.description["title"], model.path)
        for model in (models if args.summary else [])
    ]
    stems = []
    for number, answers in enumerate(_sentences(args, models), 1):
        if args.limit is None or number <= args.limit:
            stems.append(f"sentence-{number:04d}")
            with drawing():
                save(heat_map(answers, descriptions), folder / stems[-1], formats)
            for page, answer in zip(pages, answers):
                page["sentences"] += [answer] if args.html else []
        for summary, answer in zip(summaries, answers):
            summary.add(answer)

    if args.summary:
        yield _write_summary(folder, summaries, descriptions, formats)
    for ending in formats if stems else ():
        first, last = (folder / f"{stem}.{ending}" for stem in (stems[0], stems[-1]))
        yield f"{len(stems)} heat maps: {first} to {last}" if stems[1:] else f"1 heat map: {first}"
    if args.html:
        text = page_of(pages)
        with writing(folder / "index.html") as draft:
            draft.write_text(text, encoding="utf-8")
        yield f"1 page: {folder / 'index.html'}"
    if args.summary:
        names = ", ".join(f"summary.{ending}" for ending in ("txt", "json", *formats))
        yield f"1 summary: {names} in {folder}"


def _check(args: argparse.Namespace) -> None:
    """What can be known to fail later."""
    check_matplotlib()
    if args.limit == 0 and (args.html or not args.summary):
        raise DataFormatError(
            "--limit: expected 0 only with --summary and without --html, or at least 1"
        )
    check_folder(args.output)


def _sentences(
    args: argparse.Namespace, models: Sequence[SketchModel]
) -> Iterator[List[Dict[str, Any]]]:
    """The answers for as many sentences as are wanted."""
    limit = None if args.summary else args.limit
    batch_size = args.batch_size if limit is None else min(limit, args.batch_size)
    answers = read_answers(models, args.input, batch_size)
    # Closed, the bar ends its line before an error is printed.
    with Tqdm.tqdm(islice(answers, limit), desc="sentences") as progress:
        yield from progress


def _write_summary(
    folder: Path,
    summaries: Sequence[SketchSummary],
    descriptions: Sequence[Dict[str, Any]],
    formats: Sequence[str],
) -> str:
    """The text of the files that it writes."""
    results = [summary.results() for summary in summaries]
    text = "\n\n\n".join(map(as_text, results)) + "\n"
    for name, content in (("txt", text), ("json", json.dumps(results, indent=2) + "\n")):
        with writing(folder / f"summary.{name}") as draft:
            draft.write_text(content, encoding="utf-8", errors="backslashreplace")
    with drawing():
        figure = summary_plot(results, [description["colours"] for description in descriptions])
        save(figure, folder / "summary", formats)
    return text
