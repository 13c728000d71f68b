"""`allennlp-nef score-tags`: the scores of one system, of two or of a leaderboard."""

import argparse
import json
import logging
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import numpy

from allennlp_nef.cli.shared import checking, integer
from allennlp_nef.data.formats.chunks import convert_tags
from allennlp_nef.data.formats.conllu import TAG_COLUMNS
from allennlp_nef.data.formats.error_spans import SpannedText, read_error_spans, severities_of
from allennlp_nef.data.formats.tag_files import (
    MIN_LINES,
    TagFile,
    TaggedSentence,
    check_labeled,
    check_lines_up,
    check_sentences,
    check_systems,
    kinds_in,
    leave_out,
    line_up,
    read_conllu_tags,
    read_conllu_trees,
    read_sentence_scores,
    read_tag_column,
    read_tags,
    read_text,
    read_word_scores,
    with_words,
)
from allennlp_nef.data.formats.wmt_layouts import HEADER
from allennlp_nef.data.formats.wmt_segments import (
    OFFICIAL,
    Segment,
    is_segment_file,
    join_segments,
    pairs_of,
    read_segments,
)
from allennlp_nef.errors import DataFormatError, UserError, quote
from allennlp_nef.metrics.significance import MIN_DOCUMENTS, Comparison, compare
from allennlp_nef.metrics.tag_scores import (
    CHUNKS,
    TAGS,
    WORD_QE,
    Scorer,
    TagCounts,
    TypeCounts,
    without_bioul,
)
from allennlp_nef.metrics.tree_scores import NAMES as TREE_NAMES
from allennlp_nef.metrics.tree_scores import TREES
from allennlp_nef.metrics.wmt_scores import CORRELATIONS, EXPLANATIONS, SEGMENT_SPANS, SPANS

logger = logging.getLogger(__name__)
TRIALS = 10_000
_NAMES = {
    "precision-overall": "precision",
    "recall-overall": "recall",
    "f1-overall": "F1",
    "f1_ok": "F1-OK",
    "f1_bad": "F1-BAD",
    "f1_mult": "F1-MULT",
    "mcc": "MCC",
    "f1": "F1",
    "recall_at_k": "recall at K",
    "auc": "AUC",
    "average_precision": "AP",
    "pearson": "Pearson",
    "spearman": "Spearman",
    "kendall": "Kendall",
    "mae": "MAE",
    "rmse": "RMSE",
    "mpp_precision": "MPP-P",
    "mpp_recall": "MPP-R",
    "mpp": "MPP",
    "mpp_many_to_many": "MPP n:m",
    "mpp_penalty": "MPP penalty",
    "mpp_weights": "MPP weights",
    "mpp_macro": "MPP macro",
    **TREE_NAMES,
}

SUMMARY = "Score files of predicted tags against gold tags, and compare two systems."
DETAILS = """
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
        Error spans with severities. Precision, recall and F1 over characters, half a point for the right character with
        the wrong severity. In files of WMT24 to 26 a character counts once for each span that covers it, an omission
        does not count, and there is MPP, the match of spans with partial credit: its precision, recall and F1; F1
        where a span may match several (n:m), where other severities lose 0.5 (penalty), where minor errors weigh 0.2
        (weights), and the mean over segments (macro).
wmt-sentences
        A number for each sentence: correlations of Pearson, Spearman and Kendall, mean absolute error (MAE) and root
        mean squared error (RMSE). A number a line, in columns, or in files of WMT24 to 26.
wmt-error-free
        Which segments are free of errors, in files of WMT24 to 26: OK and BAD of segments, with MCC. A segment is OK
        if its file says so (task 3 of WMT26), or else if it has no span, no omission and no score below 85.

    %(prog)s gold.conll predicted.conll --format conll
    %(prog)s gold.conllu parsed.conllu --format conllu --trees

With two systems it prints the difference of their main scores (F1 of the chunks, accuracy, or F1-MULT and MCC), the
95%% interval of a paired bootstrap, and p by approximate randomization, both over sentences. With several files for
each system, such as those of several seeds, the scores are means over the files, and "p of runs" is that of Welch's
t-test over them: whether models of other seeds would differ, too. For spans the score is F1, for explanations all
three, for sentences Pearson's r, MAE and RMSE:

    %(prog)s gold.conll a1.conll a2.conll a3.conll b1.conll b2.conll b3.conll --runs 3 --format conll

Files of WMT24 to 26 are scored for each language pair, then come the means of the pairs. Their systems are compared
over documents in place of sentences, where there are 10 or more.

With --leaderboard there may be any number of systems, and they come in one table, the best one first:

    %(prog)s test.tags submissions/*.txt --format wmt --leaderboard

Scores are percentages in the tables, fractions of 1 in the JSON. The exit status is 2 where files cannot be scored.
"""

