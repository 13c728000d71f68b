"""The scores of one system, of two or of a leaderboard, as text and as JSON."""

from collections.abc import Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy

from allennlp_nef.data.formats.tag_files import TagFile
from allennlp_nef.data.formats.wmt_layouts import HEADER
from allennlp_nef.metrics.significance import Comparison, compare
from allennlp_nef.metrics.tag_scores import CHUNKS, Scorer, TagCounts, TypeCounts
from allennlp_nef.metrics.tree_scores import NAMES as TREE_NAMES
from allennlp_nef.metrics.tree_scores import TREES
from allennlp_nef.metrics.wmt_scores import EXPLANATIONS

_NAMES = {
    "accuracy": "accuracy",
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
    **TREE_NAMES,
}


class Run(NamedTuple):
    """A file of predicted tags, with its scores."""

    file: TagFile
    counts: TagCounts
    scores: dict[str, float]


class Report(NamedTuple):
    """The result of `evaluate`."""

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
        lines = [
            f"first minus second ({self.trials} trials, seed {self.seed})",
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


def evaluate(
    gold: TagFile,
    systems: Sequence[Sequence[TagFile]],
    scorer: Scorer,
    trials: int = 10_000,
    seed: int = 0,
    is_leaderboard: bool = False,
) -> Report:
    """
    Scores one system, or two systems and their difference, or ranks systems. All files have the same sentences.

    # Parameters

    gold : `TagFile`
    systems : `Sequence[Sequence[TagFile]]`
        The runs of each system, the same number for each.
    scorer : `Scorer`
    trials, seed : `int`
        The options of `allennlp_nef.metrics.significance.compare`.
    is_leaderboard : `bool`, optional (default = `False`)
        Whether to rank the systems by the scorer's primary score, without comparing them.
    """
    scored: list[list[Run]] = [[_score(gold, file, scorer) for file in files] for files in systems]
    comparisons = {}
    if is_leaderboard:
        scored.sort(key=lambda runs: -_over(numpy.mean, runs)[scorer.primary])
    elif len(scored) > 1:
        first, second = (numpy.stack([run.counts.sentences for run in runs]) for runs in scored)
        for name in scorer.main:
            score = partial(_score_of, scorer, name)
            comparisons[name] = compare(first, second, score, trials, seed)
    return Report(gold, scorer, scored, comparisons, trials, seed, is_leaderboard)


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


def _score(gold: TagFile, file: TagFile, scorer: Scorer) -> Run:
    counts = scorer.count(gold.tags, file.tags)
    scores: dict[str, Any] = dict(scorer.scores(counts.sentences.sum(0)))
    scores.update(scorer.whole(gold.tags, file.tags))
    return Run(file, counts, {name: float(score) for name, score in scores.items()})


def _score_of(scorer: Scorer, name: str, counts: numpy.ndarray) -> numpy.ndarray:
    return scorer.scores(counts)[name]


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
