"""csoftmax of one step after the other, in compiled kernels."""

import numpy as np
import torch

from allennlp_nef.nn._kernels import have_kernels_for
from allennlp_nef.nn.constrained_softmax import SLACK
from allennlp_nef.nn.sketching.stepwise_attention import (
    ConstrainedSoftmaxSteps,
    StepwiseAttention,
    open_array_of,
)


def constrained_softmax_steps(
    mask: torch.Tensor,
    dtype: torch.dtype,
    temperature: float,
    coverage_penalty: float,
    upper_bound: float = 1.0,
) -> StepwiseAttention:
    """csoftmax in the form that is fastest: in kernels where there are some, for scores that are used as they are."""
    is_plain = temperature == 1 and not coverage_penalty
    if is_plain and mask.numel() and have_kernels_for(dtype, mask.device):
        return CompiledConstrainedSoftmaxSteps(mask, upper_bound)
    return ConstrainedSoftmaxSteps(mask, dtype, temperature, coverage_penalty, upper_bound)


class CompiledConstrainedSoftmaxSteps(StepwiseAttention):
    """`ConstrainedSoftmaxSteps` in float32 on a CPU: one kernel a step, and one for its backward pass.

    # Parameters

    mask : `torch.BoolTensor`, (batch, tokens)
    upper_bound : `float`
        B.
    """

    def __init__(self, mask: torch.Tensor, upper_bound: float) -> None:
        from allennlp_nef.nn._kernels import csoftmax

        self._kernels = csoftmax
        is_word = mask.numpy()
        self._bounds, self._closed = is_word * np.float32(upper_bound), ~is_word
        self._grad_coverage = np.zeros_like(self._bounds)
        self._cache: dict[int, tuple[np.ndarray, np.ndarray, np.ndarray]] = {}

    def forward(self, step: int, scores: torch.Tensor, use_cache: bool) -> torch.Tensor:
        return torch.from_numpy(self.forward_array(step, scores.contiguous().numpy(), use_cache))

    def backward(self, step: int, grad: torch.Tensor) -> torch.Tensor:
        return torch.from_numpy(self.backward_array(step, grad.contiguous().numpy()))

    def open_words(self, size: int) -> torch.Tensor | None:
        words = self.open_array(size)
        return None if words is None else torch.from_numpy(words)

    def forward_array(self, step: int, scores: np.ndarray, use_cache: bool) -> np.ndarray:
        size = len(scores)
        weights, shares = np.empty_like(scores), np.empty_like(scores)
        masses, closed = np.empty((size, 1), scores.dtype), np.empty(scores.shape, bool)
        bounds = self._bounds[:size]
        self._kernels.forward_step(scores, bounds, SLACK, weights, shares, masses, closed)
        self._closed = closed
        if use_cache:
            self._cache[step] = shares, masses, closed
        return weights

    def backward_array(self, step: int, grad: np.ndarray) -> np.ndarray:
        solution = self._cache.pop(step)
        grad_scores = np.empty_like(grad)
        grad_coverage = self._grad_coverage[: len(grad)]
        self._kernels.backward_step(*solution, grad, grad_coverage, grad_scores)
        return grad_scores

    def open_array(self, size: int) -> np.ndarray | None:
        return open_array_of(self._closed[:size])

    def keep(self, rows: torch.Tensor) -> None:
        self._bounds, self._closed = self._bounds[rows.numpy()], self._closed[rows.numpy()]

    def state(self) -> tuple[np.ndarray, np.ndarray]:
        return self._bounds.copy(), self._closed

    def restore(self, state: tuple[np.ndarray, np.ndarray]) -> None:
        self._bounds, self._closed = state[0].copy(), state[1]
