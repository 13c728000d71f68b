"""Viterbi's algorithm, forward-backward and the likelihood, one sentence after the other: see `nn.linear_chain`."""

from typing import Any

import numpy as np

from allennlp_nef.nn._kernels.arithmetic import ZERO, compiled, copy, exp

MINUS_INFINITY = np.float32(-np.inf)


@compiled
def _sums(a: Any, b: Any, result: Any) -> None:
    for j in range(result.size):
        result[j] = a[j] + b[j]


@compiled
def _best(values: Any) -> Any:
    """The first index with the highest value."""
    best = 0
    for i in range(1, values.size):
        if values[i] > values[best]:
            best = i
    return best


@compiled
def _subtract_highest(values: Any) -> Any:
    highest = values[0]
    for i in range(1, values.size):
        highest = max(highest, values[i])
    for i in range(values.size):
        values[i] -= highest
    return highest


@compiled
def _largest_sums(values: Any, arcs: Any, result: Any) -> None:
    """max over i of values[i] + arcs[i, j], for each j."""
    for j in range(result.size):
        result[j] = MINUS_INFINITY
    for i in range(values.size):
        for j in range(result.size):
            result[j] = max(result[j], values[i] + arcs[i, j])


@compiled
def viterbi(
    lengths: Any, emissions: Any, transitions: Any, start: Any, end: Any, path: Any
) -> None:
    """Fills in the best tagging, (batch, tokens), of words."""
    scores = np.empty(emissions.shape[1:], end.dtype)
    sums = np.empty(end.size, end.dtype)
    back = np.ascontiguousarray(transitions.T)
    for row in range(emissions.shape[0]):
        length = lengths[row]
        for i in range(length):
            current, emission = scores[i], emissions[row, i]
            if i == 0:
                _sums(start, emission, current)
                continue
            _largest_sums(scores[i - 1], transitions, current)
            _sums(current, emission, current)
            _subtract_highest(current)
        if length > 0:
            _sums(scores[length - 1], end, sums)
            path[row, length - 1] = _best(sums)
        for i in range(length - 1, 0, -1):
            _sums(scores[i - 1], back[path[row, i]], sums)
            path[row, i - 1] = _best(sums)


@compiled
def _message(values: Any, arcs: Any, highest: Any, result: Any) -> None:
    """log of the sum over i of exp(values[i] + arcs[i, j]), for each j."""
    _largest_sums(values, arcs, highest)
    for j in range(result.size):
        result[j] = ZERO
    for i in range(values.size):
        for j in range(result.size):
            result[j] += exp(values[i] + arcs[i, j] - highest[j])
    for j in range(result.size):
        result[j] = np.log(result[j]) + highest[j]


@compiled
def _forward(words: Any, transitions: Any, start: Any, messages: Any, constants: Any) -> None:
    """The messages of the words of a sentence, (tokens, tags), less a constant each, (tokens,)."""
    highest = np.empty(start.size, start.dtype)
    for i in range(len(words)):
        message = messages[i]
        if i == 0:
            _sums(start, words[0], message)
        else:
            _message(messages[i - 1], transitions, highest, message)
            _sums(message, words[i], message)
        constants[i] = _subtract_highest(message)


@compiled
def _backward(words: Any, back: Any, end: Any, messages: Any) -> None:
    """The same from the end, without the constants; `back` are the transitions (to, from)."""
    highest, values = np.empty(end.size, end.dtype), np.empty(end.size, end.dtype)
    for i in range(len(words) - 1, -1, -1):
        if i == len(words) - 1:
            copy(end, messages[i])
        else:
            _sums(messages[i + 1], words[i + 1], values)
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
    back = np.ascontiguousarray(transitions.T)
    constants = np.empty(emissions.shape[1], end.dtype)
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
    last = np.empty(end.size, end.dtype)
    for row in range(len(lengths)):
        length, gold, words = lengths[row], tags[row], emissions[row]
        if length == 0:
            result[row] = ZERO
            continue
        _forward(words[:length], transitions, start, forward[row], constants[row])
        _sums(forward[row, length - 1], end, last)
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
    _sums(a, b, result)
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
    """Adds the gradients of the log-likelihoods, times `grad` (batch,): gold tags less marginal probabilities.

    `grad_emissions` is zero before.
    """
    back = np.ascontiguousarray(transitions.T)
    backward = np.empty(emissions.shape[1:], end.dtype)
    marginals, total = np.empty(end.size, end.dtype), np.empty(end.size, end.dtype)
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
                _sums(grad_start, result, grad_start)
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
                _sums(grad_end, result, grad_end)
