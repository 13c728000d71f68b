"""Tests whether one system is better than another on the same sentences, or whether that was luck.

A system is an array (sentences, counts), such as the four cells of a confusion matrix for each sentence. A score is a
function of the sum of the counts over the sentences.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy
from tqdm import tqdm  # type: ignore[import-untyped]

MIN_DOCUMENTS = 10
"""With fewer documents, a bootstrap draws sentences."""
Score = Callable[[numpy.ndarray], numpy.ndarray]
"""Counts (..., counts) -> scores (...)."""


class Comparison(NamedTuple):
    """The result of `compare`."""

    difference: float
    """The score of the first system minus that of the second."""
    p_value: float
    """Two-sided, by approximate randomization."""
    low: float
    """Lower end of the 95% bootstrap interval of the difference."""
    high: float
    """Upper end."""
    p_value_of_runs: float | None = None
    """Two-sided, by Welch's t-test over the scores of the runs; None where they do not vary, as with one run."""


def compare(
    first: numpy.ndarray,
    second: numpy.ndarray,
    score: Score,
    trials: int = 10_000,
    seed: int = 0,
) -> Comparison:
    """Compares two systems by approximate randomization and by a paired percentile bootstrap, both over sentences.

    Both take the trained models as they are: a small p says that these models would differ on other sentences, too.
    Whether models of other seeds would differ is another question. With several runs, Welch's t-test answers it. It
    needs a large difference where there are few runs: with three of each, about 2.3 standard deviations.

    The test (Noreen, 1989; Yeh, COLING 2000): under the null hypothesis the outputs of the two systems for a sentence
    can be swapped. p is the share of random swaps, the observed outcome included, in which the scores differ at least
    as much as was observed. On a terminal, a bar shows the progress of a comparison that takes more than two seconds.

    # Parameters

    first, second : `numpy.ndarray`, (sentences, counts) or (runs, sentences, counts)
        With several runs (seeds) of each system the statistic is the difference of the mean scores. A sentence is then
        swapped or drawn in all runs at once. The order of the runs does not matter.
    score : `Score`
    trials : `int`, optional (default = `10000`)
        How many random swaps, and how many bootstrap samples.
    seed : `int`, optional (default = `0`)

    # Raises

    `ValueError` when the shapes differ or there are no sentences.
    """
    if first.shape != second.shape or first.ndim not in (2, 3) or not first.shape[-2]:
        raise ValueError(
            "compare: expected two arrays (sentences, counts) or (runs, sentences, counts) of the same shape, "
            f"got {first.shape} and {second.shape}"
        )
    if first.ndim == 2:
        first, second = first[None], second[None]
    generator = numpy.random.default_rng(seed)
    runs, sentences, _ = first.shape

    def difference(a: numpy.ndarray, b: numpy.ndarray) -> numpy.ndarray:
        """Counts (runs, ..., counts) -> differences of the mean scores (...)."""
        return (score(a) - score(b)).mean(0)

    scores = [score(counts.sum(1)) for counts in (first, second)]
    observed = float((scores[0] - scores[1]).mean())
    at_least, resampled = 0, []
    starts = range(0, trials, 500)  # 500 at once, to bound the memory
    for start in tqdm(
        starts, desc="trials", unit="", unit_scale=500, delay=2, leave=False, disable=None
    ):
        chunk = min(500, trials - start)
        # (chunk, sentences) x (runs, sentences, counts) -> (runs, chunk, counts)
        swapped = generator.integers(0, 2, (chunk, sentences)) @ (second - first)
        shuffled = difference(first.sum(1)[:, None] + swapped, second.sum(1)[:, None] - swapped)
        at_least += int((numpy.abs(shuffled) >= abs(observed) - 1e-12).sum())
        draws = generator.multinomial(sentences, [1 / sentences] * sentences, chunk)
        resampled.append(difference(draws @ first, draws @ second))
    low, high = numpy.percentile(numpy.concatenate(resampled), [2.5, 97.5])
    p_value = (at_least + 1) / (trials + 1)
    return Comparison(observed, p_value, float(low), float(high), _p_value_of_runs(*scores))


def _p_value_of_runs(first: numpy.ndarray, second: numpy.ndarray) -> float | None:
    """From scores (runs,)."""
    if not (numpy.ptp(first) or numpy.ptp(second)):
        return None
    from scipy.stats import ttest_ind

    return float(ttest_ind(first, second, equal_var=False).pvalue)
