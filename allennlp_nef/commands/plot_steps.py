import argparse
from collections.abc import Iterator

from allennlp_nef.commands.command import Command, add_trust, integer
from allennlp_nef.commands.output_files import FORMATS

_SUMMARY = "Measure how good a tagger is after how many steps, and how long it takes."
_DETAILS = """
Tags DATA, which have gold tags, with different haltings of a model with neural_easy_first: a maximum of steps (fixed),
a threshold of the probabilities (confident), and tags that no longer change (settled). Prints a table, with the mean
number of steps, the score (accuracy of words, F1 of chunks, or MCC in quality estimation) and the time of a sentence;
and writes steps.txt, steps.json and a plot of the score over steps and over time.

    %(prog)s runs/anytime/model.tar.gz fixtures/pos/dev.conllu --output plots/steps

The time is that of the model alone, in batches of --batch-size sentences of like length, the median of --repeat runs.

The exit status is 2 where DATA or the archive cannot be used.
"""


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("archive", metavar="ARCHIVE", help="archive of a model with neural_easy_first")
    add("data", metavar="DATA", help="labeled data for the model's reader")
    add("--output", metavar="DIR", required=True, help="folder; files in it are written over")
    add("--format", nargs="+", choices=FORMATS, help="formats of the plot (default = both)")
    add("--json", action="store_true", help="print the figures as JSON, and nothing else")
    add(
        "--repeat",
        type=integer(1),
        default=3,
        metavar="N",
        help="how many times the time of a row is measured",
    )
    add(
        "--batch-size",
        type=integer(1),
        default=64,
        metavar="N",
        help="sentences that go through the model at once",
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
    from allennlp_nef.commands.plots.steps import plot_steps

    return plot_steps(args)


PLOT_STEPS = Command("plot-steps", _SUMMARY, _DETAILS, _add_arguments, _run, True)
