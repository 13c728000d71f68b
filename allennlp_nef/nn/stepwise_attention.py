"""Attention over the words, step after step, with a backward pass that a recursion calls step by step.

The recursions of `recomputed_sketching` write their own backward pass, so attention has to give its gradients one step
at a time, last step first, the gradient of the coverage included: all earlier steps had a hand in it.
"""

from typing import Any, Dict, Optional, Tuple

import torch

from allennlp_nef.nn import constrained_softmax
from allennlp_nef.nn.sketching import Attend, SketchState

OPEN_SHARE = 0.9
"""Of the words, at most, for it to pay to leave the others out."""


class StepwiseAttention:
    """The attention of one run of a recursion.

    Sentences leave at the end of the batch: each step sees the first ones only, never more than the step before.
    """

    def forward(self, step: int, scores: torch.Tensor, keep: bool) -> torch.Tensor:
        """Scores z (sentences, tokens) -> alpha, 0 in padding, without autograd.

        Keeps what `backward` needs of this step if asked to.
        """
        raise NotImplementedError

    def backward(self, step: int, grad: torch.Tensor) -> Optional[torch.Tensor]:
        """The gradient of a step's alpha -> that of its scores, None for zero.

        Once for each step that was kept, the last one first.
        """
        raise NotImplementedError

    def open_words(self, size: int) -> Optional[torch.Tensor]:
        """The words of the first sentences that may have attention in the next step, flat: (words,), long.

        None for all of them, and where too few are left out for that to pay.
        """
        return None

    def state(self) -> Any:
        """What `restore` goes back to."""
        raise NotImplementedError

    def restore(self, state: Any) -> None:
        raise NotImplementedError


class RecordedAttention(StepwiseAttention):
    """Any attention without parameters and without chance: autograd records each step by itself."""

    def __init__(self, attend: Attend, mask: torch.Tensor, dtype: torch.dtype) -> None:
        self._attend, self._mask, self._lengths = attend, mask, mask.sum(-1)
        self._coverage = torch.zeros(mask.shape, dtype=dtype, device=mask.device)
        self._kept: Dict[int, Tuple[torch.Tensor, torch.Tensor, torch.Tensor]] = {}
        self._grad_coverage: Optional[torch.Tensor] = None

    def forward(self, step: int, scores: torch.Tensor, keep: bool) -> torch.Tensor:
        size = scores.size(0)
        with torch.set_grad_enabled(keep):
            z = scores.detach().requires_grad_(keep)
            coverage = self._coverage[:size].detach().requires_grad_(keep and step > 0)
            state = SketchState(step, coverage, self._mask[:size], self._lengths[:size])
            alpha = self._attend(z, state)
        if keep:
            self._kept[step] = z, coverage, alpha
        self._coverage = coverage.detach() + alpha.detach()
        return alpha.detach()

    def backward(self, step: int, grad: torch.Tensor) -> Optional[torch.Tensor]:
        z, coverage, alpha = self._kept.pop(step)
        later = _for_all(self._grad_coverage, grad)
        if later is not None:
            grad = grad + later
        self._grad_coverage = later
        if not alpha.requires_grad:
            return None
        inputs = (z, coverage) if coverage.requires_grad else (z,)
        of_scores, *of_coverage = torch.autograd.grad(alpha, inputs, grad, allow_unused=True)
        if of_coverage and of_coverage[0] is not None:
            self._grad_coverage = of_coverage[0] if later is None else later + of_coverage[0]
        return of_scores

    def state(self) -> torch.Tensor:
        return self._coverage

    def restore(self, state: torch.Tensor) -> None:
        self._coverage = state