_WMT = ("wmt", "wmt-explanations", "wmt-spans", "wmt-sentences", "wmt-error-free")
_OF_SEGMENTS = ("wmt-spans", "wmt-sentences", "wmt-error-free")
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
    "clip_spans": _OF_SEGMENTS,
    "hallucinations": _WMT[:4],
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
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
        help="as the official scripts, cut spans that end after their text, and leave out those that start "
        "after their end",
    )


def run(args: argparse.Namespace) -> Iterator[str]:
    reports = _reports(args)
    if args.json:
        yield json.dumps(_as_json(reports), indent=2)
        return
    what = "language pair" if _are_pairs(reports) else "kind"
    titles = ("" if kind is None else f"{what}: {kind}\n" for kind in reports)
    texts = [title + report.as_text() for title, report in zip(titles, reports.values())]
    if _are_pairs(reports):
        texts.append(_means_text(reports))
    yield "\n\n".join(texts)


@checking(add_arguments)
def score_tags(
    gold: str,
    predicted: Sequence[str],
    *,
    format: str,
    runs: int = 1,
    trials: int | None = None,
    seed: int | None = None,
    leaderboard: bool = False,
    encoding: str = "utf-8",
    gold_column: int | None = None,
    predicted_column: int | None = None,
    word_column: int | None = None,
    comment_prefix: str | None = None,
    no_chunks: bool | None = None,
    column: str | None = None,
    trees: bool | None = None,
    gaps: str | None = None,
    text: str | None = None,
    hallucinations: str | None = None,
    field: str | None = None,
    clip_spans: bool | None = None,
) -> dict[str, Any]:
    """Scores files of predicted tags against gold tags.

    The parameters are the options of `allennlp-nef score-tags`, and the result is what it prints as JSON: the
    `systems`, and of two systems their `comparison`. Raises `UserError`.
    """
    return _as_json(_reports(argparse.Namespace(**locals())))


def _as_json(reports: "Mapping[str | None, Report]") -> dict[str, Any]:
    if None in reports:
        return reports[None].as_json()
    result = {str(kind): report.as_json() for kind, report in reports.items()}
    if _are_pairs(reports):
        result["mean"] = {"systems": [{"mean": mean} for mean, _ in _means(reports)]}
    return result


def _are_pairs(reports: "Mapping[str | None, Report]") -> bool:
    """Whether the reports are of several language pairs."""
    return len(reports) > 1 and next(iter(reports.values())).gold.documents is not None


def _means(reports: "Mapping[str | None, Report]") -> "list[tuple[dict[str, float], str]]":
    """The mean scores of each system over the language pairs, and its first file; of a leaderboard, the best first."""
    scores: dict[tuple[str, int], list[dict[str, float]]] = {}  # two systems may have the same file
    for report in reports.values():
        seen: Counter[str] = Counter()
        for runs in report.systems:
            path = runs[0].file.path
            seen[path] += 1
            scores.setdefault((path, seen[path]), []).append(_over(numpy.mean, runs))
    rows = [
        ({name: float(numpy.mean([row[name] for row in rows])) for name in rows[0]}, path)
        for (path, _), rows in scores.items()
    ]
    report = next(iter(reports.values()))
    if report.is_leaderboard:
        rows.sort(key=lambda row: -row[0][report.scorer.primary])
    return rows


