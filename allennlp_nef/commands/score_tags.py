import argparse
import json
import logging
from collections.abc import Iterator, Sequence

from allennlp_nef.commands.command import Command, integer
from allennlp_nef.commands.score_report import Report, evaluate
from allennlp_nef.commands.wmt_inputs import kinds_of, read_wmt_files, scorer_of
from allennlp_nef.data.formats.chunks import convert_tags
from allennlp_nef.data.formats.conllu import TAG_COLUMNS
from allennlp_nef.data.formats.tag_files import (
    TagFile,
    check_labeled,
    check_lines_up,
    read_conllu_tags,
    read_conllu_trees,
    read_tag_column,
)
from allennlp_nef.data.formats.wmt_tag_files import MIN_LINES
from allennlp_nef.errors import UserError
from allennlp_nef.metrics.tag_scores import CHUNKS, TAGS, without_bioul
from allennlp_nef.metrics.tree_scores import TREES

logger = logging.getLogger(__name__)
TRIALS = 10_000

_SUMMARY = "Score files of predicted tags against gold tags, and compare two systems."
_DETAILS = """
conll   Columns with chunk tags such as B-PER. Precision, recall and F1 of the chunks, counted and printed as
        conlleval does. A single file has the gold and the predicted tags in its last two columns.
        Lines that begin with -DOCSTART- are not tokens. BIOUL tags are converted to BIO first. The accuracy compares
        other tags as they are, also IOB1 with BIO.
conllu  The UPOS, XPOS or FEATS of CoNLL-U. The accuracy, and precision, recall and F1 of each tag. With --trees the
        dependency trees: UAS, LAS, CLAS, MLAS and BLEX, as the official evaluation of UD has them, by the package
        udtools.
wmt     OK and BAD of word-level quality estimation. F1 of each, their product F1-MULT, and MCC. Files are .tags files,
        or have one of the layouts of WMT16 to 23 in columns, which is recognized: submissions with or without header
        lines, gold files. Those of gaps or of source words are scored as such, and files with several kinds of tags
        kind by kind. In .tags files, tags of gaps are left out.
wmt-explanations
        A number for each word (WMT22) against gold tags of the format wmt: recall among the K highest, K the number
        of BAD words; area under the ROC curve; average precision. Predicted files have the numbers of a sentence a
        line, or are answers in JSON that predict wrote.
wmt-spans
        Error spans with severities (WMT23). Precision, recall and F1 over characters, half a point for the right
        character with the wrong severity.
wmt-sentences
        A number for each sentence: correlations of Pearson, Spearman and Kendall, mean absolute error (MAE) and root
        mean squared error (RMSE). A number a line, or in columns.

    %(prog)s gold.conll predicted.conll --format conll
    %(prog)s gold.conllu parsed.conllu --format conllu --trees

With two systems it prints the difference of their main scores (F1 of the chunks, accuracy, or F1-MULT and MCC), the
95%% interval of a paired bootstrap, and p by approximate randomization, both over sentences. With several files for
each system, such as those of several seeds, the scores are means over the files, and "p of runs" is that of Welch's
t-test over them: whether models of other seeds would differ, too. For spans the score is F1, for explanations all
three, for sentences Pearson's r, MAE and RMSE:

    %(prog)s gold.conll a1.conll a2.conll a3.conll b1.conll b2.conll b3.conll --runs 3 --format conll

With --leaderboard there may be any number of systems, and they come in one table, the best one first:

    %(prog)s test.tags submissions/*.txt --format wmt --leaderboard

Scores are percentages in the tables, fractions of 1 in the JSON. The exit status is 2 where files cannot be scored.
"""

