import itertools

import numpy
import pytest
import scipy.stats

from allennlp_nef.metrics.significance import compare


def accuracy(counts):
    """Of counts (right, words)."""
    return counts[..., 0] / counts[..., 1]


def systems(sentences, better=0.0, seed=0):
    """Counts (right, words) of two systems on the same sentences."""
    generator = numpy.random.default_rng(seed)
    words = generator.integers(5, 30, sentences)
    return [
        numpy.stack([generator.binomial(words, share), words], axis=-1)
        for share in (0.6 + better, 0.6)
    ]


def test_p_is_that_of_the_exact_test():
    """Against the exact test over all 2^8 swaps."""
    first, second = systems(8, better=0.08, seed=4)
    observed = abs(accuracy(first.sum(0)) - accuracy(second.sum(0)))
    outcomes = []
    for swaps in itertools.product((False, True), repeat=8):
        swapped = numpy.array(swaps)[:, None]
        a, b = numpy.where(swapped, second, first), numpy.where(swapped, first, second)
        outcomes.append(abs(accuracy(a.sum(0)) - accuracy(b.sum(0))) >= observed - 1e-12)
    exact = numpy.mean(outcomes)
    assert 0.05 < exact < 0.95
    assert compare(first, second, accuracy).p_value == pytest.approx(exact, abs=0.02)


def test_the_interval_is_that_of_the_normal_approximation():
    """Against the normal approximation: one word a sentence, differences in {-1, 0, 1}."""
    generator = numpy.random.default_rng(0)
    right = (generator.random((2, 2000)) < [[0.7], [0.6]]).astype(int)
    first, second = (numpy.stack([row, numpy.ones_like(row)], -1) for row in right)
    result = compare(first, second, accuracy, trials=2000)
    error = (right[0] - right[1]).std() / numpy.sqrt(2000)
    assert result.low == pytest.approx(result.difference - 1.96 * error, abs=0.15 * error)
    assert result.high == pytest.approx(result.difference + 1.96 * error, abs=0.15 * error)


def test_the_seed_decides_the_result():
    first, second = systems(60, better=0.02)
    results = [compare(first, second, accuracy, trials=700, seed=seed) for seed in (1, 1, 2)]
    assert results[0] == results[1]
    assert results[0] != results[2]
    for result in results:  # of 700 trials, the observed outcome counted in
        assert (result.p_value * 701) == pytest.approx(round(result.p_value * 701))
        assert all(type(value) is float for value in result[:4])


def test_a_repeated_run_changes_nothing():
    """A sentence is swapped in all runs at once: a run repeated is the run itself."""
    first, second = systems(60, better=0.02)
    once = compare(first, second, accuracy, trials=600)
    repeated = compare(numpy.stack([first] * 3), numpy.stack([second] * 3), accuracy, trials=600)
    assert repeated == pytest.approx(once)
    others = [systems(60, better=0.02, seed=seed) for seed in range(3)]
    mean = compare(*(numpy.stack(runs) for runs in zip(*others)), accuracy, trials=600)
    differences = [compare(*pair, accuracy, trials=1).difference for pair in others]
    assert mean.difference == pytest.approx(numpy.mean(differences))


def test_p_of_runs_is_that_of_welch():
    """Against the formula, for scores 0.3, 0.5, 0.6 and 0.2, 0.2, 0.3."""
    runs = [[[[right, 10]] for right in system] for system in ([3, 5, 6], [2, 2, 3])]
    first, second = numpy.array(runs)
    result = compare(first, second, accuracy, trials=10)
    variances = numpy.var([[0.3, 0.5, 0.6], [0.2, 0.2, 0.3]], axis=1, ddof=1) / 3
    t = result.difference / numpy.sqrt(variances.sum())
    freedom = variances.sum() ** 2 / (variances**2 / 2).sum()
    assert result.p_value_of_runs == pytest.approx(2 * scipy.stats.t.sf(t, freedom))
    assert compare(first[:1], second[:1], accuracy, trials=10).p_value_of_runs is None
    same = compare(first[[0, 0]], second[[1, 1]], accuracy, trials=10)
    assert same.p_value_of_runs is None  # runs without a spread


@pytest.mark.parametrize(
    "first, second",
    [((5, 2), (6, 2)), ((5, 2), (5, 3)), ((2, 5, 2), (5, 2)), ((5,), (5,)), ((0, 2), (0, 2))],
    ids=str,
)
def test_arrays_of_other_shapes_are_refused(first, second):
    with pytest.raises(ValueError, match="compare: expected two arrays .* got "):
        compare(numpy.ones(first), numpy.ones(second), accuracy)
