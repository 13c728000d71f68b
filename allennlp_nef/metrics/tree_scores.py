"""The scores of dependency trees of the official evaluation of Universal Dependencies, by the package `udtools`."""

import io
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy

from allennlp_nef.errors import UserError, needing
from allennlp_nef.metrics.tag_scores import Scorer, TagCounts, Tags, TypeCounts

NAMES = {"uas": "UAS", "las": "LAS", "clas": "CLAS", "mlas": "MLAS", "blex": "BLEX"}
"""The scores, by the names of the official evaluation."""
_DEPS = 8


def count_trees(gold: Tags, predicted: Tags) -> TagCounts:
    """
    Counts the right, the predicted and the gold words of each score in `NAMES`. The ten columns of CoNLL-U stand in
    place of the tag of a word; both sides have the same words.

    # Raises

    `UserError`: `udtools` is not installed, or refuses a sentence.
    """
    with needing("trees", "--trees"):
        from udtools.udeval import UDError, evaluate, load_conllu

    def load(rows: Sequence[Sequence[str]]) -> Any:
        return load_conllu(io.StringIO(_as_text(rows)), "", {})

    counts: list[list[list[int]]] = []
    with _recursion(max(map(len, gold))):
        for number, (rows, other_rows) in enumerate(zip(gold, predicted), 1):
            try:
                found = evaluate(load(rows), load(other_rows))
            except UDError as error:
                raise UserError(f"--trees: sentence {number}: udtools: {error}") from None
            scores = [found[name] for name in NAMES.values()]
            counts.append([[each.correct, each.system_total, each.gold_total] for each in scores])
    array = numpy.array(counts)  # (sentences, scores, 3)
    totals = zip(NAMES.values(), array.sum(0).tolist())
    return TagCounts(
        array.reshape(len(counts), -1), {name: TypeCounts(*total) for name, total in totals}
    )


@contextmanager
def _recursion(depth: int) -> Iterator[None]:
    """Lets `udtools` follow the heads of so many words: it calls itself for each."""
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(limit + depth)
    try:
        yield
    finally:
        sys.setrecursionlimit(limit)


def _as_text(rows: Sequence[Sequence[str]]) -> str:
    """The words of a sentence in CoNLL-U, without enhanced dependencies, which may name empty nodes."""
    lines = ["\t".join([*row[:_DEPS], "_", *row[_DEPS + 1 :]]) for row in rows]
    return "\n".join([*lines, "", ""])


def tree_scores(counts: numpy.ndarray) -> dict[str, numpy.ndarray]:
    """The F1 of each score. UAS and LAS are then the share of the words that are right."""
    results = {}
    for index, name in enumerate(NAMES):
        right, predicted, gold = (counts[..., 3 * index + i] for i in range(3))
        results[name] = 2 * right / numpy.maximum(predicted + gold, 1)
    return results


TREES = Scorer(count_trees, tree_scores, ("uas", "las"), "las", "words")
