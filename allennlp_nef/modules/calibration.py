"""Temperature, biases and threshold of the probabilities of tags, and which translations need no reviewer."""

from collections.abc import Sequence
from typing import Any

import torch
from allennlp.common import FromParams
from allennlp.common.checks import ConfigurationError

from allennlp_nef.data.formats.error_spans import is_word_qe

OBJECTIVES = {"mcc": "MCC", "f1_mult": "F1-MULT", "span_f1": "F1 of characters", "mpp": "MPP"}
"""The scores that a threshold can be chosen for."""
LIMIT = 1000.0
"""Of the temperature, of its inverse, and of biases."""
ERRORS = (1e-6, 1e6)
"""The lowest and the highest number of errors that a translation is expected to have, so that logarithms are finite."""


def calibrated(
    probabilities: torch.Tensor, temperature: float, biases: torch.Tensor
) -> torch.Tensor:
    """softmax(log p / T + b): temperature scaling with a bias for each label.

    Guo et al., "On Calibration of Modern Neural Networks" (ICML 2017): temperature, and the biases of vector scaling.

    # Parameters

    probabilities : `torch.Tensor`, (..., labels)
        A label with probability 0 keeps it. A row of zeros, as in padding, stays one.
    temperature : `float`
        T, above 0: above 1 probabilities become less extreme, below 1 more so.
    biases : `torch.Tensor`, (labels,)
        b.

    # Returns

    `torch.Tensor`, (..., labels), with a sum of 1 where the row has one.
    """
    is_zero = probabilities <= 0
    logits = probabilities.masked_fill(is_zero, 1).log() / temperature + biases
    logits = logits.masked_fill(is_zero, torch.finfo(logits.dtype).min)
    return logits.softmax(-1).masked_fill(is_zero, 0)


