import argparse
from collections.abc import Iterator

from allennlp_nef.commands.command import Command, add_trust, number
from allennlp_nef.commands.output_files import FORMATS

_SUMMARY = "Plot the label embeddings of a model with label attention, and export them."
_DETAILS = """
Writes labels.png and labels.svg, the embeddings in two dimensions by t-SNE, as in Figure 4 of Cui & Zhang (EMNLP 2019),
in the colors that the tags have elsewhere; and, in the format of the TensorFlow Embedding Projector
(projector.tensorflow.org), vectors.tsv, a line of numbers a label, and metadata.tsv, the labels.

    %(prog)s runs/pos_lan/model.tar.gz --output plots/labels

The exit status is 2 where the archive cannot be read, or its model has no label embeddings.
"""


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("archive", metavar="ARCHIVE", help="archive of a model with label_attention")
    add("--output", metavar="DIR", required=True, help="folder; files in it are written over")
    add("--format", nargs="+", choices=FORMATS, help="formats of the plot (default = both)")
    add(
        "--perplexity",
        type=number(1),
        metavar="P",
        help="perplexity of t-SNE, about how many labels count as near to a label: less than there are labels "
        "(default = a third of the other labels, from 1 to 30)",
    )
    add_trust(parser)


def _run(args: argparse.Namespace) -> Iterator[str]:
    from allennlp_nef.commands.plots.labels import plot_labels

    return plot_labels(args)


PLOT_LABELS = Command("plot-labels", _SUMMARY, _DETAILS, _add_arguments, _run, True)