def _means_text(reports: "Mapping[str | None, Report]") -> str:
    title = "mean of the language pairs"
    if next(iter(reports.values())).scorer is SEGMENT_SPANS:
        title += " (the official script of WMT25 prints the mean precision as avg_rec, and the mean recall as avg_prec)"
    return "\n".join([title, *_table(_means(reports), "system")])


def _reports(args: argparse.Namespace) -> "dict[str | None, Report]":
    """The report of each kind of tags; that of None where files have one kind."""
    _check(args)
    paths = [args.gold, *(args.predicted or [args.gold])]
    if args.format in _OF_SEGMENTS and (
        args.format == "wmt-error-free" or is_segment_file(args.gold, args.encoding)
    ):
        if args.hallucinations is not None:
            raise UserError("--hallucinations: expected files of WMT23 or before, got segments")
        by_pair = _read_segments(args, paths)
        only = len(by_pair) == 1
        return {None if only else pair: _score(args, *read) for pair, read in by_pair.items()}
    kinds: list[str | None] = [*(_kinds_of(args, paths) if args.format == "wmt" else ())]
    return {kind: _score(args, *_read(args, paths, kind)) for kind in kinds or [None]}


def _score(args: argparse.Namespace, files: Sequence[TagFile], scorer: Scorer) -> "Report":
    """The scores of a gold file and predicted files."""
    gold, *predicted = files
    for file in predicted:
        check_lines_up(gold, file)
    if scorer is EXPLANATIONS and not any(len(set(tags)) == 2 for tags in gold.tags):
        raise UserError(f"{gold.path}: expected a sentence with both OK and BAD, got none")
    for file in (gold, *predicted) if scorer is CORRELATIONS else ():
        if len({score for (score,) in file.tags}) == 1:
            raise UserError(
                f"{file.path}: expected scores that differ, got {file.tags[0][0]} for every sentence"
            )
    if scorer is CHUNKS and not _is_bio(gold) and all(map(_is_bio, predicted)):
        logger.warning(
            "The predicted tags are BIO, the gold tags of %s are not: the accuracy compares the tags as they are.",
            gold.path,
        )
    runs = [_run_of(gold, file, scorer) for file in predicted]
    systems = [runs[i : i + args.runs] for i in range(0, len(runs), args.runs)]
    trials, seed = TRIALS if args.trials is None else args.trials, args.seed or 0
    comparisons = {}
    if args.leaderboard:
        systems.sort(key=lambda runs: -_over(numpy.mean, runs)[scorer.primary])
    elif len(systems) > 1:
        first, second = (
            numpy.stack([_by_document(gold, run.counts.sentences) for run in runs])
            for runs in systems
        )
        for name in scorer.main:

            def score(counts: numpy.ndarray, name: str = name) -> numpy.ndarray:
                return scorer.scores(counts)[name]

            comparisons[name] = compare(first, second, score, trials, seed)
    return Report(gold, scorer, systems, comparisons, trials, seed, args.leaderboard)


def _by_document(gold: TagFile, counts: numpy.ndarray) -> numpy.ndarray:
    """The sums of counts (sentences, counts) over the sentences of a document; as they are where there are too few."""
    if not _draws_documents(gold):
        return counts
    _, places = numpy.unique(gold.documents or (), return_inverse=True)
    sums = numpy.zeros((places.max() + 1, counts.shape[1]))
    numpy.add.at(sums, places, counts)
    return sums


def _draws_documents(gold: TagFile) -> bool:
    """Whether two systems are compared over documents in place of sentences."""
    return gold.documents is not None and len(set(gold.documents)) >= MIN_DOCUMENTS


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


