"""The outcome of haltings on a table of steps, and the choice among them, against plain loops."""

import numpy
import pytest

from allennlp_nef.calibration.halting import StepTable, candidates, choose, chosen_halting
from allennlp_nef.errors import UserError
from allennlp_nef.modules.halting import ConfidentHalting, FixedHalting, SettledHalting

KINDS = ("fixed", "confident", "settled", "learned")


def table_of(kind="accuracy", sentences=40, steps=6, seed=0):
    generator = numpy.random.default_rng(seed)
    num_steps = generator.integers(1, steps + 1, sentences)
    confidence = generator.random((sentences, steps)).cumsum(1).clip(max=5) / 6
    unchanged = generator.integers(0, 4, (sentences, steps))
    halted = 1 - generator.random((sentences, steps)).cumprod(1)
    words = generator.integers(5, 10, (sentences, 1)).repeat(steps, 1)
    right = numpy.minimum(words, generator.integers(2, 6, (sentences, steps)).cumsum(1) // 2)
    columns = (right, words) if kind == "accuracy" else (right, words, words + 1)
    for row, count in enumerate(num_steps):
        for array in (confidence, unchanged, halted, *columns):
            array[row, count:] = array[row, count - 1]
    counts = numpy.stack(columns, -1)
    return StepTable(kind, num_steps, confidence, unchanged, counts, halted)


def plain_outcome(table, threshold=0.0, settled=0, limit=99):
    """Mean steps, and right words by words."""
    steps, counts = [], []
    for row, count in enumerate(table.num_steps):
        count = min(count, limit)
        for step in range(count):
            is_settled = table.unchanged[row, step] >= settled
            if is_settled and table.confidence[row, step] >= threshold:
                count = step + 1
                break
        steps.append(count)
        counts.append(table.counts[row, count - 1])
    sums = numpy.sum(counts, 0)
    score = sums[0] / sums[1] if table.kind == "accuracy" else 2 * sums[0] / (sums[1] + sums[2])
    return pytest.approx((numpy.mean(steps), score))


@pytest.mark.parametrize("kind", ["accuracy", "f1"])
def test_outcome_is_that_of_a_plain_loop(kind):
    table = table_of(kind)
    assert tuple(table.outcome(FixedHalting())) == plain_outcome(table, threshold=2)
    assert tuple(table.outcome(FixedHalting(2))) == plain_outcome(table, threshold=2, limit=2)
    assert tuple(table.outcome(ConfidentHalting(0.4))) == plain_outcome(table, 0.4)
    halting = SettledHalting(2, 0.3, max_steps=4)
    assert tuple(table.outcome(halting)) == plain_outcome(table, 0.3, 2, 4)


@pytest.mark.parametrize("kind", KINDS)
def test_choice_has_the_fewest_steps_within_the_tolerance(kind):
    table = table_of()
    full = table.outcome(FixedHalting()).score
    means = []
    for tolerance in (0.0, 0.05, 0.2, 1.0):
        chosen = choose(kind, table, tolerance)
        assert chosen.outcome == table.outcome(chosen.halting)
        assert chosen.outcome.score >= full - tolerance
        means.append(chosen.outcome.mean_steps)
    assert means == sorted(means, reverse=True) and means[-1] < means[0]
    # No other candidate within the tolerance has fewer steps.
    chosen = choose(kind, table, 0.05)
    for options in candidates(kind, table):
        outcome = table.outcome(chosen._replace(options=options).halting)
        assert outcome.score < full - 0.05 or outcome.mean_steps >= chosen.outcome.mean_steps


def test_cross_fitted_figures_are_of_the_other_half():
    table = table_of()
    figures = chosen_halting("settled", table, 0.02)
    even, odd = table.part(slice(0, None, 2)), table.part(slice(1, None, 2))
    one = even.outcome(choose("settled", odd, 0.02).halting)
    other = odd.outcome(choose("settled", even, 0.02).halting)
    expected = [(a + b) / 2 for a, b in zip(one, other)]
    assert list(figures["cross_fitted"].values()) == pytest.approx(expected)


def test_no_halting_within_the_tolerance_is_an_error():
    table = table_of()
    table.confidence[:] = 1.0
    table.counts[:, :, 0] = [0, 1, 2, 3, 4, 5]
    with pytest.raises(
        UserError, match="--halting confident: expected one that costs at most 1 points"
    ):
        choose("confident", table, 0.01)
