"""The scores of one system or of two, as text and as JSON."""

import json
from functools import partial
from typing import Any, Dict, List, NamedTuple, Sequence

import numpy

from allennlp_nef.data.formats.tag_files import TagFile
from allennlp_nef.metrics.significance import Comparison, compare
from allennlp_nef.metrics.tag_scores import CHUNKS, Scorer, TagCounts, TypeCounts

_NAMES = {
    "accuracy": "accuracy",
    "precision-overall": "precision",
    "recall-overall": "recall",
    "f1-overall": "F1",
    "f1_ok": "F1-OK",
    "f1_bad": "F1-BAD",
    "f1_mult": "F1-MULT",
    "mcc": "MCC",
}


class Run(NamedTuple):
    """A file of predicted tags, with its scores."""

    file: TagFile
    counts: TagCounts
    scores: Dict[str, float]


class Report(NamedTuple):
    """The result of `evaluate`."""

    gold: TagFile
    scorer: Scorer
    systems: List[List[Run]]
    comparisons: Dict[str, Comparison]
    """By the name of the score; empty where there is only one system."""
    trials: int
    seed: int

    def as_json(self) -> str:
        """The report as a JSON object, in which scores are fractions of 1."""
        result: Dict[str, Any] = {
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
        return json.dumps(result, indent=2)

    def as_text(self) -> str:
        """The report as tables of percentages. For one file of chunk tags it is the text that `conlleval` prints."""
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
        lines.append("; ".join(f"{_NAMES[n]}: {100 * run.scores[n]:6.2f}" for n in run.scores))
        lines.append("\nprecision  recall      F1     gold  predicted  tag")
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
        names = list(runs[0].scores)
        lines = [self._processed(runs), " ".join(f"{_NAMES[name]:>9}" for name in names)]
        for scores, title in rows:
            lines.append(" ".join(f"{100 * scores[name]:9.2f}" for name in names) + f"  {title}")
        return "\n".join(lines)

    def _processed(self, runs: Sequence[Run]) -> str:
        tokens = sum(map(len, self.gold.tags))
        text = f"processed {tokens} tokens in {len(self.gold.sentences)} sentences"
        files = [self.gold, *(run.file for run in runs)]
        with_gaps = [file.path for file in files if file.has_gaps]
        return text + (f" (left out: the gaps of {', '.join(with_gaps)})" if with_gaps else "")

    def _comparison(self) -> str:
        lines = [
            f"first minus second ({self.trials} trials, seed {self.seed})",
            "          difference     95% interval         p",
        ]
        for name, (difference, p_value, low, high) in self.comparisons.items():
            p = f"{p_value:.4f}" if p_value >= 0.00005 else f"{p_value:.0e}"
            interval = f"{100 * low:+.2f} to {100 * high:+.2f}"
            lines.append(f"{_NAMES[name]:9} {100 * difference:+10.2f} {interval:>16} {p:>9}")
        return "\n".join(lines)


def evaluate(
    gold: TagFile,
    systems: Sequence[Sequence[TagFile]],
    scorer: Scorer,
    trials: int = 10_000,
    seed: int = 0,
) -> Report:
    """
    Scores one system, or two systems and their difference. All files have the same sentences.

    # Parameters

    gold : `TagFile`
    systems : `Sequence[Sequence[TagFile]]`
        The runs of each system, the same number for each.
    scorer : `Scorer`
    trials, seed : `int`
        The options of `allennlp_nef.metrics.significance.compare`.
    """
    scored = [[_score(gold, file, scorer) for file in files] for files in systems]
    comparisons = {}
    if len(scored) > 1:
        first, second = (numpy.stack([run.counts.sentences for run in runs]) for runs in scored)
        for name in scorer.main:
            score = partial(_score_of, scorer, name)
            comparisons[name] = compare(first, second, score, trials, seed)
    return Report(gold, scorer, scored, comparisons, trials, seed)


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
    scores = scorer.scores(counts.sentences.sum(0))
    return Run(file, counts, {name: float(score) for name, score in scores.items()})


def _score_of(scorer: Scorer, name: str, counts: numpy.ndarray) -> numpy.ndarray:
    return scorer.scores(counts)[name]


def _over(statistic: Any, runs: Sequence[Run]) -> Dict[str, float]:
    return {name: float(statistic([r.scores[name] for r in runs])) for name in runs[0].scores}


def _run_as_json(run: Run) -> Dict[str, Any]:
    types = {}
    for name, counts in run.counts.types.items():
        scores = dict(zip(("precision", "recall", "f1"), counts.precision_recall_f1()))
        types[name] = {**scores, **counts._asdict()}
    return {"path": run.file.path, "scores": run.scores, "types": types}
