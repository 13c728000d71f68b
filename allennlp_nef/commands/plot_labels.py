import argparse
from pathlib import Path
from typing import Iterator, List, Tuple

import numpy
from allennlp.commands.subcommand import Subcommand
from overrides import overrides

from allennlp_nef.commands.arguments import add_parser
from allennlp_nef.commands.figures import FORMATS, drawing, save
from allennlp_nef.commands.label_map import label_map, label_positions
from allennlp_nef.commands.output_files import check_folder, check_matplotlib, writing
from allennlp_nef.commands.printed import printed
from allennlp_nef.commands.sketched_sentences import load_predictor
from allennlp_nef.errors import DataFormatError
from allennlp_nef.modules.label_table import LabelTable
from allennlp_nef.predictors.tagging_predictor import TaggingPredictor

_SUMMARY = "Plot the label embeddings of a model with label attention, and export them."
_DETAILS = """
Writes labels.png and labels.svg, the embeddings in two dimensions by t-SNE, as in Figure 4 of Cui & Zhang (EMNLP 2019),
in the colours that the tags have elsewhere; and, in the format of the TensorFlow Embedding Projector
(projector.tensorflow.org), vectors.tsv, a line of numbers a label, and metadata.tsv, the labels.

    allennlp plot-labels runs/pos_lan/model.tar.gz --output plots/labels

The exit status is 2 where the archive cannot be read, or its model has no label embeddings.
"""


@Subcommand.register("plot-labels")
class PlotLabels(Subcommand):
    """
    Plots and exports label embeddings; `allennlp plot-labels --help` says how.

    Registered as a `Subcommand` with name "plot-labels".
    """

    requires_plugins = False

    @overrides
    def add_subparser(self, parser: argparse._SubParsersAction) -> argparse.ArgumentParser:
        subparser = add_parser(parser, self.name, _SUMMARY, _DETAILS)
        add = subparser.add_argument
        add("archive", metavar="ARCHIVE", help="of a model with label_attention")
        add("--output", metavar="DIR", required=True, help="folder; files in it are written over")
        add("--format", nargs="+", choices=FORMATS, help="of the plot (default = both)")
        add(
            "--perplexity",
            type=_perplexity,
            metavar="P",
            help="of t-SNE, the neighbours that a label has: less than there are labels (default = a third of the "
            "other ones, from 1 to 30)",
        )
        subparser.set_defaults(func=printed(_plot))
        return subparser


def _plot(args: argparse.Namespace) -> Iterator[str]:
    """Writes the files; what is to be printed."""
    check_matplotlib()
    check_folder(args.output)
    predictor = load_predictor(args.archive)
    labels, vectors = _embeddings(predictor, args.archive)
    if args.perplexity is not None and not args.perplexity < len(labels):
        raise DataFormatError(
            f"--perplexity: expected less than the {len(labels)} labels of {args.archive}, got {args.perplexity:g}"
        )
    folder = Path(args.output)
    folder.mkdir(parents=True, exist_ok=True)
    for name, lines in (
        ("vectors", ["\t".join(f"{value:.8g}" for value in vector) for vector in vectors]),
        ("metadata", labels),
    ):
        with writing(folder / f"{name}.tsv") as draft:
            draft.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    yield f"{len(labels)} label embeddings: vectors.tsv and metadata.tsv in {folder}"
    positions = label_positions(vectors, args.perplexity)
    description = predictor.description()
    with drawing():
        figure = label_map(labels, positions, description["colours"], description["title"])
        paths = save(figure, folder / "labels", list(dict.fromkeys(args.format or FORMATS)))
    yield f"1 plot: {', '.join(path.name for path in paths)} in {folder}"


def _embeddings(predictor: TaggingPredictor, path: str) -> Tuple[List[str], numpy.ndarray]:
    """The labels, and their vectors (labels, dim)."""
    model = predictor._model
    for module in model.modules():
        if isinstance(module, LabelTable):
            vectors = module.weight.detach().double().cpu().numpy()
            if not numpy.isfinite(vectors).all():
                raise DataFormatError(f"{path}: expected label embeddings of finite numbers")
            return model.tag_head.labels, vectors
    title = predictor.description()["title"]
    raise DataFormatError(f"{path}: expected a model with label_attention, got {title}")


def _perplexity(text: str) -> float:
    """The `type` of an argument: a number of at least 1."""
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 1 <= value < float("inf"):
        raise argparse.ArgumentTypeError(f"expected a number of at least 1, got {text!r}")
    return value
