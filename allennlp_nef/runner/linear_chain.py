"""Probabilities and tags from scores, in NumPy: what `allennlp_nef.nn.linear_chain` and
`allennlp_nef.modules.calibration` compute.

Shapes: emissions (batch, tokens, labels), mask (batch, tokens), transitions (labels, labels), start and end (labels,).
All numbers are float64. A score of at most `FORBIDDEN` forbids a transition.
"""

from typing import NamedTuple

import numpy

FORBIDDEN = -690.0
"""Its exponential is still above 0."""


class Chain(NamedTuple):
    """A linear chain."""

    transitions: numpy.ndarray
    start: numpy.ndarray
    end: numpy.ndarray

    def viterbi(self, emissions: numpy.ndarray, mask: numpy.ndarray) -> numpy.ndarray:
        """The best tagging (batch, tokens), 0 in padding. Ties go to the lowest label, from the last word."""
        tokens = emissions.shape[1]
        scores = [self.start + emissions[:, 0]]
        for i in range(1, tokens):
            best = (scores[-1][:, :, None] + self.transitions).max(1) + emissions[:, i]
            scores.append(best - best.max(-1, keepdims=True))
        rows = numpy.arange(len(mask))
        last = numpy.stack(scores)[mask.sum(-1) - 1, rows]
        tags = [(last + self.end).argmax(-1)]
        for i in range(tokens - 1, 0, -1):
            before = (scores[i - 1] + self.transitions[:, tags[-1]].T).argmax(-1)
            tags.append(numpy.where(mask[:, i], before, tags[-1]))
        return numpy.where(mask, numpy.stack(tags[::-1], 1), 0)

    def marginals(
        self, emissions: numpy.ndarray, mask: numpy.ndarray, tags: numpy.ndarray | None = None
    ) -> "Marginals":
        """The probability of each label of each word, and of each label of the next word given this word's tag."""
        weights = numpy.exp(numpy.maximum(self.transitions, FORBIDDEN))
        forward = [self.start + emissions[:, 0]]
        for i in range(1, emissions.shape[1]):
            forward.append(_log_product(forward[-1], weights) + emissions[:, i])
        backward = [numpy.broadcast_to(self.end, forward[0].shape)]
        for i in range(emissions.shape[1] - 1, 0, -1):
            message = _log_product(backward[-1] + emissions[:, i], weights.T)
            backward.append(numpy.where(mask[:, i, None], message, backward[-1]))
        after = numpy.stack(backward[::-1], 1)
        words = softmax(numpy.stack(forward, 1) + after) * mask[..., None]
        if tags is None:
            return Marginals(words, words[:, 1:])
        following = self.transitions[tags[:, :-1]] + emissions[:, 1:] + after[:, 1:]
        return Marginals(words, softmax(following) * mask[:, 1:, None])


class Marginals(NamedTuple):
    """Probabilities, 0 in padding."""

    words: numpy.ndarray
    """(batch, tokens, labels)."""
    next_words: numpy.ndarray
    """(batch, tokens - 1, labels)."""


def _log_product(message: numpy.ndarray, weights: numpy.ndarray) -> numpy.ndarray:
    """log(exp(message) @ weights), up to a constant for each sentence."""
    highest = message.max(-1, keepdims=True)
    return numpy.log(numpy.exp(message - highest) @ weights)


def softmax(scores: numpy.ndarray) -> numpy.ndarray:
    """The softmax over the last dimension."""
    exponentials = numpy.exp(scores - scores.max(-1, keepdims=True))
    return exponentials / exponentials.sum(-1, keepdims=True)


def calibrated(
    probabilities: numpy.ndarray, temperature: float, biases: numpy.ndarray
) -> numpy.ndarray:
    """softmax(log p / T + b). A probability of 0 stays 0."""
    is_zero = probabilities <= 0
    logits = numpy.log(numpy.where(is_zero, 1, probabilities)) / temperature + biases
    return numpy.where(is_zero, 0, softmax(numpy.where(is_zero, -1e300, logits)))