_WMT = ("wmt", "wmt-explanations", "wmt-spans", "wmt-sentences")
# The options that belong to some formats only.
_FORMATS_OF: dict[str, Sequence[str]] = {
    "gold_column": ["conll"],
    "predicted_column": ["conll"],
    "word_column": ["conll"],
    "comment_prefix": ["conll"],
    "no_chunks": ["conll"],
    "column": ["conllu"],
    "trees": ["conllu"],
    "gaps": ["wmt"],
    "text": ["wmt"],
    "field": ["wmt-explanations"],
    "clip_spans": ["wmt-spans"],
    "hallucinations": _WMT,
}


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("gold", metavar="GOLD", help="file with the gold tags")
    add(
        "predicted",
        metavar="PREDICTED",
        nargs="*",
        help="file with the tags that a system predicted; a second file is of a system to compare it with",
    )
    formats = ("conll", "conllu", *_WMT)
    add("--format", required=True, choices=formats, help="format of all files")
    add(
        "--runs",
        type=integer(1),
        default=1,
        metavar="N",
        help="how many files each system has, such as one a seed; the first N are the first system's",
    )
    add(
        "--trials",
        type=integer(1),
        metavar="N",
        help=f"samples of the comparison (default = {TRIALS:,})",
    )
    add("--seed", type=integer(0), metavar="N", help="random seed of the comparison (default = 0)")
    add(
        "--leaderboard",
        action="store_true",
        help="print one table of all systems, the best one first, without a comparison",
    )
    add("--json", action="store_true", help="print JSON instead of tables")
    add("--encoding", default="utf-8", help="encoding of all files")
    add = parser.add_argument_group("with --format conll").add_argument
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
        "--word-column",
        type=int,
        metavar="I",
        help="column of the words in all files (default = 0)",
    )
    add(
        "--comment-prefix",
        metavar="TEXT",
        help="lines that begin with it are comments, such as # in GermEval 2014 (default: no line is a comment)",
    )
    add(
        "--no-chunks",
        action="store_true",
        default=None,
        help="the tags are not chunk tags: score them one by one, as with conllu",
    )
    add = parser.add_argument_group("with --format conllu").add_argument
    add("--column", choices=TAG_COLUMNS, help="column of the tags (default = upos)")
    add(
        "--trees",
        action="store_true",
        default=None,
        help="score the dependency trees; both files have the same words",
    )
    add = parser.add_argument_group("with --format wmt").add_argument
    add(
        "--gaps",
        choices=("yes", "no", "only"),
        help="whether a line that has the same number of tags in all files has 2n+1 tags for n words (default = only "
        f"if all lines do, each has an odd number, and there are at least {MIN_LINES} lines); only: the files have "
        "them, and the tags of gaps are scored",
    )
    add(
        "--text",
        metavar="FILE",
        help="what was tagged, a sentence a line: the words of gold tags that stand without words; those of the "
        "predicted files have to be the same",
    )
    add = parser.add_argument_group("with --format wmt, wmt-...").add_argument
    add(
        "--hallucinations",
        metavar="FILE",
        help="sentences to leave out: language pair and number, from 0, in columns with names, as WMT23 has them",
    )
    add(
        "--field",
        metavar="NAME",
        help="wmt-explanations: what counts in answers in JSON, such as trace.attention or attention.0; of several "
        "rows, their sum for each word (default = bad_probabilities)",
    )
    add(
        "--clip-spans",
        action="store_true",
        default=None,
        help="wmt-spans: as the official script, cut spans that end after their text, and leave out those that start "
        "after their end",
    )


def _report(args: argparse.Namespace) -> Iterator[str]:
    """Scores the files, and yields the text to print."""
    _check(args)
    paths = [args.gold, *(args.predicted or [args.gold])]
    kinds = kinds_of(args, paths) if args.format == "wmt" else []
    if not kinds:
        report = _score(args, paths)
        yield json.dumps(report.as_json(), indent=2) if args.json else report.as_text()
        return
    reports = {kind: _score(args, paths, kind) for kind in kinds}
    if args.json:
        yield json.dumps({kind: each.as_json() for kind, each in reports.items()}, indent=2)
    else:
        blocks = (f"kind: {kind}\n{each.as_text()}" for kind, each in reports.items())
        yield "\n\n".join(blocks)


