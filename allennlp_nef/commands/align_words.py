import argparse
from collections.abc import Iterator

from allennlp_nef.commands.command import Command
from allennlp_nef.commands.symmetrization import METHODS

_SUMMARY = "Align the words of sentences with those of their translations, for quality estimation."
_DETAILS = """
Writes a line of pairs i-j for each sentence: source word i is aligned to target word j, from 0. SOURCE and TARGET are
text files of tokenized sentences, one a line. The alignments are those of the package eflomal, in both directions,
combined. It is the extra `align` (in a checkout: `pip install '.[align]'`), needs a C compiler, and draws random
numbers.

    %(prog)s train.src train.mt --output train.src-mt.alignments --save-priors en-de.priors
    %(prog)s dev.src dev.mt --output dev.src-mt.alignments --priors en-de.priors

--learn-aligner writes an aligner that needs no eflomal, which the option `aligner` of the reader wmt_word_qe takes.
The run of a quality estimator whose training data have alignments has such a file, too. --aligner aligns with it:

    %(prog)s test.src test.mt --output test.src-mt.alignments --aligner runs/qe_nef_f/aligner.json.gz

The exit status is 2 where the files cannot be aligned; then no file is written.
"""


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("source", metavar="SOURCE", help="file with the source sentences")
    add("target", metavar="TARGET", help="file with their translations")
    add("--output", metavar="FILE", required=True, help="file for the alignments, written over")
    add(
        "--symmetrization",
        choices=METHODS,
        help=f"how the two directions are combined (default = {METHODS[0]})",
    )
    add("--priors", metavar="FILE", help="priors that --save-priors wrote, to align alike")
    add(
        "--save-priors", metavar="FILE", help="file for priors that are counted from the alignments"
    )
    add("--learn-aligner", metavar="FILE", help="file for an aligner that is learned from them")
    add("--aligner", metavar="FILE", help="align with such a file, without eflomal")


def _run(args: argparse.Namespace) -> Iterator[str]:
    from allennlp_nef.commands.word_alignment import align_files

    return align_files(args)


ALIGN_WORDS = Command("align-words", _SUMMARY, _DETAILS, _add_arguments, _run, False)
