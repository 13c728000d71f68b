"""Significance tests for the difference between two systems on the same sentences.

A system is an array (sentences, counts), such as the confusion matrix of each sentence. A score is a function of the
sum of the counts over the sentences.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy

# Counts (..., counts) -> scores (...).
Score = Callable[[numpy.ndarray], numpy.ndarray]
# The number of random samples drawn at once.
_BLOCK = 500


class Comparison(NamedTuple):
    """The result of `compare`."""

    difference: float
    """The score of the first system minus the score of the second."""
    p_value: float
    """Two-sided, by approximate randomization."""
    low: float
    """The lower end of the 95% bootstrap interval of the difference."""
    high: float
    """The upper end."""
    p_value_of_runs: float | None = None
    """Two-sided, by Welch's t-test over the scores of the runs; None if they do not vary."""


def compare(
    first: numpy.ndarray,
    second: numpy.ndarray,
    score: Score,
    trials: int = 10_000,
    seed: int = 0,
) -> Comparison:
    """Compares two systems by approximate randomization and by a paired percentile bootstrap, both over sentences.

    Approximate randomization (Noreen, 1989; Yeh, COLING 2000): under the null hypothesis the outputs of the two systems
    for a sentence can be swapped. p is the share of random swaps, including the observed outcome, in which the scores
    differ at least as much as observed. A small p means that these two trained models would also differ on other
    sentences. Whether models trained with other seeds would differ is a different question, which Welch's t-test
    answers if each system has several runs.

    # Parameters

    first, second : `numpy.ndarray`, (sentences, counts) or (runs, sentences, counts)
        If a system has several runs (seeds), the statistic is the difference of the mean scores. A sentence is then
        swapped, or drawn, in all runs at once.
    score : `Score`
    trials : `int`, optional (default = `10000`)
        The number of random swaps, and of bootstrap samples.
    seed : `int`, optional (default = `0`)
    """
    if first.ndim == 2:
        first, second = first[None], second[None]
    generator = numpy.random.default_rng(seed)
    sentences = first.shape[1]

    def difference(a: numpy.ndarray, b: numpy.ndarray) -> numpy.ndarray:
        """Counts (runs, ..., counts) -> differences of the mean scores (...)."""
        return (score(a) - score(b)).mean(0)

    totals = first.sum(1), second.sum(1)  # (runs, counts)
    observed = float(difference(*totals))
    at_least, resampled = 0, []
    for begin in range(0, trials, _BLOCK):
        block = min(_BLOCK, trials - begin)
        # (block, sentences) @ (runs, sentences, counts) -> (runs, block, counts)
        swapped = generator.integers(0, 2, (block, sentences)) @ (second - first)
        shuffled = difference(totals[0][:, None] + swapped, totals[1][:, None] - swapped)
        at_least += int((numpy.abs(shuffled) >= abs(observed) - 1e-12).sum())
        draws = generator.multinomial(sentences, [1 / sentences] * sentences, block)
        resampled.append(difference(draws @ first, draws @ second))
    low, high = numpy.percentile(numpy.concatenate(resampled), [2.5, 97.5])
    p_value = (at_least + 1) / (trials + 1)
    runs = [score(counts) for counts in totals]  # (runs,)
    return Comparison(observed, p_value, float(low), float(high), _p_value_of_runs(*runs))


def _p_value_of_runs(first: numpy.ndarray, second: numpy.ndarray) -> float | None:
    from scipy.stats import ttest_ind

    if not (numpy.ptp(first) or numpy.ptp(second)):
        return None
    return float(ttest_ind(first, second, equal_var=False).pvalue)