def _read(
    args: argparse.Namespace, paths: Sequence[str], kind: str | None
) -> tuple[list[TagFile], Scorer]:
    """The gold file and the predicted files, in this order, and what scores them; of several kinds of tags, one."""
    if args.format == "conll":
        return _read_columns(args, paths), TAGS if args.no_chunks else CHUNKS
    if args.trees:
        return [read_conllu_trees(path, args.encoding) for path in paths], TREES
    if args.format == "conllu":
        column = args.column or "upos"
        files = [read_conllu_tags(path, column, args.encoding) for path in paths]
        for file in files:
            check_labeled(file, column)
        return files, TAGS
    if args.format == "wmt":
        return _read_word_qe(args, paths, kind)
    if args.format == "wmt-spans":
        files, scorer = _read_spans(paths, bool(args.clip_spans), args.encoding), SPANS
    elif args.format == "wmt-sentences":
        files, scorer = [read_sentence_scores(path, args.encoding) for path in paths], CORRELATIONS
        check_systems(files)
    else:
        field, scorer = args.field or "bad_probabilities", EXPLANATIONS
        scores = [read_word_scores(path, field, args.encoding) for path in paths[1:]]
        files = [read_tags(paths[0], args.encoding), *scores]
    files = leave_out(files, args.hallucinations, args.encoding)
    return line_up(files) if args.format == "wmt-explanations" else files, scorer


def _read_columns(args: argparse.Namespace, paths: Sequence[str]) -> list[TagFile]:
    gold, predicted = args.gold_column, args.predicted_column
    predicted = -1 if predicted is None else predicted
    if gold is None:
        gold = -1 if args.predicted else -2
    if gold == predicted and not args.predicted:
        raise UserError(
            f"--gold-column: expected another column than --predicted-column in one file, got {gold}"
        )
    chunks, words = not args.no_chunks, args.word_column or 0
    return [
        read_tag_column(path, column, chunks, args.encoding, words, args.comment_prefix)
        for path, column in zip(paths, [gold] + [predicted] * (len(paths) - 1))
    ]


def _kinds_of(args: argparse.Namespace, paths: Sequence[str]) -> list[str]:
    """The kinds of tags in the files of the format wmt, where files have several; else none."""
    gold, *others = [kinds_in(path, args.encoding) for path in paths]
    if max(map(len, (gold, *others))) < 2:
        return []
    for path, kinds in zip(paths[1:], others):
        if kinds != gold:
            expected, got = (", ".join(names) or "none" for names in (gold, kinds))
            raise DataFormatError(
                f"{path}: expected the kinds of tags of {paths[0]} ({expected}), got {got}"
            )
    for name, value in (("--text", args.text), ("--gaps", args.gaps)):
        if value is not None:
            raise UserError(f"{name}: expected files with one kind of tags, got {', '.join(gold)}")
    return gold


def _read_word_qe(
    args: argparse.Namespace, paths: Sequence[str], kind: str | None
) -> tuple[list[TagFile], Scorer]:
    if args.text is not None and args.gaps == "only":
        raise UserError("--text: expected tags of words, got --gaps only")
    files = [read_tags(path, args.encoding, kind) for path in paths]
    texts = [] if args.text is None else [read_text(args.text, args.encoding)]
    files = leave_out([*files, *texts], args.hallucinations, args.encoding)
    files, texts = files[: len(paths)], files[len(paths) :]
    gaps = {"yes": True, "no": False}.get(args.gaps)
    files = line_up(files, gaps, args.gaps == "only")
    for text in texts:
        files[0] = with_words(files[0], text)
    kind = "gap" if args.gaps == "only" else check_systems(files)
    unit = {"gap": "gaps", "source": "source words"}.get(kind or "")
    return files, WORD_QE if unit is None else replace(WORD_QE, unit=unit)


