"""Scores of words, thresholds and calibration during training."""

import numpy
import torch
from allennlp.common.checks import ConfigurationError
from allennlp.data import Vocabulary
from allennlp.nn.util import dist_reduce_sum
from allennlp.training.metrics import Metric

from allennlp_nef.data.fields import UNSEEN
from allennlp_nef.metrics.sentence_scores import CollectingMetric
from allennlp_nef.qe.layouts import BAD, OK, SEVERITIES, bad_ids_of
from allennlp_nef.qe.scores import (
    best_threshold,
    calibration_bins,
    detection_scores,
    expected_calibration_error,
    expected_threshold,
    word_qe_scores,
)


def ok_index(vocab: Vocabulary, label_namespace: str) -> int:
    """Returns the index of OK. Raises a `ConfigurationError` if the labels are not OK and BAD or severities."""
    labels = vocab.get_token_to_index_vocabulary(label_namespace)
    if not {OK, BAD, *SEVERITIES}.issuperset(labels):
        raise ConfigurationError(
            f"expected the labels {OK}, {BAD} or {SEVERITIES}, got {[*labels]}"
        )
    return labels.get(OK, UNSEEN)


class DetectionScores(CollectingMetric):
    """`auc`, `mcc` and `ece` of the probabilities of critical errors; see `detection_scores`. A translation has such an
    error if at least half of the annotators found one.

    # Parameters

    threshold : `float`
    """

    def __init__(self, threshold: float) -> None:
        super().__init__()
        self.threshold = threshold

    def __call__(self, predicted: torch.Tensor, gold: torch.Tensor) -> None:  # type: ignore[override]
        """Adds a batch: (batch,) each."""
        self.add(predicted, gold)

    def scores(self, predicted: numpy.ndarray, gold: numpy.ndarray) -> dict[str, float]:
        return detection_scores(predicted, gold >= 0.5, self.threshold)


@Metric.register("word_qe")
class WordQe(Metric):
    """`mcc`, `f1_bad`, `f1_ok`, `f1_mult` and `accuracy`; see `word_qe_scores`. All labels but OK count as BAD. Data
    without tags have no scores.

    The model supplies the constructor arguments; omit them in a config.
    """

    _counts: torch.Tensor

    def __init__(self, vocab: Vocabulary, label_namespace: str = "labels") -> None:
        self._ok = ok_index(vocab, label_namespace)
        self.reset()

    def __call__(self, predictions: torch.Tensor, gold: torch.Tensor, mask: torch.Tensor) -> None:  # type: ignore[override]
        is_bad, is_tagged = gold != self._ok, predictions.argmax(-1) != self._ok
        cells = [is_bad & is_tagged, is_bad & ~is_tagged, ~is_bad & is_tagged, ~is_bad & ~is_tagged]
        counts = (torch.stack(cells) & mask).sum((1, 2))
        self._counts = self._counts.to(counts.device) + counts  # without waiting for the device

    def get_metric(self, reset: bool = False) -> dict[str, float]:
        counts = dist_reduce_sum(self._counts) if reset else self._counts
        if reset:
            self.reset()
        if not counts.any():
            return {}
        return {name: float(score) for name, score in word_qe_scores(counts.cpu().numpy()).items()}

    def reset(self) -> None:
        self._counts = torch.zeros(4, dtype=torch.long)


class BadProbabilityMetric(CollectingMetric):
    """Base class of metrics on the probability of BAD, or of all severities together.

    `word_qe_tagger` calls them with probabilities (batch, tokens, labels) in place of the predicted tags.
    """

    def __init__(self, vocab: Vocabulary, label_namespace: str = "labels") -> None:
        super().__init__()
        self._ok = ok_index(vocab, label_namespace)
        labels = vocab.get_index_to_token_vocabulary(label_namespace)
        self._bad_ids = bad_ids_of([labels[index] for index in range(len(labels))])

    def __call__(self, probabilities: torch.Tensor, gold: torch.Tensor, mask: torch.Tensor) -> None:  # type: ignore[override]
        bad = probabilities[..., self._bad_ids].sum(-1)
        self.add(bad[mask], (gold != self._ok)[mask])


@Metric.register("best_threshold_word_qe")
class BestThresholdWordQe(BadProbabilityMetric):
    """`best_mcc`, the highest MCC over all thresholds of the probability of BAD, and the `best_threshold`; also
    `adaptive_mcc` and `adaptive_threshold`, for the threshold chosen without gold tags by `expected_threshold`.

    `best_mcc` measures how well the model ranks words, whatever its threshold is. `"validation_metric": "+best_mcc"`
    selects the epoch by it; `allennlp-nef calibrate` finds the threshold later.

    The model supplies the constructor arguments; omit them in a config.
    """

    def scores(self, predicted: numpy.ndarray, gold: numpy.ndarray) -> dict[str, float]:
        threshold, mcc = best_threshold(predicted, gold)
        adaptive = expected_threshold(predicted)
        tagged = predicted >= adaptive
        cells = numpy.bincount(2 * ~gold.astype(bool) + ~tagged, minlength=4)
        return {
            "best_mcc": mcc,
            "best_threshold": threshold,
            "adaptive_mcc": float(word_qe_scores(cells)["mcc"]),
            "adaptive_threshold": adaptive,
        }


@Metric.register("calibration")
class Calibration(BadProbabilityMetric):
    """`ece`, the expected calibration error of the probability of BAD; see `expected_calibration_error`.

    The model supplies the constructor arguments; omit them in a config.
    """

    def scores(self, predicted: numpy.ndarray, gold: numpy.ndarray) -> dict[str, float]:
        return {"ece": expected_calibration_error(calibration_bins(predicted, gold))}