class Acceptance(FromParams):
    """When a translation needs no reviewer: a part of a `Calibration`.

    The probability that a translation is free of errors is 1 / (1 + exp(a log e - b)), with e = -sum_i log P_i(OK) over
    its words. If these were independent of each other, the probability would be exp(-e). Since they are not,
    `allennlp-nef calibrate` fits a and b. e is close to the expected number of BAD words, where that is low.

    # Parameters

    scale, bias : `float`
        a and b, from -1000 to 1000.
    threshold : `float`
        From 0 to 1: a translation is accepted where the probability that it is free of errors is at least this.
    share, precision : `float`
        In the data that the threshold was chosen on, the share of translations that are accepted, and the share of
        these that are free of errors.
    share_interval, precision_interval : `list[float]`
        For other data like those, the lower and the upper end of intervals with a confidence of 95%.
    """

    def __init__(
        self,
        scale: float,
        bias: float,
        threshold: float,
        share: float,
        precision: float,
        share_interval: list[float],
        precision_interval: list[float],
    ) -> None:
        for name, value in (("scale", scale), ("bias", bias)):
            if not -LIMIT <= value <= LIMIT:
                raise ConfigurationError(
                    f"calibration: acceptance: {name}: expected a number from {-LIMIT:g} to {LIMIT:g}, got {value!r}"
                )
        shares = {"threshold": [threshold], "share": [share], "precision": [precision]}
        shares.update(share_interval=share_interval, precision_interval=precision_interval)
        for name, values in shares.items():
            if not all(0 <= value <= 1 for value in values):
                raise ConfigurationError(
                    f"calibration: acceptance: {name}: expected numbers from 0 to 1, got {values}"
                )
        self.scale = scale
        self.bias = bias
        self.threshold = threshold
        self.share = share
        self.precision = precision
        self.share_interval = share_interval
        self.precision_interval = precision_interval

    def probabilities(self, bad_probabilities: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        """The probability of each translation to be free of errors, in float64: (batch,).

        # Parameters

        bad_probabilities : `torch.Tensor`, (batch, tokens)
            Calibrated.
        mask : `torch.BoolTensor`, (batch, tokens)
        """
        errors = expected_errors(bad_probabilities, mask)
        return torch.sigmoid(self.bias - self.scale * errors.log())


def expected_errors(bad_probabilities: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    """e = -sum_i log(1 - P_i(BAD)) of each sentence, within `ERRORS`, in float64: (batch,).

    # Parameters

    bad_probabilities : `torch.Tensor`, (batch, tokens)
    mask : `torch.BoolTensor`, (batch, tokens)
    """
    bad = bad_probabilities.double().clamp(max=1)  # rounding makes a sum of severities larger
    errors = -torch.log1p(-bad).masked_fill(~mask, 0).sum(-1)
    return errors.clamp(*ERRORS)


class Calibration(FromParams):
    """What `allennlp-nef calibrate` finds on labeled data, and stores in the config of an archive.

    The probabilities p of a tag head become softmax(log p / T + b). See `calibrated`.

    # Parameters

    temperature : `float`, optional (default = `1.0`)
        T, from 0.001 to 1000.
    biases : `dict[str, float]`, optional (default = `None`)
        b, by label, from -1000 to 1000; 0 for a label that is not named.
    threshold : `float`, optional (default = `None`)
        In (0, 1), for the labels of quality estimation: a word is BAD where its calibrated probability of BAD is at
        least this. Without it, tags are those of the tag head.
    objective : `str`, optional (default = `None`)
        Which score the threshold was chosen for, "mcc", "f1_mult", "span_f1" or "mpp". A warning of `evaluate` repeats
        it.
    gold_share, tagged_share : `float`, optional (default = `None`)
        Of the data that the threshold was chosen on, the share of words that are BAD (after adaptation, the estimated
        one), and the share that the threshold tags BAD. `evaluate` warns where it tags far more or fewer words BAD.
    base_rate : `dict[str, float]`, optional (default = `None`)
        After adaptation to unlabeled data, the share of each label that was estimated there. Answers say so.
    acceptance : `Acceptance`, optional (default = `None`)
        For the labels of quality estimation: when a translation needs no reviewer.
    """

    def __init__(
        self,
        temperature: float = 1.0,
        biases: dict[str, float] | None = None,
        threshold: float | None = None,
        objective: str | None = None,
        gold_share: float | None = None,
        tagged_share: float | None = None,
        base_rate: dict[str, float] | None = None,
        acceptance: Acceptance | None = None,
    ) -> None:
        # Others would give probabilities that are NaN.
        if not 1 / LIMIT <= temperature <= LIMIT:
            raise ConfigurationError(
                f"calibration: temperature: expected a number from {1 / LIMIT:g} to {LIMIT:g}, got {temperature!r}"
            )
        self.biases = dict(biases or {})
        for label, bias in self.biases.items():
            if not -LIMIT <= bias <= LIMIT:
                raise ConfigurationError(
                    f"calibration: biases: expected a number from {-LIMIT:g} to {LIMIT:g} for {label!r}, got {bias!r}"
                )
        if threshold is not None and not 0 < threshold < 1:
            raise ConfigurationError(
                f"calibration: threshold: expected a number above 0 and below 1, got {threshold!r}"
            )
        if objective is not None and objective not in OBJECTIVES:
            raise ConfigurationError(
                f"calibration: objective: expected {', '.join(OBJECTIVES)}, got {objective!r}"
            )
        shares = {"gold_share": gold_share, "tagged_share": tagged_share, **(base_rate or {})}
        for name, share in shares.items():
            if share is not None and not 0 <= share <= 1:
                raise ConfigurationError(
                    f"calibration: {name}: expected a number from 0 to 1, got {share!r}"
                )
        self.temperature = temperature
        self.threshold = threshold
        self.objective = objective
        self.gold_share = gold_share
        self.tagged_share = tagged_share
        self.base_rate = base_rate
        self.acceptance = acceptance

    def check_labels(self, labels: Sequence[str]) -> None:
        """Raises `ConfigurationError` where the calibration is of other labels."""
        for label in (*self.biases, *(self.base_rate or ())):
            if label not in labels:
                raise ConfigurationError(
                    f"calibration: expected labels among {', '.join(labels)}, got {label!r}"
                )
        for name in ("threshold", "acceptance"):
            if getattr(self, name) is not None and not is_word_qe(labels):
                raise ConfigurationError(
                    f"calibration: {name}: expected the labels OK and BAD, or OK and severities, got "
                    + ", ".join(labels)
                )

    def apply(self, probabilities: torch.Tensor, labels: Sequence[str]) -> torch.Tensor:
        """Probabilities of these labels, (..., labels), calibrated."""
        biases = probabilities.new_tensor([self.biases.get(label, 0.0) for label in labels])
        return calibrated(probabilities, self.temperature, biases)

    def to_json(self) -> dict[str, Any]:
        """The parameters, for a config; those without a value are left out."""
        return {
            name: vars(value) if isinstance(value, Acceptance) else value
            for name, value in vars(self).items()
            if value is not None
        }