def _read_spans(paths: Sequence[str], clip: bool, encoding: str) -> list[TagFile]:
    """The severities at the places of each text, as tags."""
    texts: list[list[SpannedText]] = []
    files: list[TagFile] = []
    for path in paths:
        system, sentences = read_error_spans(path, clip, encoding)
        texts.append(sentences)
        tagged = []
        for sentence in sentences:
            severities = severities_of(sentence.text, sentence.spans)
            tagged.append(TaggedSentence(severities, [sentence.line] * len(severities), None))
        files.append(TagFile(path, tagged, system=system))
        check_sentences(files[0], files[-1])
        for expected, got in zip(texts[0], sentences):
            if expected.text.strip() != got.text.strip():
                raise DataFormatError(
                    f"{path}:{got.line}: expected the text of {paths[0]}:{expected.line}, "
                    f"{quote(expected.text)}, got {quote(got.text)}"
                )
    check_systems(files)
    return files


def _read_segments(
    args: argparse.Namespace, paths: Sequence[str]
) -> dict[str, tuple[list[TagFile], Scorer]]:
    """The files of each language pair, with one tag a segment: its spans, its score, or whether it is OK."""
    clip = bool(args.clip_spans)
    files = []
    for path in paths:
        segments = read_segments(path, clip, args.encoding)
        official = [segment for segment in segments if segment.set_name == OFFICIAL]
        if len(official) < len(segments):
            logger.warning(
                "%s: left out %d of %d segments, which are not of the official set.",
                path,
                len(segments) - len(official),
                len(segments),
            )
        files.append(official)
    known = [pairs_of(segments) for segments in files]
    pairs = [pair for pair in known[0] if all(pair in of_file for of_file in known)]
    for path, of_file in zip(paths, known):
        others = [pair for pair in of_file if pair not in pairs]
        if not pairs:
            expected = ", ".join(known[0]) or "official segments"
            raise DataFormatError(
                f"{paths[-1]}: expected the language pairs of {paths[0]}, {quote(expected)}, got "
                f"{quote(', '.join(known[-1]) or 'none')}"
            )
        if others:
            logger.warning(
                "%s: left out the language pairs that other files lack: %s.",
                path,
                ", ".join(others),
            )
    scorer = {
        "wmt-spans": SEGMENT_SPANS,
        "wmt-sentences": CORRELATIONS,
        "wmt-error-free": replace(WORD_QE, unit=""),
    }[args.format]
    result = {}
    for pair in pairs:
        gold, *predicted = ([s for s in segments if s.pair == pair] for segments in files)
        joined = [
            join_segments(paths[0], gold, path, segments, clip)
            for path, segments in zip(paths[1:], predicted)
        ]
        documents = [segment.document for segment in gold]
        tagged = []
        for path, side in zip(paths, (gold, *joined)):
            tags = [
                TaggedSentence([_judged(args.format, segment, path)], [segment.line], None)
                for segment in side
            ]
            tagged.append(TagFile(path, tags, documents=documents))
        result[pair] = tagged, scorer
    return result


def _judged(format: str, segment: Segment, path: str) -> Any:
    """What a format compares of a segment. Raises a `DataFormatError` where its file lacks that."""
    is_free = segment.is_error_free()
    value: Any
    if format == "wmt-spans":
        value, what = segment.spans, "error spans"
    elif format == "wmt-sentences":
        value, what = None if segment.score is None else segment.score / 100, "a score"
    else:
        is_esa = segment.protocol == "ESA"
        value = None if is_free is None or not is_esa else "OK" if is_free else "BAD"
        what = "a judgment by the protocol ESA"
    if value is None:
        raise DataFormatError(f"{path}:{segment.line}: expected {what}, got none")
    return value


class Run(NamedTuple):
    """A file of predicted tags, with its scores."""

    file: TagFile
    counts: TagCounts
    scores: dict[str, float]


