"""How far probabilities are from what happens. The functions need nothing but NumPy."""

from typing import Any

import numpy
import torch
from allennlp.data import Vocabulary
from allennlp.training.metrics import Metric
from overrides import overrides

from allennlp_nef.data.formats.error_spans import is_word_qe
from allennlp_nef.metrics.counting_metric import ProbabilityMetric
from allennlp_nef.metrics.ratios import ratio
from allennlp_nef.metrics.word_qe import BadLabels

BINS = 15
"""The number of bins of the expected calibration error."""


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


@Metric.register("calibration")
class CalibrationMetric(ProbabilityMetric):
    """Whether probabilities are what they say: of the words with a probability of 0.7, are 70% right?

    `ece` is the expected calibration error (Naeini et al., AAAI 2015): the mean difference, over the words, of the
    probability of the predicted tag and of the share of right tags, in 15 bins of equal width. `brier` is the Brier
    score (1950): the mean of sum_k (p_k - [gold = k])^2, from 0, the best, to 2.

    Where the labels are OK and BAD, both are those of the probability of BAD: `ece` compares it with the share of gold
    BAD, and `brier` is the mean of (p_BAD - [gold = BAD])^2, from 0 to 1. Severities (minor and major) count as BAD.

    A gold tag that the vocabulary lacks counts as one that is never predicted. Without words, both are 0.

    Registered as a `Metric` with name "calibration".

    # Parameters

    vocab : `Vocabulary`
        The model fills it in.
    label_namespace : `str`, optional (default = `"labels"`)
        The model fills it in.
    """

    def __init__(self, vocab: Vocabulary, label_namespace: str = "labels") -> None:
        labels = vocab.get_token_to_index_vocabulary(label_namespace)
        self._bad = BadLabels(labels) if is_word_qe(labels) else None
        self.reset()

    @overrides
    def add_words(
        self,
        predictions: torch.Tensor,
        gold: torch.Tensor,
        mask: torch.Tensor,
        probabilities: torch.Tensor,
    ) -> None:
        if self._bad is None:
            confidence = probabilities.gather(-1, predictions.unsqueeze(-1)).squeeze(-1)
            is_right = predictions == gold
            known = (gold >= 0).unsqueeze(-1)
            labels = torch.nn.functional.one_hot(gold.clamp(min=0), probabilities.size(-1))
            squares = ((probabilities - known * labels) ** 2).sum(-1)
        else:
            confidence, is_right = self._bad.probabilities(probabilities), self._bad.are(gold)
            squares = (confidence - is_right.double()) ** 2
        bins = (confidence * BINS).long().clamp(0, BINS - 1)
        rows = torch.stack([confidence, is_right.double(), torch.ones_like(confidence)]) * mask
        counts = rows.new_zeros(3, BINS).index_add_(1, bins, rows)
        self.add(torch.cat([counts.flatten(), (squares * mask).sum().unsqueeze(0)]))

    @overrides
    def no_counts(self) -> numpy.ndarray:
        return numpy.zeros(3 * BINS + 1)  # the bins, and the sum of the squares

    @overrides
    def scores(self, counts: Any) -> dict[str, float]:
        bins = counts[:-1].reshape(3, BINS)
        return {
            "ece": expected_calibration_error(bins),
            "brier": float(ratio(counts[-1], bins[2].sum())),
        }
