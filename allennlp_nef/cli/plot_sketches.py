"""`allennlp-nef plot-sketches`: attention heat maps of taggers, a replay of their steps, and corpus statistics."""

import argparse
import json
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice, zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Any

from allennlp_nef.cli.shared import (
    ARCHIVE_HELP,
    add_batches,
    add_trust,
    options_of,
    save_figure,
    table_text,
    write_text,
)
from allennlp_nef.errors import DataFormatError, UserError

if TYPE_CHECKING:
    from allennlp_nef.predictors.nef_tagger import TaggingPredictor

SUMMARY = "Plot what the steps of a tagger attend to, sentence by sentence or over a corpus."
DETAILS = """
Draws a heat map for each sentence, sentence-0001.png and so on: a row for each step, a column for each word. Words and
tags have the color of the predicted tag; wrong tags are marked if INPUT has gold tags.

INPUT is a .jsonl file of requests, as for `allennlp predict`, or data for the dataset reader of the model, as for
`allennlp evaluate`.

    %(prog)s runs/qe_nef_f/model.tar.gz fixtures/qe/test --output plots --limit 10 --html
    %(prog)s runs/pos/model.tar.gz fixtures/pos/test.conllu --output plots --limit 10 --summary

--summary reports on all sentences of INPUT, in summary.txt and summary.json: which tags the first step attends to,
when tags stop changing and how accurate they are, and whether wrongly tagged words get attention. It needs gold tags.
"""
FORMATS = ("png", "svg")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("archive", metavar="ARCHIVE", help=f"{ARCHIVE_HELP} with steps or self-attention")
    add("input", metavar="INPUT", help="requests (.jsonl), or data for the reader of the model")
    add("--output", metavar="FOLDER", required=True, help="folder; files in it are overwritten")
    add("--compare", metavar="ARCHIVE", help="another model, whose maps are drawn below")
    add(
        "--format",
        dest="formats",
        nargs="+",
        choices=FORMATS,
        help="formats of the plots (default = png)",
    )
    parser.set_defaults(formats=FORMATS[:1])
    add("--limit", type=int, metavar="N", help="plot only the first N sentences (0 = none)")
    add("--html", action="store_true", help="also write index.html, which replays the steps")
    add("--summary", action="store_true", help="also report on all of INPUT")
    add_batches(parser)
    add_trust(parser)


def run(args: argparse.Namespace) -> Iterator[str]:
    names, summaries = plot_sketches(**options_of(args, plot_sketches))
    for summary in summaries:
        yield f"{summary_text(summary)}\n"
    if names:
        yield f"{len(names)} heat maps in {args.output}: {names[0]} to {names[-1]}"
    if args.html:
        yield f"replay: {Path(args.output, 'index.html')}"


