"""The base class of encoders whose steps can be traced, and a function that runs any encoder."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import torch
from allennlp.modules.seq2seq_encoders import ComposeEncoder, Seq2SeqEncoder

TagScorer = Callable[[torch.Tensor], torch.Tensor]
"""Output of an encoder (batch, tokens, output_dim) -> a score for each tag (batch, tokens, tags)."""


@dataclass(eq=False)
class EncoderTrace:
    """The trace of a batch."""

    attention: torch.Tensor
    """The attention of each row, such as a step, to the words: (batch, rows, tokens), 0 in padding."""
    num_rows: torch.Tensor
    """The number of rows of each sentence without padding: (batch,)."""
    output_after: Callable[[int], torch.Tensor] | None = None
    """The output (batch, tokens, output_dim) that the encoder would have if the row of this index were the last one."""


class TracedEncoder(Seq2SeqEncoder):
    """A `Seq2SeqEncoder` that can return a trace. Subclasses implement `title` and `encode`."""

    step_name: ClassVar[str] = "step"
    """What a row of the trace is called."""
    needs_square_memory: ClassVar[bool] = False
    """Whether memory grows with the square of the sentence length, even without a trace."""

    def __init__(self, input_dim: int, output_dim: int, bidirectional: bool) -> None:
        super().__init__()
        self._dims = input_dim, output_dim
        self._bidirectional = bidirectional

    @property
    def title(self) -> str:
        """The name of the encoder in figures, with its main options."""
        raise NotImplementedError

    def encode(
        self,
        inputs: torch.Tensor,
        mask: torch.Tensor | None = None,
        trace: bool = False,
        tag_scorer: TagScorer | None = None,
    ) -> tuple[torch.Tensor, EncoderTrace | None]:
        """Returns the output (batch, tokens, output_dim), with 0 in padding, and the trace if `trace` is true.

        # Parameters

        inputs : `torch.Tensor`, (batch, tokens, input_dim)
        mask : `torch.BoolTensor`, (batch, tokens), optional (default = `None`, no padding)
        trace : `bool`, optional (default = `False`)
        tag_scorer : `TagScorer`, optional (default = `None`)
            The output layer of the model, for encoders that choose words by their tag scores.
        """
        raise NotImplementedError

    def forward(self, inputs: torch.Tensor, mask: torch.Tensor | None = None) -> torch.Tensor:
        return self.encode(inputs, mask)[0]

    def get_input_dim(self) -> int:
        return self._dims[0]

    def get_output_dim(self) -> int:
        return self._dims[1]

    def is_bidirectional(self) -> bool:
        return self._bidirectional


def parts_of(encoder: Seq2SeqEncoder) -> list[Seq2SeqEncoder]:
    """Returns the encoders that `compose` joins, in order; any other encoder is its own only part."""
    if not isinstance(encoder, ComposeEncoder):
        return [encoder]
    return [part for inner in encoder.encoders for part in parts_of(inner)]


def run_encoder(
    encoder: Seq2SeqEncoder,
    inputs: torch.Tensor,
    mask: torch.Tensor,
    trace: bool = False,
    tag_scorer: TagScorer | None = None,
) -> tuple[torch.Tensor, EncoderTrace | None]:
    """Calls `encode` on traced encoders and `forward` on others. The trace of a `compose` is that of its last part."""
    *first, last = parts_of(encoder)
    for part in first:
        inputs = part(inputs, mask)
    if isinstance(last, TracedEncoder):
        return last.encode(inputs, mask, trace, tag_scorer)
    return last(inputs, mask), None
