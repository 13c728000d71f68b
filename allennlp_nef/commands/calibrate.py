import argparse
from collections.abc import Iterator

from allennlp_nef.commands.command import Command, add_trust, integer, number

_SUMMARY = (
    "Calibrate the probabilities of a tagger, and choose the threshold of a quality estimator."
)
_DETAILS = """
Finds on labeled data (DEV, by default the validation data of the config) the temperature and the bias of each label
that make the probabilities right, and for word-level quality estimation the threshold of the probability of BAD with
the highest MCC or F1-MULT, or where DEV has error spans with the highest F1 of characters. Writes a new archive that
holds them, for predict, serve and evaluate. All other files of the archive stay as they are.

    %(prog)s runs/qe_nef_f/model.tar.gz --output calibrated.tar.gz
    %(prog)s runs/qe_nef_f/model.tar.gz fixtures/qe/dev --output calibrated.tar.gz --plot reliability.png
    %(prog)s runs/qe_nef_f/model.tar.gz --output adapted.tar.gz --adapt-to fixtures/qe/test
    %(prog)s runs/anytime/model.tar.gz --output faster.tar.gz --halting settled --tolerance 0.1

Prints how good probabilities and tags are before, after, and cross-fitted: fitted on one half of the sentences and
measured on the other, both ways. Only that says what to expect on other data of the same kind. ECE is the expected
calibration error, Brier the Brier score, NLL the mean negative log-likelihood of the gold tags.

With --adapt-to, the share of each label in DATA is estimated from the probabilities (by the EM algorithm of Saerens,
Latinne & Decaestecker, Neural Computation 2002), the probabilities are adapted to it, and the threshold is the one with
the highest expected score on DATA. Tags in DATA are not used. It holds where DATA have other shares of the labels than
DEV, and are like it otherwise.

With --halting, sentences of the new archive halt before their last step. The tags after each step are those before
the calibration, and probabilities are then fitted to the last step of each sentence.

The exit status is 2 where the data or the archive cannot be used.
"""


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("archive", metavar="ARCHIVE", help="archive of a trained tagger, or the folder of a run")
    add(
        "data",
        metavar="DEV",
        nargs="?",
        help="labeled data for the model's reader, not those that it was trained on (default = validation_data_path "
        "of the config)",
    )
    add("--output", metavar="FILE", required=True, help="the new archive; a file is written over")
    add(
        "--maximize",
        choices=("mcc", "f1_mult", "span_f1"),
        default="mcc",
        help="the score of the threshold, for quality estimation; span_f1, the F1 of characters, needs error spans",
    )
    add("--temperature-only", action="store_true", help="no biases")
    add(
        "--halting",
        choices=("fixed", "confident", "settled", "learned"),
        help="also choose when sentences halt, for a model with the decoder neural_easy_first: the halting of this "
        "kind with the fewest steps",
    )
    add(
        "--tolerance",
        type=number(0),
        metavar="POINTS",
        help="with --halting: what it may cost at most on DEV, in percentage points of accuracy, of F1 for chunks, or "
        "of MCC for quality estimation (default = 0.1)",
    )
    add(
        "--adapt-to",
        metavar="DATA",
        help="data without tags, for the model's reader or as requests (.jsonl), to whose shares of the labels the "
        "model is adapted",
    )
    add(
        "--plot",
        metavar="FILE",
        help="write a reliability plot; a .png or .svg file, which is written over",
    )
    add("--json", action="store_true", help="print the figures as JSON, fractions of 1")
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
    from allennlp_nef.commands.calibration.run import calibrate

    return calibrate(args)


CALIBRATE = Command("calibrate", _SUMMARY, _DETAILS, _add_arguments, _run, True)
