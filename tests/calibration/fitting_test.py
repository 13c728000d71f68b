"""The fit of a calibration, on data whose probabilities are known."""

import numpy
import pytest
import torch

from allennlp_nef.calibration.fitting import adapt, fit
from allennlp_nef.metrics.calibration import calibration_bins, expected_calibration_error
from allennlp_nef.modules.calibration import Calibration

LABELS = ["A", "B", "C"]
TEMPERATURE, BIASES = 2.5, numpy.array([0.5, -0.7, 0.2])


def softmax(scores):
    powers = numpy.exp(scores - scores.max(1, keepdims=True))
    return powers / powers.sum(1, keepdims=True)


def ece(table, gold):
    chosen = table.argmax(1)
    confidence = table[numpy.arange(len(table)), chosen]
    return expected_calibration_error(calibration_bins(confidence, chosen == gold))


def miscalibrated(biases, words=40_000):
    """Gold labels, and probabilities of which those at `TEMPERATURE`, with the biases, would be right."""
    rng = numpy.random.default_rng(0)
    right = softmax(rng.normal(size=(words, 3)) + [1, 0, -1])
    gold = (right.cumsum(1) < rng.random((words, 1))).sum(1)
    return softmax(TEMPERATURE * (numpy.log(right) - biases)), gold


def test_fit_finds_the_temperature_and_the_biases():
    table, gold = miscalibrated(BIASES)
    temperature, biases = fit(table, gold)
    assert temperature == pytest.approx(TEMPERATURE, rel=0.03)
    assert biases == pytest.approx(BIASES, abs=0.05)  # both have the mean 0
    calibration = Calibration(temperature, dict(zip(LABELS, biases.tolist())))
    calibrated = calibration.apply(torch.from_numpy(table), LABELS).numpy()
    assert ece(table, gold) > 0.1
    assert ece(calibrated, gold) < 0.01
    # As for each model with biases whose likelihood is highest.
    shares = numpy.bincount(gold) / len(gold)
    assert calibrated.mean(0) == pytest.approx(shares, abs=1e-4)


def test_fit_of_the_temperature_only_has_no_biases():
    table, gold = miscalibrated(numpy.zeros(3))
    temperature, biases = fit(table, gold, temperature_only=True)
    assert temperature == pytest.approx(TEMPERATURE, rel=0.03)
    assert (biases == 0).all()


def test_fit_is_finite_for_labels_that_never_occur_and_words_that_are_all_right():
    table = numpy.array([[0.7, 0.3, 0.0], [0.2, 0.8, 0.0]] * 50, dtype=numpy.float32)
    temperature, biases = fit(table, numpy.array([0, 1] * 50))
    assert 0.01 <= temperature < 1
    assert numpy.isfinite(biases).all()
    assert biases[2] == 0


def posteriors(x, prior):
    """P(y | x) of two classes whose x are normal around 0 and 1.5."""
    odds = prior / (1 - prior) * numpy.exp(1.5 * x - 1.5**2 / 2)
    return numpy.stack([1 / (1 + odds), odds / (1 + odds)], 1)


@pytest.mark.parametrize("share", [0.05, 0.5, 0.8])
def test_adaptation_finds_the_share_of_unlabeled_data(share):
    """A classifier that knows P(y | x) for data of which 20% are BAD, on data with other shares."""
    rng = numpy.random.default_rng(1)
    is_bad = rng.random(50_000) < share
    x = rng.normal(size=len(is_bad)) + 1.5 * is_bad
    table = posteriors(x, 0.2)
    new = adapt(table, numpy.array([0.8, 0.2]))
    assert new[1] == pytest.approx(share, abs=0.015)
    assert new.sum() == pytest.approx(1)
    shifted = table * new / [0.8, 0.2]
    shifted /= shifted.sum(1, keepdims=True)
    numpy.testing.assert_allclose(shifted, posteriors(x, new[1]), atol=1e-6)
    # Where nothing has changed, nothing changes.
    assert adapt(shifted, new) == pytest.approx(new, abs=1e-5)
