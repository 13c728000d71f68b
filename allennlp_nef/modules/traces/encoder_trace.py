from dataclasses import dataclass
from typing import Any, Callable, Dict, List, NamedTuple, Optional, Protocol, Sequence

import numpy
import torch


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
    tokens: List[str]
    """The words; empty where they are not known."""
    tags: List[str]
    """The predicted labels, one a word."""


class ReadableTrace(Protocol):
    """How a model came to the tags of one sentence, as data."""

    @property
    def tokens(self) -> List[str]:
        """The words; empty where they are not known."""

    @property
    def tags(self) -> List[str]:
        """The predicted labels."""

    @property
    def attention(self) -> Optional[numpy.ndarray]:
        """The attention to the words: (rows, words); None where rows attend to no words."""

    def to_json(self) -> Dict[str, Any]:
        """The trace as a JSON object, its numbers rounded to 6 decimals."""


@dataclass(eq=False)
class EncoderTrace:
    """How an encoder came to its output, for a batch. Each traced encoder has a class of its own."""

    attention: Optional[torch.Tensor]
    """The attention to the words: (batch, rows, tokens); None where rows attend to no words."""
    num_steps: torch.Tensor
    """(batch,): the rows of each sentence; the rows after them are padding."""

    def attention_of(self, position: int, length: int) -> Optional[numpy.ndarray]:
        """The attention in the sentence at a position, of `length` words: (rows, words), or None."""
        return None if self.attention is None else self.rows_of(self.attention, position, length)

    def rows_of(
        self, table: torch.Tensor, position: int, length: Optional[int] = None
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
