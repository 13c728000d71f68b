from functools import partial

import torch
from overrides import overrides

from allennlp_nef.modules.cache import Cache
from allennlp_nef.modules.seq2seq_encoders.label_lstm import LabelLstm, LabelStates
from allennlp_nef.nn.label_attention import LabelProjections, attend_to_labels, project_labels


class LabelAttentionLayer(torch.nn.Module):
    """A BiLSTM and attention to the labels: Cui & Zhang (EMNLP 2019), Section 3.2. See `LabelAttention`.

    # Parameters

    input_dim, hidden_dim, num_heads : `int`
    scale : `float`
        The factor of the heads' scores.
    dropout : `float`
        In [0, 1), applied to H^w.
    """

    def __init__(
        self, input_dim: int, hidden_dim: int, num_heads: int, scale: float, dropout: float
    ) -> None:
        super().__init__()
        self.lstm = LabelLstm(input_dim, hidden_dim)
        self.query_weight, self.key_weight, self.value_weight = (
            torch.nn.Parameter(torch.empty(hidden_dim, hidden_dim)) for _ in range(3)
        )
        self._num_heads = num_heads
        self._scale = scale
        self._dropout = torch.nn.Dropout(dropout)
        self._projections: Cache[LabelProjections] = Cache()
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Glorot uniform for the projections of each head."""
        dim = self.query_weight.size(0)
        bound = (6 / (dim + dim / self._num_heads)) ** 0.5
        for weight in (self.query_weight, self.key_weight, self.value_weight):
            torch.nn.init.uniform_(weight, -bound, bound)

    @overrides(check_signature=False)
    def forward(
        self,
        inputs: torch.Tensor | LabelStates,
        batch_sizes: torch.Tensor,
        labels: torch.Tensor,
    ) -> LabelStates:
        """H^w, alpha and V W^V, in the order of a `PackedSequence`.

        # Parameters

        inputs : `torch.Tensor | LabelStates`
            (words, input_dim), or the output of the layer before.
        batch_sizes : `torch.LongTensor`, (tokens,)
            See `LabelLstm`.
        labels : `torch.Tensor`, (labels, hidden_dim)
        """
        states = self._dropout(self.lstm(inputs, batch_sizes))
        weights = labels, self.query_weight, self.key_weight, self.value_weight
        project = partial(project_labels, num_heads=self._num_heads, scale=self._scale)
        projections = self._projections.get(project, weights, self.training)
        return LabelStates(states, attend_to_labels(states, projections), projections.values)

    @overrides
    def train(self, mode: bool = True) -> "LabelAttentionLayer":
        self._projections.clear()
        return super().train(mode)
