"""How far probabilities are from what happens. This module needs nothing but NumPy."""

import numpy

from allennlp_nef.metrics.ratios import ratio

BINS = 15
"""Of the expected calibration error."""


def calibration_bins(confidence: numpy.ndarray, is_right: numpy.ndarray) -> numpy.ndarray:
    """For each bin the sum of the confidences, how many are right, and how many there are: (3, `BINS`).

    The bins have equal width. The last one includes 1.

    # Parameters

    confidence : `numpy.ndarray`, (words,)
        The probability of something, in [0, 1].
    is_right : `numpy.ndarray`, (words,)
        Whether it is so.
    """
    bins = numpy.minimum((confidence * BINS).astype(numpy.int64), BINS - 1)
    return numpy.stack(
        [
            numpy.bincount(bins, weights, BINS)
            for weights in (confidence, is_right, numpy.ones(len(confidence)))
        ]
    )


def expected_calibration_error(bins: numpy.ndarray) -> float:
    """The mean difference of the confidence and the share that is right, over the words: ECE.

    sum_b n_b / n |mean confidence_b - share_b|, over `calibration_bins` (Naeini et al., AAAI 2015). 0 without words.
    """
    confidence, right, count = bins
    return float(ratio(numpy.abs(confidence - right).sum(), count.sum()))
