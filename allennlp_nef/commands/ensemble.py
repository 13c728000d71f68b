import argparse
from collections.abc import Iterator

from allennlp_nef.commands.command import Command, add_trust, number

_SUMMARY = "Join several trained taggers into one archive, which averages their probabilities."
_DETAILS = """
The new archive is used like that of one tagger: predict, evaluate, serve and calibrate take it. The taggers may have
other seeds or other layers, but they need the same dataset reader and the same vocabulary, so the same training data.
All other files, such as a word aligner, and the metrics are those of the first archive.

    %(prog)s runs/seed1/model.tar.gz runs/seed2/model.tar.gz --output ensemble.tar.gz
    %(prog)s runs/nef/model.tar.gz runs/bilstm/model.tar.gz --weights 2 1 --output ensemble.tar.gz

The probabilities that are averaged are those of the answers, so calibrated where a member is calibrated. The threshold
of a quality estimator is the mean of the members' thresholds, until the new archive is calibrated.

The exit status is 2 where an archive cannot be read, or the taggers do not fit together.
"""


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add(
        "archives",
        metavar="ARCHIVE",
        nargs="+",
        help="archives of trained taggers, or the folders of runs; two or more",
    )
    add("--output", metavar="FILE", required=True, help="the new archive; a file is written over")
    add(
        "--weights",
        metavar="W",
        nargs="+",
        type=number(0),
        help="numbers above 0, one for each archive (default = all equal)",
    )
    add("--json", action="store_true", help="print what was written as JSON")
    add_trust(parser)


def _run(args: argparse.Namespace) -> Iterator[str]:
    from allennlp_nef.commands.ensembling import write_ensemble

    return write_ensemble(args)


ENSEMBLE = Command("ensemble", _SUMMARY, _DETAILS, _add_arguments, _run, True)
