"""Attention over the words, one step after the other, forward and backward.

The recursions of `fused` have a hand-written backward pass, which goes from the last step to the first. So attention
has to give its gradients one step at a time. The attention of a step depends on that of all earlier steps through the
coverage, whose gradient is carried from step to step here.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from allennlp_nef.nn import constrained_softmax, constrained_sparsemax
from allennlp_nef.nn.sketching.reference import Attend, SketchState

MAX_OPEN_SHARE = 0.9
"""The largest share of open words at which leaving the other words out saves time."""


class StepwiseAttention:
    """The attention of one run of a recursion over a batch.

    A step sees the first sentences of the batch only, those that are not done: never more than the step before.
    """

    def forward(self, step: int, scores: torch.Tensor, use_cache: bool) -> torch.Tensor:
        """Scores z (sentences, tokens) -> alpha (sentences, tokens), 0 in padding, without autograd.

        With `use_cache`, caches what `backward` needs of this step.
        """
        raise NotImplementedError

    def backward(self, step: int, grad: torch.Tensor) -> torch.Tensor | None:
        """The gradient of alpha of a step -> that of its scores, None for zero.

        To be called once for each cached step, from the last step to the first.
        """
        raise NotImplementedError

    def open_words(self, size: int) -> torch.Tensor | None:
        """The words of the first `size` sentences that can have attention in the next step: (words,), long.

        They are indices into (size * tokens,). None stands for all words; it is also returned where too few words
        could be left out to save time.
        """
        return None

    def keep(self, rows: torch.Tensor) -> None:
        """Leaves the other sentences out of all further steps, without a backward pass; see `FusedRecursion.keep`."""
        raise NotImplementedError

    def state(self) -> Any:
        """The state between two steps, for `restore`."""
        raise NotImplementedError

    def restore(self, state: Any) -> None:
        """Goes back to a state."""
        raise NotImplementedError


MakeAttention = Callable[[torch.Tensor, torch.dtype], StepwiseAttention]
"""Mask (batch, tokens) and the type of alpha -> the attention of one recursion."""


class RecordedAttention(StepwiseAttention):
    """Any attention without parameters and without random numbers: autograd records each step by itself."""

    def __init__(self, attend: Attend, mask: torch.Tensor, dtype: torch.dtype) -> None:
        self._attend, self._mask, self._lengths = attend, mask, mask.sum(-1)
        self._coverage = torch.zeros(mask.shape, dtype=dtype, device=mask.device)
        self._cache: dict[int, tuple[torch.Tensor, torch.Tensor, torch.Tensor]] = {}
        self._grad_coverage: torch.Tensor | None = None

    def forward(self, step: int, scores: torch.Tensor, use_cache: bool) -> torch.Tensor:
        size = scores.size(0)
        with torch.set_grad_enabled(use_cache):
            z = scores.detach().requires_grad_(use_cache)
            coverage = self._coverage[:size].detach().requires_grad_(use_cache and step > 0)
            state = SketchState(step, coverage, self._mask[:size], self._lengths[:size])
            alpha = self._attend(z, state)
        if use_cache:
            self._cache[step] = z, coverage, alpha
        self._coverage = coverage.detach() + alpha.detach()
        return alpha.detach()

    def backward(self, step: int, grad: torch.Tensor) -> torch.Tensor | None:
        z, coverage, alpha = self._cache.pop(step)
        later = _for_all_sentences(self._grad_coverage, grad)
        if later is not None:
            grad = grad + later
        self._grad_coverage = later
        if not alpha.requires_grad:
            return None
        inputs = (z, coverage) if coverage.requires_grad else (z,)
        gradients = torch.autograd.grad(alpha, inputs, grad, allow_unused=True)
        grad_coverage = gradients[1] if len(gradients) > 1 else None
        if grad_coverage is not None:
            self._grad_coverage = grad_coverage if later is None else later + grad_coverage
        return gradients[0]

    def keep(self, rows: torch.Tensor) -> None:
        self._mask, self._lengths = self._mask[rows], self._lengths[rows]
        self._coverage = self._coverage[rows]

    def state(self) -> torch.Tensor:
        return self._coverage

    def restore(self, state: torch.Tensor) -> None:
        self._coverage = state


class _ScoredSteps(StepwiseAttention):
    """Attention over the scores ``(z - coverage_penalty * beta) / temperature``, in closed form."""

    gradients: Any = staticmethod(constrained_softmax.gradients)
    """What `solve` returned, and the gradient of alpha -> those of the scores and of the bounds (None for zero)."""

    def __init__(self, temperature: float, coverage_penalty: float) -> None:
        self._temperature, self._penalty = temperature, coverage_penalty
        self._cache: dict[int, Any] = {}
        self._grad_coverage: torch.Tensor | None = None

    def forward(self, step: int, scores: torch.Tensor, use_cache: bool) -> torch.Tensor:
        if self._penalty:
            scores = scores - self._penalty * self.coverage(scores.size(0))
        if self._temperature != 1:
            scores = scores / self._temperature
        solution = self.solve(scores)
        if use_cache:
            self._cache[step] = solution
        return solution.weights

    def backward(self, step: int, grad: torch.Tensor) -> torch.Tensor:
        later = _for_all_sentences(self._grad_coverage, grad)
        if later is not None:
            grad = grad + later
        grad_scores, grad_bounds = self.gradients(self._cache.pop(step), grad)
        if self._temperature != 1:
            grad_scores = grad_scores / self._temperature
        if grad_bounds is not None:  # the bounds are B - beta
            later = -grad_bounds if later is None else later - grad_bounds
        if self._penalty:
            penalized = -self._penalty * grad_scores
            later = penalized if later is None else later + penalized
        self._grad_coverage = later
        return grad_scores

    def coverage(self, size: int) -> torch.Tensor:
        """beta of the first `size` sentences: (size, tokens)."""
        raise NotImplementedError

    def solve(self, scores: torch.Tensor) -> Any:
        """alpha, as `weights`, and what its gradient needs. alpha is added to the coverage."""
        raise NotImplementedError


class SoftmaxSteps(_ScoredSteps):
    """softmax over the words (Section 3.2)."""

    def __init__(
        self, mask: torch.Tensor, dtype: torch.dtype, temperature: float, coverage_penalty: float
    ) -> None:
        super().__init__(temperature, coverage_penalty)
        self._padding = None if _is_full(mask) else ~mask
        self._coverage = torch.zeros(mask.shape, dtype=dtype, device=mask.device)

    def coverage(self, size: int) -> torch.Tensor:
        return self._coverage[:size]

    def open_words(self, size: int) -> torch.Tensor | None:
        return open_words_of(self._padding, size)

    def solve(self, scores: torch.Tensor) -> constrained_softmax.Solution:
        size = scores.size(0)
        padding = None if self._padding is None else self._padding[:size]
        weights = constrained_softmax.open_softmax(scores, padding)
        if self._penalty:
            self._coverage = self._coverage[:size] + weights
        return constrained_softmax.Solution(weights, weights, None, None)

    def keep(self, rows: torch.Tensor) -> None:
        self._padding = None if self._padding is None else self._padding[rows]
        self._coverage = self._coverage[rows]

    def state(self) -> torch.Tensor:
        return self._coverage

    def restore(self, state: torch.Tensor) -> None:
        self._coverage = state


class _BoundedSteps(_ScoredSteps):
    """Attention with the bounds B - beta (Eq. 11)."""

    def __init__(
        self,
        mask: torch.Tensor,
        dtype: torch.dtype,
        temperature: float,
        coverage_penalty: float,
        upper_bound: float = 1.0,
    ) -> None:
        super().__init__(temperature, coverage_penalty)
        self._upper_bound = upper_bound
        self._bounds = mask.to(dtype) * upper_bound
        self._closed = None if _is_full(mask) else ~mask

    def coverage(self, size: int) -> torch.Tensor:
        return self._upper_bound - self._bounds[:size]

    def open_words(self, size: int) -> torch.Tensor | None:
        return open_words_of(self._closed, size)

    def keep(self, rows: torch.Tensor) -> None:
        self._bounds = self._bounds[rows]
        self._closed = None if self._closed is None else self._closed[rows]

    def state(self) -> tuple[torch.Tensor, torch.Tensor | None]:
        return self._bounds, self._closed

    def restore(self, state: tuple[torch.Tensor, torch.Tensor | None]) -> None:
        self._bounds, self._closed = state


class ConstrainedSoftmaxSteps(_BoundedSteps):
    """csoftmax (Algs. 3 and 4)."""

    def solve(self, scores: torch.Tensor) -> constrained_softmax.Solution:
        size = scores.size(0)
        bounds = self._bounds[:size]
        closed = None if self._closed is None else self._closed[:size]
        solution = constrained_softmax.solve(scores, bounds, closed)
        # A saturated position has a bound of exactly 0 from now on.
        self._bounds, self._closed = bounds - solution.weights, solution.closed
        return solution


class ConstrainedSparsemaxSteps(_BoundedSteps):
    """csparsemax.

    What a bound of 0 has for a gradient makes no difference here: the step that used the word up has the same one with
    the other sign. So the score of a closed word has no effect.
    """

    gradients = staticmethod(constrained_sparsemax.gradients)

    def solve(self, scores: torch.Tensor) -> constrained_sparsemax.SparseSolution:
        bounds = self._bounds[: scores.size(0)]
        solution = constrained_sparsemax.solve(scores, bounds)
        self._bounds = bounds - solution.weights
        self._closed = self._bounds <= 0
        return solution


def _for_all_sentences(later: torch.Tensor | None, grad: torch.Tensor) -> torch.Tensor | None:
    """The gradient of the coverage after a step, for all sentences of that step: 0 for those that end with it."""
    if later is None or len(later) == len(grad):
        return later
    return torch.cat([later, later.new_zeros(len(grad) - len(later), grad.size(1))])


def _is_full(mask: torch.Tensor) -> bool:
    """Whether there is no padding. False on other devices than a CPU, which would have to be synchronized."""
    return mask.device.type == "cpu" and bool(mask.all())


def open_words_of(closed: torch.Tensor | None, size: int) -> torch.Tensor | None:
    """The result of `open_words`, from the words (sentences, tokens) that are closed."""
    # On other devices than a CPU their number is not known without synchronization.
    if closed is None or closed.device.type != "cpu":
        return None
    # A third of the time of torch's `nonzero`.
    words = torch.from_numpy(np.flatnonzero(~closed[:size].numpy()))
    return words if len(words) < MAX_OPEN_SHARE * closed[:size].numel() else None
