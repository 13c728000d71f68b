"""Fitting of a calibration, on NumPy arrays of uncalibrated or calibrated probabilities."""

import numpy
from scipy.optimize import minimize
from scipy.special import log_softmax

MIN_SHARE = 1e-6
"""The smallest share of a label that `adapt` finds."""
_MAX_SCALE = 100.0  # of the logarithms: 1 / temperature, which is at least 1 / 100


def fit(
    probabilities: numpy.ndarray, gold: numpy.ndarray, temperature_only: bool = False
) -> tuple[float, numpy.ndarray]:
    """The temperature T and the biases b with the highest likelihood of the gold labels under softmax(log p / T + b).

    A problem in 1 / T and b that is convex, solved by L-BFGS. A normal prior of variance 1 on both, around 1 and 0, has
    the weight of about a word. It keeps them finite where a label never occurs, or all words are right.

    # Parameters

    probabilities : `numpy.ndarray`, (words, labels)
        Uncalibrated.
    gold : `numpy.ndarray`, (words,)
        The indices of the gold labels; none of them has the probability 0.
    temperature_only : `bool`, optional (default = `False`)
        All biases are 0.

    # Returns

    `tuple[float, numpy.ndarray]`: T, and b (labels,).
    """
    table = probabilities.astype(numpy.float64)
    is_zero = table <= 0
    # The gradient of a label with probability 0 is 0, whatever stands for its logarithm.
    logs = numpy.log(numpy.where(is_zero, 1, table))
    words, labels = logs.shape
    rows = numpy.arange(words)
    counts = numpy.bincount(gold, minlength=labels)

    def objective(parameters: numpy.ndarray) -> tuple[float, numpy.ndarray]:
        scale = parameters[0]
        biases = numpy.zeros(labels) if temperature_only else parameters[1:]
        log_p = log_softmax(numpy.where(is_zero, -numpy.inf, logs * scale + biases), axis=1)
        p = numpy.exp(log_p)
        loss = -log_p[rows, gold].sum() + ((scale - 1) ** 2 + (biases**2).sum()) / 2
        by_scale = (p * logs).sum() - logs[rows, gold].sum() + scale - 1
        gradient = [by_scale] if temperature_only else [by_scale, *(p.sum(0) - counts + biases)]
        return loss / words, numpy.array(gradient) / words

    start = numpy.zeros(1 if temperature_only else 1 + labels)
    start[0] = 1
    bounds = [(1 / _MAX_SCALE, _MAX_SCALE)] + [(None, None)] * (len(start) - 1)
    options = {"maxiter": 500, "ftol": 1e-12, "gtol": 1e-7}
    found = minimize(objective, start, jac=True, method="L-BFGS-B", bounds=bounds, options=options)
    return float(1 / found.x[0]), numpy.zeros(labels) if temperature_only else found.x[1:]


def adapt(probabilities: numpy.ndarray, shares: numpy.ndarray) -> numpy.ndarray:
    """The share of each label in unlabeled data, by EM.

    Saerens, Latinne & Decaestecker, "Adjusting the outputs of a classifier to new a priori probabilities" (Neural
    Computation 14, 2002), Eq. 9: the probabilities times new share / old share, normalized, have the new shares as
    their means.

    # Parameters

    probabilities : `numpy.ndarray`, (words, labels)
        Of the unlabeled data, calibrated on data with the old shares.
    shares : `numpy.ndarray`, (labels,)
        The old shares, above 0.

    # Returns

    `numpy.ndarray`, (labels,): above 0, with a sum of 1.
    """
    new = shares / shares.sum()
    old = new
    for _ in range(2000):
        weighted = probabilities * (new / old)
        updated = (weighted / weighted.sum(1, keepdims=True)).mean(0).clip(min=MIN_SHARE)
        updated = updated / updated.sum()
        change = numpy.abs(updated - new).sum()
        new = updated
        if change < 1e-7:
            break
    return new
