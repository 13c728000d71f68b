"""Traces whose rows give tags: the steps of `neural_easy_first`, the layers of `label_attention`."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy
import torch
from overrides import overrides

from allennlp_nef.modules.traces.encoder_trace import (
    Decide,
    EncoderTrace,
    ReadableTrace,
    TracedSentence,
)


@dataclass(eq=False)
class DecisionTrace(ReadableTrace):
    """The decisions for one sentence, after each step of `neural_easy_first` or each layer of `label_attention`.

    What Figures 2 to 4 of Martins & Kreutzer (EMNLP 2017) and Figure 1 of Cui & Zhang (EMNLP 2019) show. Steps and
    words count from 0 in the arrays, steps from 1 in their values. `attention` is alpha,
    (steps, words); None for layers.
    """

    coverage: numpy.ndarray | None
    """beta after each step, the sum of the attention so far: (steps, words); or None."""
    provisional_tags: list[list[str]]
    """The labels if each step were the last one: steps x words. After a step of `neural_easy_first` they are those of
    the output layer on [h; s^n]; after a layer of `label_attention` the most probable ones of its attention, the mean
    of its heads."""
    provisional_probabilities: numpy.ndarray
    """The probabilities of those: (steps, words)."""
    settled_at: numpy.ndarray
    """The first step after which a word's label no longer changes, from 1: (words,)."""
    most_attended_at: numpy.ndarray | None
    """The step of a word's largest attention, from 1, the first of several: (words,); or None."""
    distributions: numpy.ndarray | None = None
    """Of `label_attention`: the probabilities of the labels in each layer, the mean of its heads, and in the output:
    (layers, words, labels), the labels in the order of the vocabulary; else None."""

    @overrides
    def _written(self) -> dict[str, Any]:
        written = super()._written()
        del written["distributions"]
        return written


class Decisions(NamedTuple):
    """The tags after each row of a trace, for a batch."""

    tag_ids: torch.Tensor
    """(batch, rows, tokens), long."""
    probabilities: torch.Tensor
    """Of these labels: (batch, rows, tokens)."""
    distributions: torch.Tensor | None = None
    """Of all labels: (batch, rows, tokens, labels), where the rows are layers."""


class DecidingTrace(EncoderTrace):
    """An `EncoderTrace` whose rows give tags. Implement `decisions`."""

    def decisions(self, decide: Decide) -> Decisions:
        """The tags after each row, if it were the last one."""
        raise NotImplementedError

    def readable(
        self, sentences: Sequence[TracedSentence], decide: Decide, labels: Sequence[str]
    ) -> list[DecisionTrace]:
        tag_ids, probabilities, distributions = self.decisions(decide)
        traces = []
        for position, tokens, tags in sentences:
            length = len(tags)
            traces.append(
                decision_trace(
                    tokens,
                    self.attention_of(position, length),
                    self.rows_of(tag_ids, position, length),
                    self.rows_of(probabilities, position, length),
                    labels,
                    None
                    if distributions is None
                    else self.rows_of(distributions, position, length),
                )
            )
        return traces


def decision_trace(
    tokens: list[str],
    attention: numpy.ndarray | None,
    tag_ids: numpy.ndarray,
    probabilities: numpy.ndarray,
    labels: Sequence[str],
    distributions: numpy.ndarray | None = None,
) -> DecisionTrace:
    """The trace of a sentence, from its attention, tags and their probabilities, (steps, words) each, and the
    distributions (steps, words, labels) of layers."""
    tags = [[labels[tag] for tag in row] for row in tag_ids.tolist()]
    return DecisionTrace(
        tokens,
        tags[-1],
        attention,
        None if attention is None else attention.cumsum(0),
        tags,
        probabilities,
        _settled_at(tag_ids),
        None if attention is None else attention.argmax(0) + 1,
        distributions,
    )


def _settled_at(tag_ids: numpy.ndarray) -> numpy.ndarray:
    """(steps, words) -> the first step, from 1, from which on a word's tag is the last one."""
    is_other = tag_ids != tag_ids[-1]
    # Counted from the end: the steps since the last one with another tag.
    same = numpy.cumprod(~is_other[::-1], axis=0).sum(0)
    return len(tag_ids) - same + 1
