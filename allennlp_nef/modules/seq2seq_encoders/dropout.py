from typing import Optional

import torch
from allennlp.common.checks import ConfigurationError
from allennlp.modules.seq2seq_encoders import Seq2SeqEncoder
from overrides import overrides


@Seq2SeqEncoder.register("dropout")
class DropoutEncoder(Seq2SeqEncoder):
    """Dropout, to stand between the encoders that `compose` joins.

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
        if not 0 <= dropout < 1:
            raise ConfigurationError(f"dropout: expected a number in [0, 1), got {dropout}")
        self._input_dim = input_dim
        self._bidirectional = bidirectional
        self._dropout = torch.nn.Dropout(dropout)

    @overrides
    def get_input_dim(self) -> int:
        return self._input_dim

    @overrides
    def get_output_dim(self) -> int:
        return self._input_dim

    @overrides
    def is_bidirectional(self) -> bool:
        return self._bidirectional

    @overrides(check_signature=False)
    def forward(self, inputs: torch.Tensor, mask: Optional[torch.Tensor] = None) -> torch.Tensor:
        """(batch, tokens, input_dim) -> the same."""
        return self._dropout(inputs)
