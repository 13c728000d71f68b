"""`allennlp-nef score-tags`: scores one system, compares two, or prints a leaderboard."""

import argparse
import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain
from typing import Any

import numpy

from allennlp_nef.cli.arguments import options_of, positive
from allennlp_nef.cli.outputs import table_text
from allennlp_nef.data.conllu import TAG_COLUMNS
from allennlp_nef.data.scored_files import (
    ScoredFile,
    check_line_up,
    read_conll,
    read_conllu_tags,
)
from allennlp_nef.errors import UserError
from allennlp_nef.metrics.correlations import CORRELATIONS
from allennlp_nef.metrics.significance import compare
from allennlp_nef.metrics.tag_scores import CHUNKS, TAGS, Scorer, precision_recall_f1
from allennlp_nef.qe.scored_files import (
    read_sentence_scores,
    read_spans,
    read_word_tags,
    without_gaps,
)
from allennlp_nef.qe.scores import SPANS, WORD_QE

DETAILS = """
conll          Columns with chunk tags such as B-PER: precision, recall and F1 of chunks, counted and printed like
               conlleval. A single file has the gold and the predicted tags in its last two columns.
conllu         UPOS, XPOS or FEATS of CoNLL-U: accuracy, and the precision, recall and F1 of each tag.
wmt            OK and BAD of word-level quality estimation: MCC, the F1 of each tag and their product F1-MULT. Files are
               .tags files, or tables of WMT16 to 23 (submissions and gold files).
wmt-spans      Error spans, in tables of WMT23 or JSON lines of ESA: precision, recall and F1 of characters. The right
               character with the wrong severity counts half.
wmt-sentences  A number for each sentence, one per line or in tables of WMT20 to 23: Pearson, Spearman and Kendall
               correlation, mean absolute error (MAE) and root mean squared error (RMSE).

Two systems are also compared: the difference of their main scores, the 95%% interval of a paired bootstrap, and p by
approximate randomization, both over sentences. If each system has several files (--runs), such as one for each random
seed, scores are means over the files, and "p of runs" (Welch's t-test) asks: would the difference hold with other
seeds?

    %(prog)s gold.conll predicted.conll --format conll
    %(prog)s gold.conll a1.conll a2.conll a3.conll b1.conll b2.conll b3.conll --runs 3 --format conll
    %(prog)s test.tags submissions/*.txt --format wmt --leaderboard

Scores are percentages in tables and fractions of 1 in JSON.
"""
FORMATS = ("conll", "conllu", "wmt", "wmt-spans", "wmt-sentences")
_UNITS = {"gap": "gaps", "source": "source words"}
_NAMES = {
    "precision-overall": "precision",
    "recall-overall": "recall",
    "f1-overall": "F1",
    "f1": "F1",
    "f1_ok": "F1-OK",
    "f1_bad": "F1-BAD",
    "f1_mult": "F1-MULT",
    "mcc": "MCC",
    "pearson": "Pearson",
    "spearman": "Spearman",
    "kendall": "Kendall",
    "mae": "MAE",
    "rmse": "RMSE",
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("gold", metavar="GOLD", help="file with the gold tags")
    add("predicted", metavar="PREDICTED", nargs="*", help="files with the systems' predicted tags")
    add("--format", required=True, choices=FORMATS, help="format of all files")
    add("--runs", type=positive, default=1, metavar="N", help="files per system")
    add("--trials", type=positive, default=10_000, metavar="N", help="samples in the comparison")
    add("--seed", type=int, default=0, metavar="N", help="random seed of the comparison")
    add("--confusions", type=positive, metavar="N", help="list the N most frequent errors")
    add("--language-pair", metavar="PAIR", help="score only this pair of WMT tables, such as en-de")
    add("--leaderboard", action="store_true", help="print a table, the best system first")
    add("--json", action="store_true", help="print JSON instead of tables")
    add("--encoding", default="utf-8", help="encoding of the files (error spans: always UTF-8)")
    last = "conll: column, from 0, or from -1 for the last"
    add("--gold-column", type=int, metavar="I", help=f"{last} (default = -1; -2 in a single file)")
    add("--predicted-column", type=int, default=-1, metavar="I", help=last)
    add("--word-column", type=int, default=0, metavar="I", help="conll: column (default = 0)")
    add("--comment-prefix", metavar="TEXT", help="conll: skip lines that start with it, such as #")
    add("--no-chunks", action="store_true", help="conll: the tags are not chunk tags")
    add("--column", choices=TAG_COLUMNS, default="upos", help="conllu: column of the tags")
    add(
        "--gaps",
        choices=("yes", "no", "only"),
        default="no",
        help="wmt: if all files have 2n+1 tags for n words (gap, word, ..., gap), score the words (yes) or the gaps "
        "(only)",
    )


def run(args: argparse.Namespace) -> Iterator[str]:
    results = score_tags(**options_of(args, score_tags))
    yield json.dumps(results, indent=2) if args.json else as_text(results)


def score_tags(
    gold: str,
    predicted: Sequence[str] = (),
    *,
    format: str,
    runs: int = 1,
    trials: int = 10_000,
    seed: int = 0,
    leaderboard: bool = False,
    confusions: int | None = None,
    language_pair: str | None = None,
    encoding: str = "utf-8",
    gold_column: int | None = None,
    predicted_column: int = -1,
    word_column: int = 0,
    comment_prefix: str | None = None,
    no_chunks: bool = False,
    column: str = "upos",
    gaps: str = "no",
) -> dict[str, Any]:
    """Scores files of predicted tags against gold tags.

    The parameters are the options of `allennlp-nef score-tags`.

    # Returns

    `dict[str, Any]`
        The JSON that the command prints: `systems` with the scores of each, and the `comparison` of two.

    # Raises

    `UserError`: a wrong number of files. `DataFormatError`: invalid data, or files that do not line up.
    """
    is_one_file = format == "conll" and not predicted
    number = len(predicted)
    fits = number % runs == 0 if leaderboard else number in (runs, 2 * runs)
    if not (number and fits) and not is_one_file:
        raise UserError(f"expected {runs} predicted files for each system, got {number} in total")
    paths, scorer = [gold, *(predicted or [gold])], TAGS
    if format == "conll":
        gold_column = (-2 if is_one_file else -1) if gold_column is None else gold_column
        if is_one_file and gold_column == predicted_column:
            raise UserError(f"gold and predicted tags are both in column {gold_column}")
        columns = [gold_column] + [predicted_column] * (len(paths) - 1)
        files = [
            read_conll(path, index, word_column, comment_prefix, not no_chunks, encoding)
            for path, index in zip(paths, columns)
        ]
        scorer = TAGS if no_chunks else CHUNKS
    elif format == "conllu":
        files = [read_conllu_tags(path, column, encoding) for path in paths]
    elif format == "wmt":
        files = [read_word_tags(path, encoding, language_pair) for path in paths]
        files = without_gaps(files, gaps)
        scorer = replace(WORD_QE, item_name=_UNITS.get(files[0].kind or "", "tokens"))
    elif format == "wmt-spans":
        files, scorer = [read_spans(path, language_pair) for path in paths], SPANS
    else:
        files = [read_sentence_scores(path, encoding, language_pair) for path in paths]
        scorer = CORRELATIONS
    for file in files[1:]:
        check_line_up(files[0], file)
    rows = [_scores(files[0], file, scorer, confusions) for file in files[1:]]
    systems = [rows[i : i + runs] for i in range(0, len(rows), runs)]
    results: dict[str, Any] = {
        "gold": gold,
        "sentences": len(files[0].sentences),
        "tokens": sum(tag is not None for tags in files[0].tags for tag in tags),
        "unit": scorer.item_name,
        "gaps_left_out": [file.path for file in files if file.has_gaps],
        "systems": [{"mean": _over(numpy.mean, system), "runs": system} for system in systems],
    }
    if leaderboard:
        results["systems"].sort(key=lambda system: -system["mean"][scorer.ranking_score])
    elif len(systems) == 2:
        results["comparison"] = _comparison(files, scorer, trials, seed)
    return results


def _scores(
    gold: ScoredFile, file: ScoredFile, scorer: Scorer, confusions: int | None
) -> dict[str, Any]:
    """Returns the scores of a file, and its most frequent pairs of a gold tag and a different predicted tag."""
    counts = scorer.count(gold.tags, file.tags)
    scores = scorer.scores(counts.sentences.sum(0)) | scorer.corpus_scores(gold.tags, file.tags)
    types = {}
    for name, of_type in counts.types.items():
        precision, recall, f1 = map(float, precision_recall_f1(*of_type))
        types[name] = {"precision": precision, "recall": recall, "f1": f1, **of_type._asdict()}
    scores = {name: float(score) for name, score in scores.items()}
    row: dict[str, Any] = {"path": file.path, "scores": scores, "types": types}
    if confusions:
        pairs = zip(chain.from_iterable(gold.tags), chain.from_iterable(file.tags))
        errors = Counter(pair for pair in pairs if pair[0] not in (pair[1], None))
        row["confusions"] = [
            {"gold": right, "predicted": wrong, "count": count}
            for (right, wrong), count in errors.most_common(confusions)
        ]
    return row


def _comparison(
    files: Sequence[ScoredFile], scorer: Scorer, trials: int, seed: int
) -> dict[str, Any]:
    """Compares two systems, each with half of the predicted files, by the main scores."""
    gold, *predicted = files
    counts = numpy.stack([scorer.count(gold.tags, file.tags).sentences for file in predicted])
    first, second = numpy.split(counts, 2)  # (runs, sentences, counts)
    comparison: dict[str, Any] = {"trials": trials, "seed": seed}
    for name in scorer.compared:

        def score(sums: numpy.ndarray, name: str = name) -> numpy.ndarray:
            return scorer.scores(sums)[name]

        comparison[name] = compare(first, second, score, trials, seed)._asdict()
    return comparison


def _over(statistic: Any, runs: Sequence[Mapping[str, Any]]) -> dict[str, float]:
    """Computes a statistic of each score over a system's runs."""
    return {
        name: float(statistic([run["scores"][name] for run in runs])) for name in runs[0]["scores"]
    }


def as_text(results: Mapping[str, Any]) -> str:
    """Formats the report as tables or, for a single file of chunk tags, like the output of `conlleval`."""
    systems = results["systems"]
    runs = [run for system in systems for run in system["runs"]]
    is_single = len(runs) == 1
    scores, types = runs[0]["scores"], runs[0]["types"]
    if is_single and "f1-overall" in scores:
        parts = [conlleval_text(results["tokens"], runs[0])]
    else:
        rows = [scores] if is_single else _rows(systems)
        parts = [f"{_title(results)}\n{_table(rows)}"]
        if is_single and types:
            names = ("precision", "recall", "f1", "gold", "predicted")
            rows = [{"tag": tag, **{name: types[tag][name] for name in names}} for tag in types]
            parts.append(_table(rows))
    for run in runs:
        if run.get("confusions"):
            heading = "" if is_single else f"{run['path']}\n"
            parts.append(heading + _table(run["confusions"]))
    if "comparison" in results:
        parts.append(_comparison_text(**results["comparison"]))
    return "\n\n".join(parts)


def _table(rows: Sequence[Mapping[str, Any]]) -> str:
    return table_text(
        [{_NAMES.get(name, name): each for name, each in row.items()} for row in rows]
    )


def _title(results: Mapping[str, Any]) -> str:
    unit = f"{results['tokens']} {results['unit']} in " if results["unit"] else ""
    title = f"processed {unit}{results['sentences']} sentences"
    if results["gaps_left_out"]:
        title += f" (without the gaps of {', '.join(results['gaps_left_out'])})"
    return title


def _rows(systems: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Returns the scores of each run and, if a system has several, their mean and standard deviation."""
    rows: list[dict[str, Any]] = []
    for system in systems:
        runs = system["runs"]
        rows += [{"system": run["path"], **run["scores"]} for run in runs]
        if len(runs) > 1:
            deviation = _over(partial(numpy.std, ddof=1), runs)
            rows.append({"system": "mean", **system["mean"]})
            rows.append({"system": "standard deviation", **deviation})
    return rows


def _comparison_text(trials: int, seed: int, **scores: Mapping[str, Any]) -> str:
    names = {"p_value": "p"}
    if any(row["p_value_of_runs"] is not None for row in scores.values()):
        names["p_value_of_runs"] = "p of runs"
    rows = [
        {
            "": _NAMES.get(name, name),
            "difference": _points(row["difference"]),
            "95% interval": f"{_points(row['low'])} to {_points(row['high'])}",
            **{header: _p(row[key]) for key, header in names.items()},
        }
        for name, row in scores.items()
    ]
    return f"first minus second ({trials} trials, seed {seed})\n{_table(rows)}"


def conlleval_text(tokens: int, run: Mapping[str, Any]) -> str:
    """Returns the text that `conlleval` prints."""
    scores, types = run["scores"], run["types"]
    correct, predicted, gold = (
        sum(of_type[name] for of_type in types.values())
        for name in ("correct", "predicted", "gold")
    )
    overall = {name: scores[f"{name}-overall"] for name in ("precision", "recall", "f1")}
    lines = [
        f"processed {tokens} tokens with {gold} phrases; found: {predicted} phrases; correct: {correct}.",
        f"accuracy: {100 * scores['accuracy']:6.2f}%; {_percentages(**overall)}",
    ]
    for name, of_type in types.items():
        lines.append(f"{name:>17}: {_percentages(**of_type)}  {of_type['predicted']}")
    return "\n".join(lines)


def _percentages(precision: float, recall: float, f1: float, **others: int) -> str:
    return f"precision: {100 * precision:6.2f}%; recall: {100 * recall:6.2f}%; FB1: {100 * f1:6.2f}"


def _points(difference: float) -> str:
    return f"{100 * difference:+.2f}"


def _p(value: float | None) -> str:
    if value is None:
        return "-"
    return f"{value:.4f}" if value >= 0.00005 else f"{value:.0e}"