class Report(NamedTuple):
    """The scores of the systems, and their comparison."""

    gold: TagFile
    scorer: Scorer
    systems: list[list[Run]]
    comparisons: dict[str, Comparison]
    """By the name of the score; empty where there is only one system."""
    trials: int
    seed: int
    is_leaderboard: bool = False
    """Whether the systems are those of a leaderboard, the best one first."""

    def as_json(self) -> dict[str, Any]:
        """The report as a JSON object, in which scores are fractions of 1."""
        result: dict[str, Any] = {
            "gold": self.gold.path,
            "sentences": len(self.gold.sentences),
            "tokens": sum(map(len, self.gold.tags)),
            "systems": [
                {"mean": _over(numpy.mean, runs), "runs": [_run_as_json(run) for run in runs]}
                for runs in self.systems
            ],
        }
        if self.comparisons:
            values = {name: value._asdict() for name, value in self.comparisons.items()}
            result["comparison"] = {**values, "trials": self.trials, "seed": self.seed}
        return result

    def as_text(self) -> str:
        """The report as tables of percentages. For one file of chunk tags it is the text that `conlleval` prints."""
        if self.is_leaderboard:
            return self._leaderboard()
        parts = []
        for title, runs in zip(("first system", "second system"), self.systems):
            text = self._run(runs[0]) if len(runs) == 1 else self._runs(runs)
            if len(self.systems) > 1:
                path = f": {runs[0].file.path}" if len(runs) == 1 else ""
                text = f"{title}{path}\n{text}"
            parts.append(text)
        if self.comparisons:
            parts.append(self._comparison())
        return "\n\n".join(parts)

    def _run(self, run: Run) -> str:
        if self.scorer is CHUNKS:
            return conlleval_text(run.counts)
        lines = [self._processed([run])]
        if run.file.system is not None and run.file.system.header:
            values = zip(HEADER, run.file.system.header)
            lines.append("; ".join(f"{name.replace('_', ' ')}: {value}" for name, value in values))
        lines.append("; ".join(f"{_name(n)}: {100 * run.scores[n]:6.2f}" for n in run.scores))
        if run.counts.types:
            title = "score" if self.scorer is TREES else "tag"
            lines.append(f"\nprecision  recall      F1     gold  predicted  {title}")
        for name, counts in run.counts.types.items():
            precision, recall, f1 = counts.precision_recall_f1(100)
            lines.append(
                f"{precision:9.2f} {recall:7.2f} {f1:7.2f} {counts.gold:8d} {counts.predicted:10d}  {name}"
            )
        return "\n".join(lines)

    def _runs(self, runs: Sequence[Run]) -> str:
        """A line for each run, then their mean and standard deviation."""
        rows = [(run.scores, run.file.path) for run in runs]
        rows.append((_over(numpy.mean, runs), "mean"))
        rows.append((_over(partial(numpy.std, ddof=1), runs), "standard deviation"))
        return "\n".join([self._processed(runs), *_table(rows)])

    def _leaderboard(self) -> str:
        """A line for each system, with its footprint where its files have it."""
        runs = [run for system in self.systems for run in system]
        rows = []
        for system in self.systems:
            info = system[0].file.system
            header = info.header if info is not None else ()
            numbers = dict(zip(HEADER, header))
            cells = [f"{numbers.get(name, '-'):>14}" for name in HEADER]
            title = system[0].file.path + (f" ({info.name})" if info is not None else "")
            rows.append((_over(numpy.mean, system), "  ".join([" ".join(cells), title])))
        columns = " ".join(f"{name.replace('_', ' '):>14}" for name in HEADER) + "  system"
        return "\n".join([self._processed(runs), *_table(rows, columns)])

    def _processed(self, runs: Sequence[Run]) -> str:
        tokens = sum(map(len, self.gold.tags))
        unit = self.scorer.unit
        text = f"processed {f'{tokens} {unit} in ' if unit else ''}{len(self.gold.sentences)} sentences"
        if self.scorer is EXPLANATIONS:
            text += f" (scored: {int(runs[0].counts.sentences[:, -1].sum())} with both OK and BAD)"
        files = [self.gold, *(run.file for run in runs)]
        with_gaps = [file.path for file in files if file.has_gaps]
        return text + (f" (left out: the gaps of {', '.join(with_gaps)})" if with_gaps else "")

    def _comparison(self) -> str:
        has_runs = len(self.systems[0]) > 1
        over = ", over documents" if _draws_documents(self.gold) else ""
        lines = [
            f"first minus second ({self.trials} trials, seed {self.seed}{over})",
            "          difference     95% interval         p" + "  p of runs" * has_runs,
        ]
        for name, (difference, p_value, low, high, p_value_of_runs) in self.comparisons.items():
            interval = f"{100 * low:+.2f} to {100 * high:+.2f}"
            cells = [f"{_name(name):9} {100 * difference:+10.2f} {interval:>16} {_p(p_value):>9}"]
            if has_runs:
                cells.append(f"{_p(p_value_of_runs):>10}")
            lines.append(" ".join(cells))
        run = self.systems[0][0]
        others = run.scores.keys() - self.scorer.scores(run.counts.sentences.sum(0)).keys()
        if others:
            names = ", ".join(_name(name) for name in run.scores if name in others)
            lines.append(f"not compared: {names}, which are no sums over sentences")
        return "\n".join(lines)


