"""Viterbi's algorithm, forward-backward and the likelihood, one sentence after the other: see `nn.linear_chain`."""

from typing import Any

import numpy as np

from allennlp_nef.nn.kernels.arithmetic import ZERO, compiled, exp

MINUS_INFINITY = np.float32(-np.inf)


@compiled
def _highest(values: Any) -> Any:
    highest = values[0]
    for i in range(1, values.size):
        highest = max(highest, values[i])
    return highest


@compiled
def _subtract_highest(values: Any) -> Any:
    highest = _highest(values)
    for i in range(values.size):
        values[i] -= highest
    return highest


@compiled
def _best_from(values: Any, arcs: Any, tag: Any) -> Any:
    """The first index i with the highest value[i] + arcs[i, tag]."""
    best, highest = 0, values[0] + arcs[0, tag]
    for i in range(1, values.size):
        value = values[i] + arcs[i, tag]
        if value > highest:
            best, highest = i, value
    return best


@compiled
def _largest_sums(values: Any, arcs: Any, result: Any) -> None:
    """max over i of values[i] + arcs[i, j], for each j."""
    result[:] = MINUS_INFINITY
    for i in range(values.size):
        for j in range(result.size):
            result[j] = max(result[j], values[i] + arcs[i, j])


@compiled
def viterbi(
    lengths: Any, emissions: Any, transitions: Any, start: Any, end: Any, path: Any
) -> None:
    """Fills in the best tagging, (batch, tokens), of words."""
    scores = np.empty(emissions.shape[1:], end.dtype)
    arcs = np.empty((end.size, 1), end.dtype)
    for row in range(emissions.shape[0]):
        length = lengths[row]
        for i in range(length):
            current, emission = scores[i], emissions[row, i]
            if i == 0:
                current[:] = start + emission
                continue
            _largest_sums(scores[i - 1], transitions, current)
            for j in range(end.size):
                current[j] += emission[j]
            _subtract_highest(current)
        if length > 0:
            arcs[:, 0] = end
            path[row, length - 1] = _best_from(scores[length - 1], arcs, 0)
        for i in range(length - 1, 0, -1):
            path[row, i - 1] = _best_from(scores[i - 1], transitions, path[row, i])


@compiled
def _message(values: Any, arcs: Any, highest: Any, result: Any) -> None:
    """log of the sum over i of exp(values[i] + arcs[i, j]), for each j."""
    _largest_sums(values, arcs, highest)
    result[:] = ZERO
    for i in range(values.size):
        for j in range(result.size):
            result[j] += exp(values[i] + arcs[i, j] - highest[j])
    for j in range(result.size):
        result[j] = np.log(result[j]) + highest[j]


@compiled
def _forward(words: Any, transitions: Any, start: Any, messages: Any, constants: Any) -> None:
    """The messages of the words of a sentence, (tokens, tags), less a constant each, (tokens,)."""
    highest = np.empty_like(start)
    for i in range(len(words)):
        message = messages[i]
        if i == 0:
            message[:] = start + words[0]
        else:
            _message(messages[i - 1], transitions, highest, message)
            for j in range(start.size):
                message[j] += words[i, j]
        constants[i] = _subtract_highest(message)


@compiled
def _backward(words: Any, back: Any, end: Any, messages: Any) -> None:
    """The same from the end, without the constants; `back` are the transitions (to, from)."""
    highest, values = np.empty_like(end), np.empty_like(end)
    for i in range(len(words) - 1, -1, -1):
        if i == len(words) - 1:
            messages[i] = end
        else:
            for j in range(end.size):
                values[j] = messages[i + 1, j] + words[i + 1, j]
            _message(values, back, highest, messages[i])
            _subtract_highest(messages[i])


@compiled
def messages(
    lengths: Any,
    emissions: Any,
    transitions: Any,
    start: Any,
    end: Any,
    forward: Any,
    backward: Any,
) -> None:
    """Fills in the logarithms of the forward and backward messages of words, (batch, tokens, tags) each."""
    back, constants = transitions.T.copy(), np.empty(emissions.shape[1], end.dtype)
    for row in range(len(lengths)):
        words = emissions[row, : lengths[row]]
        _forward(words, transitions, start, forward[row], constants)
        _backward(words, back, end, backward[row])


@compiled
def log_likelihoods(
    lengths: Any,
    tags: Any,
    emissions: Any,
    transitions: Any,
    start: Any,
    end: Any,
    forward: Any,
    constants: Any,
    result: Any,
) -> None:
    """Fills in those of the tags (batch,), and the forward messages with their constants (batch, tokens)."""
    for row in range(len(lengths)):
        length, gold, words = lengths[row], tags[row], emissions[row]
        if length == 0:
            result[row] = ZERO
            continue
        _forward(words[:length], transitions, start, forward[row], constants[row])
        last = forward[row, length - 1] + end
        score = float(start[gold[0]]) + end[gold[length - 1]] - _subtract_highest(last)
        total = ZERO
        for j in range(end.size):
            total += exp(last[j])
        score -= np.log(total)
        for i in range(length):
            score += words[i, gold[i]] - constants[row, i]
            if i > 0:
                score += transitions[gold[i - 1], gold[i]]
        result[row] = score


@compiled
def _softmax_of_sum(a: Any, b: Any, result: Any) -> None:
    result[:] = a + b
    _subtract_highest(result)
    total = ZERO
    for j in range(result.size):
        result[j] = exp(result[j])
        total += result[j]
    for j in range(result.size):
        result[j] /= total


@compiled
def gradients(
    lengths: Any,
    tags: Any,
    emissions: Any,
    transitions: Any,
    start: Any,
    end: Any,
    forward: Any,
    constants: Any,
    grad: Any,
    grad_emissions: Any,
    grad_transitions: Any,
    grad_start: Any,
    grad_end: Any,
) -> None:
    """Adds the gradients of the log-likelihoods, times `grad` (batch,): gold tags less marginal probabilities."""
    back, backward = transitions.T.copy(), np.empty(emissions.shape[1:], end.dtype)
    marginals, total = np.empty_like(end), np.empty_like(end)
    for row in range(len(lengths)):
        length, gold, words = lengths[row], tags[row], emissions[row]
        factor, before = grad[row], forward[row]
        if length == 0:
            continue
        _backward(words[:length], back, end, backward)
        for i in range(length):
            _softmax_of_sum(before[i], backward[i], marginals)
            result = grad_emissions[row, i]
            for j in range(end.size):
                result[j] -= factor * marginals[j]
            result[gold[i]] += factor
            if i == 0:
                grad_start += result
            else:
                grad_transitions[gold[i - 1], gold[i]] += factor
                # The probability of the tag before, given this tag, is exp(before + transition - total).
                for j in range(end.size):
                    total[j] = before[i, j] - words[i, j] + constants[row, i]
                for k in range(end.size):
                    for j in range(end.size):
                        log_p = before[i - 1, k] + transitions[k, j] - total[j]
                        p = exp(min(log_p, ZERO)) * marginals[j]
                        grad_transitions[k, j] -= factor * p
            if i == length - 1:
                grad_end += result