def _score(args: argparse.Namespace, paths: Sequence[str], kind: str | None = None) -> Report:
    """The scores of the tags of a kind; None: the files have one kind."""
    gold, *predicted = _read(args, paths, kind)
    for file in predicted:
        check_lines_up(gold, file)
    is_chunks = args.format == "conll" and not args.no_chunks
    if is_chunks and not _is_bio(gold) and all(map(_is_bio, predicted)):
        logger.warning(
            "The predicted tags are BIO, the gold tags of %s are not: the accuracy compares the tags as they are.",
            gold.path,
        )
    if args.format in _WMT:
        scorer = scorer_of(args, gold, predicted)
    else:
        scorer = TREES if args.trees else CHUNKS if is_chunks else TAGS
    systems = [predicted[i : i + args.runs] for i in range(0, len(predicted), args.runs)]
    trials = TRIALS if args.trials is None else args.trials
    return evaluate(gold, systems, scorer, trials, args.seed or 0, args.leaderboard)


def _is_bio(file: TagFile) -> bool:
    """Whether the tags are BIO or BIOUL: each chunk begins with B, if need be after conversion to BIO."""
    return all(list(tags) == convert_tags(tags, "BIO") for tags in without_bioul(file.tags))


def _check(args: argparse.Namespace) -> None:
    """Finds mistakes in the options before a file is read."""
    for name, formats in _FORMATS_OF.items():
        if getattr(args, name) is not None and args.format not in formats:
            option = f"--{name.replace('_', '-')}"
            raise UserError(
                f"{option}: expected --format {' or '.join(formats)}, got {args.format}"
            )
    got, runs = len(args.predicted), args.runs
    if args.trees and args.column is not None:
        raise UserError("--column: expected no --trees, which read all columns, got both")
    if got == 0 and (args.format != "conll" or runs > 1):
        raise UserError("PREDICTED: expected a file with predicted tags, got none")
    if args.leaderboard and got % runs:
        raise UserError(f"PREDICTED: expected {runs} files a system (--runs {runs}), got {got}")
    if not args.leaderboard and got not in (0, runs, 2 * runs):
        raise UserError(
            f"PREDICTED: expected {runs} or {2 * runs} files (--runs {runs}), got {got}"
        )
    for name in ("trials", "seed"):
        if getattr(args, name) is not None and (args.leaderboard or got != 2 * runs):
            raise UserError(
                f"--{name}: expected the files of two systems to compare, got no comparison"
            )


def _read(args: argparse.Namespace, paths: Sequence[str], kind: str | None) -> list[TagFile]:
    """Reads the gold file and the predicted files, in this order."""
    if args.trees:
        return [read_conllu_trees(path, args.encoding) for path in paths]
    if args.format == "conllu":
        column = args.column or "upos"
        files = [read_conllu_tags(path, column, args.encoding) for path in paths]
        for file in files:
            check_labeled(file, column)
        return files
    if args.format in _WMT:
        return read_wmt_files(args, paths, kind)
    gold_column, predicted_column = _columns(args)
    columns = [gold_column] + [predicted_column] * (len(paths) - 1)
    chunks, words = not args.no_chunks, args.word_column or 0
    return [
        read_tag_column(path, column, chunks, args.encoding, words, args.comment_prefix)
        for path, column in zip(paths, columns)
    ]


def _columns(args: argparse.Namespace) -> tuple[int, int]:
    """The columns of the gold and of the predicted tags."""
    gold, predicted = args.gold_column, args.predicted_column
    predicted = -1 if predicted is None else predicted
    if gold is None:
        gold = -1 if args.predicted else -2
    if gold == predicted and not args.predicted:
        raise UserError(
            f"--gold-column: expected another column than --predicted-column in one file, got {gold}"
        )
    return gold, predicted


SCORE_TAGS = Command("score-tags", _SUMMARY, _DETAILS, _add_arguments, _report, False)