def conlleval_text(counts: TagCounts) -> str:
    """The text that `conlleval` prints, from the counts of `CHUNKS`."""
    correct, predicted, gold, hits, tokens = counts.sentences.sum(0).tolist()
    lines = [
        f"processed {tokens} tokens with {gold} phrases; found: {predicted} phrases; correct: {correct}.",
        f"accuracy: {100 * hits / tokens if tokens else 0:6.2f}%; "
        + _percentages(TypeCounts(correct, predicted, gold)),
    ]
    for name, of_type in counts.types.items():
        lines.append(f"{name:>17}: {_percentages(of_type)}  {of_type.predicted}")
    return "\n".join(lines)


def _percentages(counts: TypeCounts) -> str:
    precision, recall, f1 = counts.precision_recall_f1(100)
    return f"precision: {precision:6.2f}%; recall: {recall:6.2f}%; FB1: {f1:6.2f}"


def _run_of(gold: TagFile, file: TagFile, scorer: Scorer) -> Run:
    counts = scorer.count(gold.tags, file.tags)
    scores: dict[str, Any] = dict(scorer.scores(counts.sentences.sum(0)))
    scores.update(scorer.whole(gold.tags, file.tags))
    return Run(file, counts, {name: float(score) for name, score in scores.items()})


def _over(statistic: Any, runs: Sequence[Run]) -> dict[str, float]:
    return {name: float(statistic([r.scores[name] for r in runs])) for name in runs[0].scores}


def _run_as_json(run: Run) -> dict[str, Any]:
    types = {}
    for name, counts in run.counts.types.items():
        scores = dict(zip(("precision", "recall", "f1"), counts.precision_recall_f1()))
        types[name] = {**scores, **counts._asdict()}
    result = {"path": run.file.path, "scores": run.scores, "types": types}
    if run.file.system is not None:
        known = {**run.file.system._asdict(), **dict(zip(HEADER, run.file.system.header))}
        result["system"] = {k: v for k, v in known.items() if k != "header" and v is not None}
    return result


def _table(rows: Sequence[tuple[dict[str, float], str]], title: str = "") -> list[str]:
    """The lines of a table: the scores of a row, and its title; `title` is that of the titles."""
    names = [f"{_name(name):>9}" for name in rows[0][0]]
    lines = [" ".join(names) + (f"  {title}" if title else "")]
    for scores, row_title in rows:
        numbers = (f"{100 * x:{len(name)}.2f}" for x, name in zip(scores.values(), names))
        lines.append(" ".join(numbers) + f"  {row_title}")
    return lines


def _p(value: float | None) -> str:
    if value is None:
        return "-"
    return f"{value:.4f}" if value >= 0.00005 else f"{value:.0e}"


def _name(score: str) -> str:
    """The name of a score in the text."""
    return _NAMES.get(score, score)
