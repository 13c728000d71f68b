"""Pooling of word states into one vector."""

from typing import cast

import torch
from allennlp.modules.seq2vec_encoders import Seq2VecEncoder
from allennlp.nn.util import masked_softmax, weighted_sum

from allennlp_nef.nn.util import zero_padding


@Seq2VecEncoder.register("attention_pooling")
class AttentionPooling(Seq2VecEncoder):
    """The attention of Yang et al. (NAACL 2016), Equations 5 to 7: sum_i a_i h_i with a = softmax(w . tanh(W h_i + b)).

    The vector of a sentence without words is 0.

    # Parameters

    input_dim : `int`
        The dimension of the states h_i.
    hidden_dim : `int`, optional (default = `50`)
        The dimension of w.
    """

    def __init__(self, input_dim: int, hidden_dim: int = 50) -> None:
        super().__init__()
        self._input_dim = input_dim
        self._hidden = torch.nn.Linear(input_dim, hidden_dim)
        self._scores = torch.nn.Linear(hidden_dim, 1, bias=False)

    def get_input_dim(self) -> int:
        return self._input_dim

    def get_output_dim(self) -> int:
        return self._input_dim

    def forward(self, states: torch.Tensor, mask: torch.BoolTensor | None = None) -> torch.Tensor:
        """Pools states (batch, tokens, input_dim) with a mask (batch, tokens) to (batch, input_dim)."""
        if mask is None:
            mask = cast(torch.BoolTensor, torch.ones_like(states[..., 0], dtype=torch.bool))
        states = zero_padding(states, mask)
        scores = self._scores(torch.tanh(self._hidden(states))).squeeze(-1)  # (batch, tokens)
        return weighted_sum(states, masked_softmax(scores, mask))
