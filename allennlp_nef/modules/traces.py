"""Traces: what an encoder or a decoder did, for whoever asks for it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy
import torch
from overrides import overrides

from allennlp_nef.figures.display import Display

if TYPE_CHECKING:
    from matplotlib.figure import Figure


Decide = Callable[[torch.Tensor], tuple[torch.Tensor, torch.Tensor]]
"""Output of the encoder (batch, tokens, output_dim) -> the tags that the model chooses for it (batch, tokens), and the
probabilities of all labels (batch, tokens, labels)."""


def chosen_probabilities(probabilities: torch.Tensor, tag_ids: torch.Tensor) -> torch.Tensor:
    """Probabilities of all labels (..., labels) -> those of the chosen ones (...)."""
    return probabilities.gather(-1, tag_ids.unsqueeze(-1)).squeeze(-1)


@dataclass(eq=False)
class ReadableTrace:
    """How a model came to the tags of one sentence: as data, as a plot, and in notebooks as a page."""

    tokens: list[str]
    """The words; empty where they are not known."""
    tags: list[str]
    """The predicted labels."""
    attention: numpy.ndarray | None
    """The attention to the words: (rows, words); None where rows attend to no words."""
    display: Display | None = field(default=None, init=False, repr=False)
    """What `plot` and a notebook show; the trace of a predictor has it."""

    def to_json(self) -> dict[str, Any]:
        """The trace as a JSON object, its numbers rounded to 6 decimals."""
        return {name: as_json(value) for name, value in self._written().items()}

    def _written(self) -> dict[str, Any]:
        """The fields that JSON has."""
        return {name: value for name, value in vars(self).items() if name != "display"}

    def plot(self) -> "Figure":
        """The heat map of the sentence, as `plot-sketches` draws it: a figure of matplotlib.

        # Raises

        `UserError`: matplotlib is not installed; `ValueError`: the trace is not that of a predictor.
        """
        if self.display is None:
            raise ValueError("plot: expected the trace of a predictor, got one without its answer")
        return self.display.plot()

    def _repr_html_(self) -> str | None:
        """The page that replays the steps, for notebooks; None where the trace is not that of a predictor."""
        return None if self.display is None else self.display.html()


def array_of(tensor: torch.Tensor) -> numpy.ndarray:
    """The tensor as an array; float16 and bfloat16 as float32."""
    tensor = tensor.detach().cpu()
    return (tensor.float() if tensor.is_floating_point() else tensor).numpy()


def as_json(value: Any) -> Any:
    """An array as lists, its numbers rounded to 6 decimals; anything else as it is."""
    if not isinstance(value, numpy.ndarray):
        return value
    if value.dtype.kind == "f":
        value = value.astype(float).round(6)  # in float64, which has these decimals
    return value.tolist()


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


@dataclass(eq=False)
class FusionTrace(ReadableTrace):
    """Where the words of one sentence looked, in `position_aware_self_attention`: Wei et al., Figure 6.

    `attention` is a: (words, words); row i holds what word i attends to. In JSON, `gates` has the mean of each word.
    """

    attention: numpy.ndarray
    gates: numpy.ndarray
    """lambda, the share of each number of its own vector that a word keeps: (words, dim)."""

    @overrides
    def _written(self) -> dict[str, Any]:
        return {**super()._written(), "gates": self.gates.mean(1)}


@dataclass(eq=False)
class EncoderTrace:
    """How an encoder came to its output, for a batch.

    The rows are the steps of `neural_easy_first`, the layers of `label_attention`, or the words of
    `position_aware_self_attention`.
    """

    attention: torch.Tensor | None
    """The attention to the words: (batch, rows, tokens); None where rows attend to no words."""
    num_steps: torch.Tensor
    """(batch,): the rows of each sentence; the rows after them are padding."""
    distributions: torch.Tensor | None = None
    """Of layers that attend to labels, the mean of alpha over the heads: (batch, layers, tokens, labels)."""
    output: torch.Tensor | None = None
    """With `distributions`, the output of the encoder: (batch, tokens, output_dim)."""
    gates: torch.Tensor | None = None
    """Of words that attend to words, lambda: (batch, tokens, dim)."""

    def attention_of(self, position: int, length: int) -> numpy.ndarray | None:
        """The attention in the sentence at a position, of `length` words: (rows, words), or None."""
        return None if self.attention is None else self.rows_of(self.attention, position, length)

    def rows_of(
        self, table: torch.Tensor, position: int, length: int | None = None
    ) -> numpy.ndarray:
        """The rows of the sentence at a position in a table (batch, rows, tokens, ...), without padding."""
        return array_of(table[position, : int(self.num_steps[position]), :length])

    def decisions(self, decide: Decide) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor | None]:
        """The tags after each row, if it were the last one. Here, those of the layers that attend to labels.

        # Returns

        `tuple[torch.Tensor, torch.Tensor, torch.Tensor | None]`
            - The tags: (batch, rows, tokens), long.
            - Their probabilities: (batch, rows, tokens).
            - The probabilities of all labels, (batch, rows, tokens, labels), where the rows are layers.
        """
        if self.distributions is None or self.output is None:
            raise NotImplementedError
        probabilities, tag_ids = self.distributions.max(-1)
        last_ids, last = decide(self.output)
        last_probabilities = chosen_probabilities(last, last_ids)
        return (
            torch.cat([tag_ids, last_ids.unsqueeze(1)], 1),
            torch.cat([probabilities, last_probabilities.unsqueeze(1)], 1),
            torch.cat([self.distributions, last.unsqueeze(1).to(self.distributions.dtype)], 1),
        )

    def readable(
        self,
        tokens: Sequence[list[str]],
        tags: Sequence[list[str]],
        wanted: Sequence[bool],
        decide: Decide,
        labels: Sequence[str],
    ) -> list[ReadableTrace | None]:
        """The trace of each sentence, for a reader; None for those whose trace is not wanted.

        # Parameters

        tokens, tags : `Sequence[list[str]]`
            The words of each sentence, empty where they are not known, and its predicted labels.
        wanted : `Sequence[bool]`
        decide : `Decide`
            The output layer of the model.
        labels : `Sequence[str]`
            By index.
        """
        traces: list[ReadableTrace | None] = [None] * len(tags)
        rows = [(row, len(tags[row])) for row, is_wanted in enumerate(wanted) if is_wanted]
        if self.gates is not None and self.attention is not None:
            for row, length in rows:
                attention = self.rows_of(self.attention, row, length)
                gates = self.rows_of(self.gates, row)
                traces[row] = FusionTrace(tokens[row], tags[row], attention, gates)
        elif rows:
            tag_ids, probabilities, distributions = self.decisions(decide)
            for row, length in rows:
                traces[row] = decision_trace(
                    tokens[row],
                    self.attention_of(row, length),
                    self.rows_of(tag_ids, row, length),
                    self.rows_of(probabilities, row, length),
                    labels,
                    None if distributions is None else self.rows_of(distributions, row, length),
                )
        return traces
