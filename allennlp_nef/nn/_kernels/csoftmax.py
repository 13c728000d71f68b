"""csoftmax by rounds, one row after the other: see `nn.constrained_softmax`, whose Algorithms 3 and 4 these are."""

from typing import Any

import numpy as np

from allennlp_nef.nn._kernels.arithmetic import ONE, ZERO, compiled, compiled_sums, exp

SMALLEST_SUM = np.float32(1e-9)
"""Where the exponentials of open positions sum to less, they are computed again, from the highest open score."""


@compiled_sums
def _sum(values: Any) -> Any:
    total = ZERO
    for value in values:
        total += value
    return total


@compiled
def _exponentials(z: Any, closed: Any, result: Any) -> None:
    """exp(z - highest) of the open positions of a row, 0 of the others."""
    highest = np.float32(-np.inf)
    for i in range(z.size):
        score = z[i]
        if not closed[i] and not score <= highest:  # NaN becomes the highest
            highest = score
    for i in range(z.size):
        result[i] = ZERO if closed[i] else exp(z[i] - highest)


@compiled
def _last_position(z: Any, u: Any) -> Any:
    """The position that Algorithm 3 visits last."""
    last, lowest = 0, np.inf
    for i in range(z.size):
        key = z[i] - np.log(u[i])
        if key < lowest:
            last, lowest = i, key
    return last


@compiled
def solve(z: Any, u: Any, slack: Any, weights: Any, shares: Any, masses: Any, closed: Any) -> None:
    """Fills in the four parts of a `Solution`."""
    for row in range(z.shape[0]):
        scores, bounds, is_closed = z[row], u[row], closed[row]
        share, weight = shares[row], weights[row]
        for i in range(scores.size):
            is_closed[i] = bounds[i] <= ZERO
        _exponentials(scores, is_closed, share)
        total, mass, num_open = _sum(share), ONE, 0
        while True:
            if total < SMALLEST_SUM:
                _exponentials(scores, is_closed, share)
                total = _sum(share)
            factor = mass / total if total > ZERO else ZERO
            num_open, is_done = 0, True
            used = ZERO
            for i in range(scores.size):
                if not is_closed[i]:
                    if share[i] * factor > bounds[i]:
                        is_closed[i], is_done = True, False
                        share[i] = ZERO
                    else:
                        num_open += 1
                if is_closed[i]:
                    used += bounds[i]
            if is_done:
                break
            mass = max(ONE - used, ZERO)
            total = _sum(share)
        if num_open == 0:
            used = _sum(bounds)
            if used < ONE - slack:
                masses[row, 0] = max(ONE - used, ZERO)
                for i in range(scores.size):
                    weight[i], share[i] = bounds[i], ZERO
                continue
            last = _last_position(scores, bounds)
            is_closed[last], share[last], total = False, ONE, ONE
            mass = max(ONE - (used - bounds[last]), ZERO)
        masses[row, 0] = mass
        for i in range(scores.size):
            share[i] /= total
            value = share[i] * mass
            weight[i] = bounds[i] if is_closed[i] or value > bounds[i] else value


@compiled_sums
def gradients(
    shares: Any, masses: Any, closed: Any, grad: Any, grad_scores: Any, grad_bounds: Any
) -> None:
    """Algorithm 4."""
    for row in range(grad.shape[0]):
        mean = ZERO
        for i in range(grad.shape[1]):
            mean += shares[row, i] * grad[row, i]
        for i in range(grad.shape[1]):
            centered = grad[row, i] - mean
            grad_scores[row, i] = shares[row, i] * centered * masses[row, 0]
            grad_bounds[row, i] = centered if closed[row, i] else ZERO


@compiled
def forward_step(
    z: Any, bounds: Any, slack: Any, weights: Any, shares: Any, masses: Any, closed: Any
) -> None:
    """`solve`; the bounds become those of the next step."""
    solve(z, bounds, slack, weights, shares, masses, closed)
    for row in range(z.shape[0]):
        for i in range(z.shape[1]):
            bounds[row, i] -= weights[row, i]


@compiled
def backward_step(
    shares: Any, masses: Any, closed: Any, grad: Any, grad_coverage: Any, grad_scores: Any
) -> None:
    """`gradients` for the bounds B - beta. The gradient of beta after the step becomes that of beta before it."""
    grad_bounds = np.empty_like(grad)
    gradients(shares, masses, closed, grad + grad_coverage, grad_scores, grad_bounds)
    grad_coverage -= grad_bounds