class _ScoredSteps(StepwiseAttention):
    """Attention over the scores ``(z - coverage_penalty * beta) / temperature``, in closed form."""

    def __init__(self, temperature: float, coverage_penalty: float) -> None:
        self._temperature, self._penalty = temperature, coverage_penalty
        self._kept: Dict[int, constrained_softmax.Solution] = {}
        self._grad_coverage: Optional[torch.Tensor] = None

    def forward(self, step: int, scores: torch.Tensor, keep: bool) -> torch.Tensor:
        if self._penalty:
            scores = scores - self._penalty * self.coverage(scores.size(0))
        if self._temperature != 1:
            scores = scores / self._temperature
        solution = self.solve(scores)
        if keep:
            self._kept[step] = solution
        return solution.weights

    def backward(self, step: int, grad: torch.Tensor) -> torch.Tensor:
        later = _for_all(self._grad_coverage, grad)
        if later is not None:
            grad = grad + later
        of_scores, of_bounds = constrained_softmax.gradients(self._kept.pop(step), grad)
        if self._temperature != 1:
            of_scores = of_scores / self._temperature
        if of_bounds is not None:  # the bounds are 1 - beta
            later = -of_bounds if later is None else later - of_bounds
        if self._penalty:
            penalised = -self._penalty * of_scores
            later = penalised if later is None else later + penalised
        self._grad_coverage = later
        return of_scores

    def coverage(self, size: int) -> torch.Tensor:
        """beta of the first sentences: (size, tokens)."""
        raise NotImplementedError

    def solve(self, scores: torch.Tensor) -> constrained_softmax.Solution:
        """alpha, with what its gradient needs; adds it to the coverage."""
        raise NotImplementedError


class SoftmaxSteps(_ScoredSteps):
    """softmax over the words (Section 3.2)."""

    def __init__(
        self, mask: torch.Tensor, dtype: torch.dtype, temperature: float, coverage_penalty: float
    ) -> None:
        super().__init__(temperature, coverage_penalty)
        self._padding = None if _all(mask) else ~mask
        self._coverage = torch.zeros(mask.shape, dtype=dtype, device=mask.device)

    def coverage(self, size: int) -> torch.Tensor:
        return self._coverage[:size]

    def open_words(self, size: int) -> Optional[torch.Tensor]:
        return _words_but(self._padding, size)

    def solve(self, scores: torch.Tensor) -> constrained_softmax.Solution:
        size = scores.size(0)
        padding = None if self._padding is None else self._padding[:size]
        weights = constrained_softmax.open_softmax(scores, padding)
        if self._penalty:
            self._coverage = self._coverage[:size] + weights
        return constrained_softmax.Solution(weights, weights, None, None)

    def state(self) -> torch.Tensor:
        return self._coverage

    def restore(self, state: torch.Tensor) -> None:
        self._coverage = state


class ConstrainedSoftmaxSteps(_ScoredSteps):
    """csoftmax with the bounds 1 - beta (Eq. 11, Algs. 3 and 4)."""

    def __init__(
        self, mask: torch.Tensor, dtype: torch.dtype, temperature: float, coverage_penalty: float
    ) -> None:
        super().__init__(temperature, coverage_penalty)
        self._bounds = mask.to(dtype)
        self._closed = None if _all(mask) else ~mask

    def coverage(self, size: int) -> torch.Tensor:
        return 1 - self._bounds[:size]

    def open_words(self, size: int) -> Optional[torch.Tensor]:
        return _words_but(self._closed, size)

    def solve(self, scores: torch.Tensor) -> constrained_softmax.Solution:
        size = scores.size(0)
        bounds = self._bounds[:size]
        closed = None if self._closed is None else self._closed[:size]
        solution = constrained_softmax.solve(scores, bounds, closed)
        # A saturated position is left with exactly 0.
        self._bounds, self._closed = bounds - solution.weights, solution.closed
        return solution

    def state(self) -> Tuple[torch.Tensor, Optional[torch.Tensor]]:
        return self._bounds, self._closed

    def restore(self, state: Tuple[torch.Tensor, Optional[torch.Tensor]]) -> None:
        self._bounds, self._closed = state


def _for_all(later: Optional[torch.Tensor], grad: torch.Tensor) -> Optional[torch.Tensor]:
    """The gradient of the coverage after a step, for all sentences of that step: those that leave with it have 0."""
    if later is None or len(later) == len(grad):
        return later
    return torch.cat([later, later.new_zeros(len(grad) - len(later), grad.size(1))])


def _all(mask: torch.Tensor) -> bool:
    """Whether there is no padding, if that can be known without synchronising a device."""
    return mask.device.type == "cpu" and bool(mask.all())


def _words_but(closed: Optional[torch.Tensor], size: int) -> Optional[torch.Tensor]:
    """What `open_words` gives where some of the words (sentences, tokens) are closed."""
    # Elsewhere their number is not known without waiting.
    if closed is None or closed.device.type != "cpu":
        return None
    closed = closed[:size]
    words = (~closed).reshape(-1).nonzero().squeeze(1)
    return words if len(words) < OPEN_SHARE * closed.numel() else None
