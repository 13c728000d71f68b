import torch
from allennlp.modules.seq2seq_encoders import Seq2SeqEncoder
from overrides import overrides

from allennlp_nef.modules.checks import check_dropout, check_integers
from allennlp_nef.modules.seq2seq_encoders.sized_encoder import SizedEncoder


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
