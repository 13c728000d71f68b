"""`allennlp-nef plot-sketches`: attention heat maps of a tagger, and a replay of its steps."""

import argparse
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from allennlp_nef.cli.arguments import ARCHIVE_HELP, add_batches, add_trust, options_of, positive
from allennlp_nef.cli.outputs import save_figure, write_text
from allennlp_nef.errors import DataFormatError, UserError

if TYPE_CHECKING:
    from allennlp_nef.predictors.nef_tagger import TaggingPredictor

DETAILS = """
Draws a heat map for each sentence, sentence-0001.png and so on: a row for each step, a column for each word. Words and
tags have the color of the predicted tag; wrong tags are marked if INPUT has gold tags.

INPUT is a .jsonl file of requests, as for `allennlp predict`, or data for the dataset reader of the model, as for
`allennlp evaluate`.

    %(prog)s runs/qe_nef_f/model.tar.gz fixtures/qe/test --output plots --limit 10 --html
"""
FORMATS = ("png", "svg")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("archive", metavar="ARCHIVE", help=f"{ARCHIVE_HELP} with steps or self-attention")
    add("input", metavar="INPUT", help="requests (.jsonl), or data for the reader of the model")
    add("--output", metavar="FOLDER", required=True, help="folder; files in it are overwritten")
    add(
        "--format",
        dest="formats",
        nargs="+",
        choices=FORMATS,
        help="formats of the plots (default = png)",
    )
    parser.set_defaults(formats=FORMATS[:1])
    add("--limit", type=positive, metavar="N", help="plot only the first N sentences")
    add("--html", action="store_true", help="also write index.html, which replays the steps")
    add_batches(parser)
    add_trust(parser)


def run(args: argparse.Namespace) -> Iterator[str]:
    names = plot_sketches(**options_of(args, plot_sketches))
    yield f"{len(names)} heat maps in {args.output}: {names[0]} to {names[-1]}"
    if args.html:
        yield f"replay: {Path(args.output, 'index.html')}"


def plot_sketches(
    archive: str,
    input: str,
    *,
    output: str,
    formats: Sequence[str] = ("png",),
    limit: int | None = None,
    html: bool = False,
    batch_size: int = 64,
    cuda_device: int = -1,
    trust: bool = False,
) -> list[str]:
    """Writes attention heat maps of a tagger to a folder. Returns their names, without endings.

    The parameters are the options of `allennlp-nef plot-sketches`.

    # Raises

    `UserError`: input or an archive that cannot be used.
    """
    from allennlp.common import Tqdm

    from allennlp_nef.archives import load_predictor
    from allennlp_nef.figures._heat_maps import heat_map
    from allennlp_nef.pages.document import page_of

    predictor = load_predictor(archive, cuda_device, trust=trust, trace=True, batch_size=batch_size)
    description = predictor.description()
    if description["step_name"] is None:
        raise UserError(f"{archive}: {description['title']} has no steps or self-attention to plot")
    names: list[str] = []
    kept = []
    answers = islice(answers_of(predictor, input), limit)
    for number, answer in enumerate(Tqdm.tqdm(answers, desc="sentences"), 1):
        names.append(f"sentence-{number:04d}")
        figure = heat_map(answer, description)
        for ending in formats:
            save_figure(figure, Path(output, f"{names[-1]}.{ending}"))
        if html:
            kept.append(answer)
    if not names:
        raise DataFormatError(f"{input}: expected at least one sentence, got none")
    if html:
        write_text(Path(output, "index.html"), page_of(description, kept))
    return names


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
