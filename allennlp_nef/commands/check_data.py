import argparse
from collections.abc import Iterator

from allennlp_nef.commands.command import Command, integer

_SUMMARY = "Check the data of a config, or other files, before a training."
_DETAILS = """
Reads the training, validation and test data as a training would, goes on after sentences with errors, and prints what
it finds: numbers and lengths of sentences, the share of each label, words and labels that the training data lack,
chunks that begin with I-, words without alignments, sentences that occur again within and across the data, odd
characters, and the number of batches and the memory that a training needs.

    %(prog)s training_configs/ner_nef_f_crf_5.jsonnet
    %(prog)s training_configs/qe_nef_f.jsonnet -o '{"train_data_path": "data/train"}' --json

Without a config, --reader names the reader, and --overrides sets its options:

    %(prog)s --reader conll_tags --train train.conll --test test.conll -o '{"dataset_reader.tag_column": 1}'

The exit status is 1 where a sentence cannot be read, and 2 where a file is missing or an option is wrong.
"""


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("config", metavar="CONFIG", nargs="?", help="config of a training")
    add("--reader", metavar="NAME", help="in place of a config: the dataset reader")
    add("--train", metavar="PATH", help="training data, in place of those of the config")
    add("--dev", metavar="PATH", dest="validation", help="validation data, likewise")
    add("--test", metavar="PATH", help="test data, likewise")
    add(
        "-o",
        "--overrides",
        default="",
        metavar="JSON",
        help="changes to the config, as for train",
    )
    add(
        "--max-errors",
        type=integer(1),
        default=20,
        metavar="N",
        help="how many errors are shown; all are counted",
    )
    add("--json", action="store_true", help="print JSON instead of tables")


def _run(args: argparse.Namespace) -> Iterator[str]:
    from allennlp_nef.commands.data_checks import check_data

    return check_data(args)


CHECK_DATA = Command("check-data", _SUMMARY, _DETAILS, _add_arguments, _run, True)