def plot_sketches(
    archive: str,
    input: str,
    *,
    output: str,
    compare: str | None = None,
    formats: Sequence[str] = ("png",),
    limit: int | None = None,
    html: bool = False,
    summary: bool = False,
    batch_size: int = 64,
    cuda_device: int = -1,
    trust: bool = False,
) -> tuple[list[str], list[dict[str, Any]]]:
    """Writes attention heat maps of a tagger to a folder.

    The parameters are the options of `allennlp-nef plot-sketches`.

    # Returns

    `tuple[list[str], list[dict[str, Any]]]`
        The names of the heat maps, without endings; and with `summary`, for each model the `title`, the `archive` and
        the numbers of `SketchSummary.results`.

    # Raises

    `UserError`: input or archives that cannot be used.
    """
    from allennlp.common import Tqdm

    from allennlp_nef.archives import load_predictor
    from allennlp_nef.figures._heat_maps import heat_map
    from allennlp_nef.figures.sketch_summary import SketchSummary
    from allennlp_nef.pages.document import page_of

    archives = [archive] if compare is None else [archive, compare]
    predictors: list[Any] = [
        load_predictor(path, cuda_device, trust=trust, trace=True, batch_size=batch_size)
        for path in archives
    ]
    descriptions = [predictor.description() for predictor in predictors]
    for path, description in zip(archives, descriptions):
        if description["step_name"] is None:
            raise UserError(
                f"{path}: {description['title']} has no steps or self-attention to plot"
            )
        if summary and description["step_name"] != "step":
            raise UserError(f"{path}: --summary needs a model with neural_easy_first")
    if len({description["title"] for description in descriptions}) < len(descriptions):
        for path, description in zip(archives, descriptions):
            description["title"] += f" ({path})"
    folder = Path(output)
    names: list[str] = []
    pages: list[list[Any]] = [[] for _ in archives]
    counts = [SketchSummary() for _ in archives]
    streams = [answers_of(predictor, input) for predictor in predictors]
    number = 0
    sentences = islice(zip_longest(*streams), None if summary else limit)
    for number, answers in enumerate(Tqdm.tqdm(sentences, desc="sentences"), 1):
        words = [answer and answer["tokens"] for answer in answers]
        if words != words[:1] * len(words):
            raise DataFormatError(f"{input}: sentence {number}: the models read different words")
        if limit is None or number <= limit:
            names.append(f"sentence-{number:04d}")
            figure = heat_map(answers, descriptions)
            for ending in formats:
                save_figure(figure, folder / f"{names[-1]}.{ending}")
            for page, answer in zip(pages, answers):
                page += [answer] if html else []
        if summary:
            if answers[0]["gold"] is None:
                raise DataFormatError(f"{input}: sentence {number}: --summary needs gold tags")
            for count, answer in zip(counts, answers):
                count.add(answer)
    if number == 0:
        raise DataFormatError(f"{input}: expected at least one sentence, got none")
    if html:
        models = [
            {"description": description, "sentences": page}
            for description, page in zip(descriptions, pages)
        ]
        write_text(folder / "index.html", page_of(models))
    if not summary:
        return names, []
    results = [
        {"title": description["title"], "archive": path, **count.results()}
        for description, path, count in zip(descriptions, archives, counts)
    ]
    write_text(folder / "summary.json", json.dumps(results, indent=2) + "\n")
    write_text(folder / "summary.txt", "\n\n".join(map(summary_text, results)) + "\n")
    return names, results


def answers_of(predictor: "TaggingPredictor", path: str) -> Iterator[dict[str, Any]]:
    """Yields the answers to a `.jsonl` file of requests or to a data path, with `gold`, the gold tags or None."""
    from allennlp_nef.data.files import read_lines

    sentences: Iterator[tuple[str, Any]]
    if path.endswith(".jsonl"):
        lines = ((f"{path}:{number}", line) for number, line in read_lines(path) if line.strip())
        sentences = ((place, predictor.load_line(line)) for place, line in lines)
    else:
        sentences = (("", instance) for instance in predictor._dataset_reader.read(path))
    for answer in predictor.stream(sentences):
        tagged: Any = answer
        yield {**answer, "gold": tagged.record.tags}


def summary_text(summary: Mapping[str, Any]) -> str:
    """Returns the tables of a summary. Shares and accuracies are fractions of 1."""
    counts = f"{summary['sentences']} sentences, {summary['words']} words"
    head = f"{summary['title']}: {summary['archive']}\n{counts}, accuracy {summary['accuracy']:.4f}"
    return "\n\n".join(
        [head, *(f"{text}\n{_table(summary[name])}" for name, text in _TABLES.items())]
    )


def _table(rows: Sequence[Mapping[str, Any]]) -> str:
    def write(value: Any) -> str:
        if value is None:
            return "-"
        return f"{value:.4f}" if isinstance(value, float) else str(value)

    return table_text([(name.replace("_", " "), name, write) for name in rows[0]], rows)


_TABLES = {
    "first_step": "The first step, by gold tag: words, sentences whose largest attention is on one, and attention.",
    "settling": "Words by the step at which their tag becomes final, their accuracy, and the accuracy of all words.",
    "attention_on_wrong": "Words whose tag was wrong or right before a step, the mean attention to one of them, the "
    "share of\nthe attention that is on wrong words, and this share if attention were even.",
}
