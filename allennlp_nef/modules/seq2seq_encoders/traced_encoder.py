"""Encoders that know their size, that can trace what they do, and that apply dropout to another one."""

from collections.abc import Callable

import torch
from allennlp.common.checks import ConfigurationError
from allennlp.modules.seq2seq_encoders import Seq2SeqEncoder
from overrides import overrides

from allennlp_nef.modules.options import check_dropout, check_integers, registered_name
from allennlp_nef.modules.traces import EncoderTrace
from allennlp_nef.nn.numerics import zero_padding


class SizedEncoder(Seq2SeqEncoder):
    """A `Seq2SeqEncoder` with its sizes in `_input_dim` and `_output_dim`, and a `_bidirectional` flag."""

    _input_dim: int
    _output_dim: int
    _bidirectional = True

    @overrides
    def get_input_dim(self) -> int:
        return self._input_dim

    @overrides
    def get_output_dim(self) -> int:
        return self._output_dim

    @overrides
    def is_bidirectional(self) -> bool:
        return self._bidirectional


TagScorer = Callable[[torch.Tensor], torch.Tensor]
"""Output of the encoder (batch, tokens, output_dim) -> a score for each tag (batch, tokens, tags)."""


class TracedEncoder(SizedEncoder):
    """A `Seq2SeqEncoder` with a trace, which says how it came to its output.

    Implement `encode`; `forward` is then that of every `Seq2SeqEncoder`.
    """

    step_name = "step"
    """What a row of the trace is, for a reader."""

    @property
    def title(self) -> str:
        """What the encoder is, for a reader."""
        return type(self).__name__

    def encode(
        self,
        inputs: torch.Tensor,
        mask: torch.Tensor | None = None,
        trace: bool = False,
        tag_scorer: TagScorer | None = None,
    ) -> tuple[torch.Tensor, EncoderTrace | None]:
        """The output (batch, tokens, output_dim), and the trace if it is wanted.

        # Parameters

        inputs : `torch.Tensor`, (batch, tokens, input_dim)
        mask : `torch.BoolTensor`, (batch, tokens), optional (default = `None`, no padding)
        trace : `bool`, optional (default = `False`)
            Whether the trace is wanted. It costs nothing where it is not.
        tag_scorer : `TagScorer`, optional (default = `None`)
            The model's output layer, for encoders that choose by its scores.
        """
        raise NotImplementedError

    @overrides(check_signature=False)
    def forward(self, inputs: torch.Tensor, mask: torch.Tensor | None = None) -> torch.Tensor:
        return self.encode(inputs, mask)[0]

    def _without_padding(
        self, inputs: torch.Tensor, mask: torch.Tensor | None
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """The inputs (batch, tokens, input_dim) with 0 in padding, and the mask; without a mask there is no padding.

        # Raises

        `ConfigurationError`: inputs of another dimension. AllenNLP's models do not check it.
        """
        if inputs.size(-1) != self._input_dim:
            raise ConfigurationError(
                f"{registered_name(Seq2SeqEncoder, self)}: expected input_dim {inputs.size(-1)}, the dimension of what "
                f"comes before it, got {self._input_dim}"
            )
        if mask is None:
            mask = inputs.new_ones(inputs.shape[:2], dtype=torch.bool)
        return zero_padding(inputs, mask), mask


@Seq2SeqEncoder.register("dropout")
class DropoutEncoder(SizedEncoder):
    """Dropout as an encoder, for use between the encoders that `compose` joins.

    Registered as a `Seq2SeqEncoder` with name "dropout".

    # Parameters

    input_dim : `int`
    dropout : `float`
        In [0, 1).
    bidirectional : `bool`, optional (default = `True`)
        What `is_bidirectional()` says: `compose` wants all its encoders to agree.
    """

    def __init__(self, input_dim: int, dropout: float, bidirectional: bool = True) -> None:
        super().__init__()
        check_integers(input_dim=input_dim)
        check_dropout(dropout)
        self._input_dim = self._output_dim = input_dim
        self._bidirectional = bidirectional
        self._dropout = torch.nn.Dropout(dropout)

    @overrides(check_signature=False)
    def forward(self, inputs: torch.Tensor, mask: torch.Tensor | None = None) -> torch.Tensor:
        """(batch, tokens, input_dim) -> the same."""
        return self._dropout(inputs)
