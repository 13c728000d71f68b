from typing import Any, Callable, Iterator, Optional, Tuple

import torch
from overrides import overrides

from allennlp_nef.modules.seq2seq_encoders.sized_encoder import SizedEncoder

TagScorer = Callable[[torch.Tensor], torch.Tensor]
"""Output of the encoder (batch, tokens, output_dim) -> a score for each tag (batch, tokens, tags)."""

Decision = Tuple[torch.Tensor, torch.Tensor]
"""Tags, and their probabilities: (batch, tokens) each."""

Decide = Callable[[torch.Tensor], Decision]
"""Output of the encoder (batch, tokens, output_dim) -> the tags that the model chooses then."""


class TracedEncoder(SizedEncoder):
    """A `Seq2SeqEncoder` that can tell how it came to its output.

    Implement `encode` and `decisions`; `forward` is then that of every `Seq2SeqEncoder`.
    """

    step_name = "step"
    """What a row of the trace is, in words for a reader."""

    @property
    def title(self) -> str:
        """What the encoder is, in a few words for a reader."""
        return type(self).__name__

    def encode(
        self,
        inputs: torch.Tensor,
        mask: Optional[torch.Tensor] = None,
        keep_trace: bool = False,
        tag_scorer: Optional[TagScorer] = None,
    ) -> Tuple[torch.Tensor, Optional[Any]]:
        """Output (batch, tokens, output_dim), and the trace if `keep_trace`.

        A trace has `num_steps` (batch,), the rows that each sentence has in it, and `attention` (batch, rows, tokens),
        or None where they attend to no words.

        # Parameters

        inputs : `torch.Tensor`, (batch, tokens, input_dim)
        mask : `torch.BoolTensor`, (batch, tokens), optional (default = `None`, all kept)
        keep_trace : `bool`, optional (default = `False`)
            Costs nothing when False.
        tag_scorer : `TagScorer`, optional (default = `None`)
            The model's output layer, for encoders that choose by its scores.
        """
        raise NotImplementedError

    def decisions(self, inputs: torch.Tensor, trace: Any, decide: Decide) -> Iterator[Decision]:
        """The tags that each row of a trace comes to, if it were the last one.

        # Parameters

        inputs : `torch.Tensor`
            Those that the trace is of.
        trace : `Any`
        decide : `Decide`
            The model's output layer, for encoders whose rows are states.
        """
        raise NotImplementedError

    @overrides(check_signature=False)
    def forward(self, inputs: torch.Tensor, mask: Optional[torch.Tensor] = None) -> torch.Tensor:
        return self.encode(inputs, mask)[0]


def without_padding(
    inputs: torch.Tensor, mask: Optional[torch.Tensor]
) -> Tuple[torch.Tensor, torch.Tensor]:
    """The inputs (batch, tokens, dim) with 0 in padding, and the mask: all is kept where there is none."""
    if mask is None:
        mask = inputs.new_ones(inputs.shape[:2], dtype=torch.bool)
    return inputs.masked_fill(~mask.unsqueeze(-1), 0), mask
