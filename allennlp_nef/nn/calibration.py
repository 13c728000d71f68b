"""Calibrated probabilities, as functions on tensors."""

import torch


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
