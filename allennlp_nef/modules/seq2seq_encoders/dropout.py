"""Dropout as an encoder."""

import torch
from allennlp.modules.seq2seq_encoders import PassThroughEncoder, Seq2SeqEncoder

from allennlp_nef.options import check_integers, check_numbers


@Seq2SeqEncoder.register("dropout")
class DropoutEncoder(PassThroughEncoder):
    """Dropout as an encoder, for use between the encoders that `compose` joins.

    # Parameters

    input_dim : `int`
    dropout : `float`
    bidirectional : `bool`, optional (default = `True`)
        The value of `is_bidirectional()`: `compose` requires all its encoders to agree.
    """

    def __init__(self, input_dim: int, dropout: float, bidirectional: bool = True) -> None:
        check_integers(input_dim=input_dim)
        check_numbers(0, 1, dropout=dropout)
        super().__init__(input_dim)
        self._dropout = torch.nn.Dropout(dropout)
        self._bidirectional = bidirectional

    def is_bidirectional(self) -> bool:
        return self._bidirectional

    def forward(self, inputs: torch.Tensor, mask: torch.Tensor | None = None) -> torch.Tensor:
        return self._dropout(inputs)
