"""Differences between the rows of a table of results, tested over sentences and over runs, in Markdown."""

from typing import Any

import numpy
from result_tasks import Task


def comparison_cells(
    first: numpy.ndarray, second: numpy.ndarray, score: Any, scale: int = 100, digits: int = 2
) -> list[str]:
    """The difference of the scores of two systems, its interval, p and p of runs, as `compare` gives them."""
    from allennlp_nef.metrics.significance import compare

    found = compare(first, second, score)
    low, high = (f"{scale * value:+.{digits}f}" for value in (found.low, found.high))
    of_runs = "" if found.p_value_of_runs is None else f"{found.p_value_of_runs:.4f}"
    difference = f"{scale * found.difference:+.{digits}f}"
    return [difference, f"{low} to {high}", f"{found.p_value:.4f}", of_runs]


def comparison_columns(title: str = "") -> list[str]:
    """The titles of the `comparison_cells` of a score, on dev and on test."""
    columns = "95% interval", "p", "p of runs"
    return [cell for part in ("dev", "test") for cell in (f"{part} {title}".strip(), *columns)]


def comparisons(task: Task, results: dict[str, list[dict[str, Any]]]) -> str:
    """A Markdown table of paired tests over the sentences and the seeds that both configs have."""
    from allennlp_nef.metrics import tag_scores

    scorer = getattr(tag_scores, task.scorer)
    name, title = task.scores[0]
    header = ["", *comparison_columns(title)]
    lines = [header, ["---"] * len(header)]
    for first, second in task.comparisons:
        if not {first, second} <= set(results):
            continue
        seeds = min(len(results[first]), len(results[second]))
        cells = [f"`{first}` minus `{second}`" + (f", {seeds} seeds" if seeds > 1 else "")]
        for part in ("dev", "test"):
            counts = [
                numpy.array([run["counts"][part] for run in results[config][:seeds]])
                for config in (first, second)
            ]
            cells += comparison_cells(*counts, lambda sums: scorer.scores(sums)[name])
        lines.append(cells)
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)
