import argparse
import logging
from typing import Iterator, List, Tuple

from allennlp.commands.subcommand import Subcommand
from overrides import overrides

from allennlp_nef.commands.arguments import add_parser, integer
from allennlp_nef.commands.printed import printed
from allennlp_nef.commands.score_report import Report, evaluate
from allennlp_nef.data.formats.chunks import convert_tags
from allennlp_nef.data.formats.conllu import TAG_COLUMNS
from allennlp_nef.data.formats.tag_files import (
    TagFile,
    check_labelled,
    check_lines_up,
    read_conllu_tags,
    read_tag_column,
)
from allennlp_nef.data.formats.wmt_tag_files import MIN_LINES, read_word_qe_tags
from allennlp_nef.errors import DataFormatError
from allennlp_nef.metrics.tag_scores import CHUNKS, TAGS, WORD_QE, without_bioul

logger = logging.getLogger(__name__)

_SUMMARY = "Score files of predicted tags against gold tags, and compare two systems."
_DETAILS = """
conll   columns, chunk tags such as B-PER: precision, recall and F1 of the chunks, counted and printed as
        conlleval does. One file alone has the gold and the predicted tags in its last two columns.
        Lines that begin with -DOCSTART- are no tokens. BIOUL is brought to BIO; else the accuracy compares tags as
        they are, IOB1 and BIO too.
conllu  accuracy of the UPOS, XPOS or FEATS of CoNLL-U, and precision, recall and F1 of each.
wmt     OK and BAD of word-level quality estimation: F1 of each, their product F1-MULT, and MCC. Files are .tags,
        or submissions with columns separated by tabs. Tags of gaps are left out.

With two systems: the difference of their main scores (F1 of the chunks, accuracy, or F1-MULT and MCC), the 95%
interval of a paired bootstrap, and p by approximate randomisation, both over sentences. With several files a system,
means over them:

    allennlp score-tags gold.conll a1.conll a2.conll a3.conll b1.conll b2.conll b3.conll --runs 3 --format conll

Scores are percentages in the tables, fractions of 1 in the JSON. The exit status is 2 where files cannot be scored.
"""

# Options that only one format has.
_FORMAT_OF = {
    "gold_column": "conll",
    "predicted_column": "conll",
    "no_chunks": "conll",
    "column": "conllu",
    "gaps": "wmt",
}


@Subcommand.register("score-tags")
class ScoreTags(Subcommand):
    """
    Scores predicted tags against gold tags, and systems against each other; `allennlp score-tags --help` says how.

    Registered as a `Subcommand` with name "score-tags".
    """

    requires_plugins = False

    @overrides
    def add_subparser(self, parser: argparse._SubParsersAction) -> argparse.ArgumentParser:
        subparser = add_parser(parser, self.name, _SUMMARY, _DETAILS)
        add = subparser.add_argument
        add("gold", metavar="GOLD", help="file with the gold tags")
        add(
            "predicted",
            metavar="PREDICTED",
            nargs="*",
            help="file with the tags of a system; a second one is of the system to compare it with",
        )
        add("--format", required=True, choices=("conll", "conllu", "wmt"))
        add(
            "--runs",
            type=integer(1),
            default=1,
            metavar="N",
            help="files of each system, such as one a seed; the first N are the first system's",
        )
        add("--trials", type=integer(1), default=10_000, metavar="N", help="of the comparison")
        add("--seed", type=integer(0), default=0, metavar="N", help="of the comparison")
        add("--json", action="store_true", help="print JSON instead of tables")
        add("--encoding", default="utf-8", help="of the files")
        add = subparser.add_argument_group("with --format conll").add_argument
        add(
            "--gold-column",
            type=int,
            metavar="I",
            help="column of the gold tags, from 0, or from -1 for the last (default = -1; -2 in one file with both)",
        )
        add(
            "--predicted-column",
            type=int,
            metavar="I",
            help="column of the predicted tags (default = -1)",
        )
        add(
            "--no-chunks",
            action="store_true",
            default=None,
            help="score the tags one by one, as with conllu: they are no chunk tags",
        )
        add = subparser.add_argument_group("with --format conllu").add_argument
        add("--column", choices=TAG_COLUMNS, help="column of the tags (default = upos)")
        add = subparser.add_argument_group("with --format wmt").add_argument
        add(
            "--gaps",
            choices=("yes", "no"),
            help="whether lines with as many tags in all files have 2n+1 of them for n words (default = only if all "
            f"lines are such, {MIN_LINES} or more, and each has an odd number)",
        )
        subparser.set_defaults(func=printed(_report))
        return subparser


def _report(args: argparse.Namespace) -> Iterator[str]:
    """What is to be printed."""
    report = _score(args)
    yield report.as_json() if args.json else report.as_text()


def _score(args: argparse.Namespace) -> Report:
    _check(args)
    gold, *predicted = _read(args)
    for file in predicted:
        check_lines_up(gold, file)
    is_chunks = args.format == "conll" and not args.no_chunks
    if is_chunks and not _is_bio(gold) and all(map(_is_bio, predicted)):
        logger.warning(
            "The tags of %s are no BIO, those of the predictions are: the accuracy is that of the tags as they are.",
            gold.path,
        )
    scorer = WORD_QE if args.format == "wmt" else CHUNKS if is_chunks else TAGS
    systems = [predicted[i : i + args.runs] for i in range(0, len(predicted), args.runs)]
    return evaluate(gold, systems, scorer, args.trials, args.seed)


def _is_bio(file: TagFile) -> bool:
    """Whether each chunk begins with B, or will when BIOUL is brought to BIO."""
    return all(list(tags) == convert_tags(tags, "BIO") for tags in without_bioul(file.tags))


def _check(args: argparse.Namespace) -> None:
    for name, kind in _FORMAT_OF.items():
        if getattr(args, name) is not None and args.format != kind:
            option = f"--{name.replace('_', '-')}"
            raise DataFormatError(f"{option}: expected --format {kind}, got {args.format}")
    got, runs = len(args.predicted), args.runs
    if got == 0 and (args.format != "conll" or runs > 1):
        raise DataFormatError("PREDICTED: expected a file with predicted tags, got none")
    if got not in (0, runs, 2 * runs):
        raise DataFormatError(
            f"PREDICTED: expected {runs} or {2 * runs} files (--runs {runs}), got {got}"
        )


def _read(args: argparse.Namespace) -> List[TagFile]:
    """The gold file, then the predicted ones."""
    paths = [args.gold, *(args.predicted or [args.gold])]
    if args.format == "conllu":
        column = args.column or "upos"
        files = [read_conllu_tags(path, column, args.encoding) for path in paths]
        for file in files:
            check_labelled(file, column)
        return files
    if args.format == "wmt":
        gaps = {"yes": True, "no": False, None: None}[args.gaps]
        return read_word_qe_tags(paths, gaps, args.encoding)
    gold_column, predicted_column = _columns(args)
    columns = [gold_column] + [predicted_column] * (len(paths) - 1)
    return [
        read_tag_column(path, column, not args.no_chunks, args.encoding)
        for path, column in zip(paths, columns)
    ]


def _columns(args: argparse.Namespace) -> Tuple[int, int]:
    gold, predicted = args.gold_column, args.predicted_column
    predicted = -1 if predicted is None else predicted
    if gold is None:
        gold = -1 if args.predicted else -2
    if gold == predicted and not args.predicted:
        raise DataFormatError(
            f"--gold-column: expected another column than --predicted-column in one file, got {gold}"
        )
    return gold, predicted
