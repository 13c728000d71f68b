import argparse
from collections.abc import Iterator

from allennlp_nef.commands.command import Command, add_trust, integer
from allennlp_nef.commands.output_files import FORMATS

_SUMMARY = "Plot what the steps of a tagger attend to, sentence by sentence or over a corpus."
_DETAILS = """
A heat map a sentence, sentence-0001.png and so on: a row a step, a column a word, the darker the more attention (by its
square root), on one scale for all. Words have the colors of their predicted tags. A cross below a word says that its
tag is wrong, where INPUT has gold tags. All of INPUT is plotted, some three sentences a second, unless --limit sets a
smaller number.

INPUT is a file of JSON requests, one a line, as for `allennlp predict`; or what the dataset reader of the model reads,
as for `allennlp evaluate`: a file, or for quality estimation the prefix of several.

    %(prog)s runs/qe_nef_f/model.tar.gz fixtures/qe/test --output plots --limit 10 --html
    %(prog)s runs/pos/model.tar.gz fixtures/pos/test.conllu --output plots --limit 0 --summary

With --saliency, maps of gradient saliency stand beside those of attention. A row is a prediction: a tag, or a chunk,
such as an entity. Its cells sum to 1: the shares of the words, by the gradient of the log-odds of the prediction times
the vector of the word. In quality estimation one map has the words that are tagged, and one the words of the other
side.

With --summary, summary.txt (also printed), summary.json and a plot, over all sentences of INPUT: on which tags the
first step falls, after which steps tags settle and how right they are, and the attention on words that were wrong.

The exit status is 2 where INPUT or an archive cannot be read.
"""


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add(
        "archive", metavar="ARCHIVE", help="archive of a model with steps, layers or self-attention"
    )
    add("input", metavar="INPUT", help="requests, or data of the model's reader: see above")
    add("--output", metavar="DIR", required=True, help="folder; files in it are written over")
    add(
        "--compare",
        nargs="+",
        default=[],
        metavar="ARCHIVE",
        help="further models, whose maps stand beside the first one's, or below where they are wide",
    )
    add("--format", nargs="+", choices=FORMATS, help="formats of the plots (default = both)")
    add(
        "--limit",
        type=integer(0),
        metavar="N",
        help="plot the first N sentences only (default = all); 0 only with --summary",
    )
    add(
        "--saliency",
        action="store_true",
        help="plot gradient saliency too: one pass through the model for each prediction",
    )
    add("--html", action="store_true", help="write index.html too, which replays the steps")
    add("--summary", action="store_true", help="report on all of INPUT")
    add(
        "--json",
        action="store_true",
        help="with --summary: print its numbers as JSON, and nothing else",
    )
    add(
        "--batch-size",
        type=integer(1),
        default=64,
        metavar="N",
        help="sentences that go through a model at once",
    )
    add(
        "--cuda-device",
        type=integer(-1),
        default=-1,
        metavar="I",
        help="the number of a GPU, or -1 for the CPU",
    )
    add_trust(parser)


def _run(args: argparse.Namespace) -> Iterator[str]:
    from allennlp_nef.commands.plots.sketches import plot_sketches

    return plot_sketches(args)


PLOT_SKETCHES = Command("plot-sketches", _SUMMARY, _DETAILS, _add_arguments, _run, True)
