from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy
import torch

from allennlp_nef.figures.display import Display

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class Decision(NamedTuple):
    """The tags that a model chooses for a batch."""

    tag_ids: torch.Tensor
    """(batch, tokens), long."""
    probabilities: torch.Tensor
    """Of all labels: (batch, tokens, labels)."""

    def chosen_probabilities(self) -> torch.Tensor:
        """Those of the chosen tags: (batch, tokens)."""
        return self.probabilities.gather(-1, self.tag_ids.unsqueeze(-1)).squeeze(-1)


Decide = Callable[[torch.Tensor], Decision]
"""Output of the encoder (batch, tokens, output_dim) -> the tags that the model chooses for it."""


class TracedSentence(NamedTuple):
    """A sentence whose trace is wanted."""

    position: int
    """In the batch, from 0."""
    tokens: list[str]
    """The words; empty where they are not known."""
    tags: list[str]
    """The predicted labels, one a word."""


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


@dataclass(eq=False)
class EncoderTrace:
    """How an encoder came to its output, for a batch. Each traced encoder has a class of its own."""

    attention: torch.Tensor | None
    """The attention to the words: (batch, rows, tokens); None where rows attend to no words."""
    num_steps: torch.Tensor
    """(batch,): the rows of each sentence; the rows after them are padding."""

    def attention_of(self, position: int, length: int) -> numpy.ndarray | None:
        """The attention in the sentence at a position, of `length` words: (rows, words), or None."""
        return None if self.attention is None else self.rows_of(self.attention, position, length)

    def rows_of(
        self, table: torch.Tensor, position: int, length: int | None = None
    ) -> numpy.ndarray:
        """The rows of the sentence in a table (batch, rows, tokens, ...), without padding."""
        return array_of(table[position, : int(self.num_steps[position]), :length])

    def readable(
        self, sentences: Sequence[TracedSentence], decide: Decide, labels: Sequence[str]
    ) -> Sequence[ReadableTrace]:
        """The trace of each of these sentences, for a reader.

        # Parameters

        sentences : `Sequence[TracedSentence]`
        decide : `Decide`
            The output layer of the model.
        labels : `Sequence[str]`
            By index.
        """
        raise NotImplementedError


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
