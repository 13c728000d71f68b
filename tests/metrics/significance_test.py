import itertools

import numpy
import pytest
import scipy.stats

from allennlp_nef.metrics.significance import compare


def accuracy(counts):
    """The accuracy from counts (right, words)."""
    return counts[..., 0] / counts[..., 1]


def make_systems(sentences, better=0.0, seed=0):
    """The counts of two systems on the same sentences."""
    generator = numpy.random.default_rng(seed)
    words = generator.integers(5, 30, sentences)
    shares = (0.6 + better, 0.6)
    return [numpy.stack([generator.binomial(words, share), words], axis=-1) for share in shares]


def test_p_is_that_of_the_exact_test():
    """Against all 2^8 swaps."""
    first, second = make_systems(8, better=0.08, seed=4)
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
    """With one word a sentence, and differences in {-1, 0, 1}."""
    generator = numpy.random.default_rng(0)
    right = (generator.random((2, 2000)) < [[0.7], [0.6]]).astype(int)
    first, second = (numpy.stack([row, numpy.ones_like(row)], -1) for row in right)
    result = compare(first, second, accuracy, trials=2000)
    error = (right[0] - right[1]).std() / numpy.sqrt(2000)
    assert result.low == pytest.approx(result.difference - 1.96 * error, abs=0.15 * error)
    assert result.high == pytest.approx(result.difference + 1.96 * error, abs=0.15 * error)


def test_the_seed_determines_the_result():
    first, second = make_systems(60, better=0.02)
    results = [compare(first, second, accuracy, trials=700, seed=seed) for seed in (1, 1, 2)]
    assert results[0] == results[1]
    assert results[0] != results[2]
    for result in results:  # 700 trials and the observed outcome
        assert result.p_value * 701 == pytest.approx(round(result.p_value * 701))
        assert all(type(value) is float for value in result[:4])


def test_a_sentence_is_swapped_in_all_runs_at_once():
    first, second = make_systems(60, better=0.02)
    once = compare(first, second, accuracy, trials=600)
    repeated = compare(numpy.stack([first] * 3), numpy.stack([second] * 3), accuracy, trials=600)
    assert repeated == pytest.approx(once)
    others = [make_systems(60, better=0.02, seed=seed) for seed in range(3)]
    mean = compare(*(numpy.stack(runs) for runs in zip(*others)), accuracy, trials=600)
    differences = [compare(*pair, accuracy, trials=1).difference for pair in others]
    assert mean.difference == pytest.approx(numpy.mean(differences))


def test_p_of_runs_is_that_of_welch():
    """Against the formula, for scores 0.3, 0.5, 0.6 and 0.2, 0.2, 0.3."""
    first, second = numpy.array(
        [[[[right, 10]] for right in system] for system in ([3, 5, 6], [2, 2, 3])]
    )
    result = compare(first, second, accuracy, trials=10)
    variances = numpy.var([[0.3, 0.5, 0.6], [0.2, 0.2, 0.3]], axis=1, ddof=1) / 3
    t = result.difference / numpy.sqrt(variances.sum())
    freedom = variances.sum() ** 2 / (variances**2 / 2).sum()
    assert result.p_value_of_runs == pytest.approx(2 * scipy.stats.t.sf(t, freedom))
    assert compare(first[:1], second[:1], accuracy, trials=10).p_value_of_runs is None
