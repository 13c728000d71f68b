"""`allennlp-nef plot-sketches`: attention heat maps of a tagger, and a replay of its steps."""

import argparse
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from allennlp_nef.cli.arguments import add_archive, add_batches, options_of, positive
from allennlp_nef.cli.outputs import save_figure, write_text
from allennlp_nef.cli.predict import requests_in
from allennlp_nef.errors import DataFormatError, UserError

if TYPE_CHECKING:
    from allennlp_nef.predictors.nef_tagger import TaggingPredictor

DETAILS = """
Draws a heat map for each sentence, sentence-0001.png and so on: a row for each step (or word, of self-attention), a
column for each word. Words and tags have the color of the predicted tag; wrong tags are marked if INPUT has gold tags.

INPUT is a .jsonl file of requests, as for `allennlp predict`, or data for the dataset reader of the model, as for
`allennlp evaluate`.

    %(prog)s runs/qe_nef_f/model.tar.gz fixtures/qe/test --output plots --limit 10 --html
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_archive(parser)
    add = parser.add_argument
    add("input", metavar="INPUT", help="requests (.jsonl), or data for the reader of the model")
    add("--output", metavar="FOLDER", required=True, help="folder; files in it are overwritten")
    add("--format", choices=("png", "svg"), default="png", help="format of the plots")
    add("--limit", type=positive, metavar="N", help="plot only the first N sentences")
    add("--html", action="store_true", help="also write index.html, which replays the steps")
    add_batches(parser)


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
    format: str = "png",
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
        save_figure(heat_map(answer, description), Path(output, f"{names[-1]}.{format}"))
        if html:
            kept.append(answer)
    if not names:
        raise DataFormatError(f"{input}: expected at least one sentence, got none")
    if html:
        write_text(Path(output, "index.html"), page_of(description, kept))
    return names


def answers_of(predictor: "TaggingPredictor", path: str) -> Iterator[dict[str, Any]]:
    """Yields the answers to a `.jsonl` file of requests or to a data path, with `gold`, the gold tags or None."""
    sentences: Any = requests_in(path, predictor)
    if not path.endswith(".jsonl"):
        sentences = (("", instance) for instance in predictor._dataset_reader.read(path))
    tagged: Any
    for tagged in predictor.stream(sentences):
        yield {**tagged, "gold": tagged.record.tags}
