from typing import Any, Optional, Tuple

import torch
from allennlp.modules.seq2seq_encoders import LstmSeq2SeqEncoder
from overrides import overrides

from allennlp_nef.nn.label_attention import LabelProjections, attend_to_labels, project_labels


class LabelAttentionLayer(torch.nn.Module):
    """A BiLSTM and attention to the labels: Cui & Zhang (EMNLP 2019), Section 3.2. See `LabelAttention`.

    # Parameters

    input_dim, hidden_dim, num_heads : `int`
    scale : `float`
        What the scores of the heads are multiplied by.
    dropout : `float`
        Of H^w.
    """

    def __init__(
        self, input_dim: int, hidden_dim: int, num_heads: int, scale: float, dropout: float
    ) -> None:
        super().__init__()
        self.lstm = LstmSeq2SeqEncoder(input_dim, hidden_dim // 2, bidirectional=True)
        self.query_weight, self.key_weight, self.value_weight = (
            torch.nn.Parameter(torch.empty(hidden_dim, hidden_dim)) for _ in range(3)
        )
        self._num_heads = num_heads
        self._scale = scale
        self._dropout = torch.nn.Dropout(dropout)
        self._kept: Optional[Tuple[Any, LabelProjections]] = None
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Glorot uniform for the projections of each head."""
        dim = self.query_weight.size(0)
        bound = (6 / (dim + dim / self._num_heads)) ** 0.5
        for weight in (self.query_weight, self.key_weight, self.value_weight):
            torch.nn.init.uniform_(weight, -bound, bound)

    @overrides(check_signature=False)
    def forward(
        self, inputs: torch.Tensor, mask: torch.Tensor, labels: torch.Tensor
    ) -> Tuple[torch.Tensor, torch.Tensor]:
        """[H^w; H^l] (batch, tokens, 2 * hidden_dim), and alpha (batch, tokens, heads, labels).

        # Parameters

        inputs : `torch.Tensor`, (batch, tokens, input_dim)
        mask : `torch.BoolTensor`, (batch, tokens)
        labels : `torch.Tensor`, (labels, hidden_dim)
        """
        states = self._dropout(self.lstm(inputs, mask))
        heads, weights = attend_to_labels(states, self._projections(labels))
        return torch.cat([states, heads + states], dim=-1), weights

    @overrides
    def train(self, mode: bool = True) -> "LabelAttentionLayer":
        self._kept = None
        return super().train(mode)

    def _projections(self, labels: torch.Tensor) -> LabelProjections:
        """Those of the labels; in an evaluation they are made once, not once a batch."""
        weights = labels, self.query_weight, self.key_weight, self.value_weight
        if self.training or torch.is_grad_enabled() or _is_autocast():
            return project_labels(*weights, self._num_heads, self._scale)
        # As long as the weights are these, and nobody has changed one in place.
        key = [(id(weight), weight._version, weight.device, weight.dtype) for weight in weights]
        if self._kept is None or self._kept[0] != key:
            self._kept = key, project_labels(*weights, self._num_heads, self._scale)
        return self._kept[1]


def _is_autocast() -> bool:
    """Under autocast products have another type than the weights."""
    if torch.is_autocast_enabled():
        return True
    return bool(torch.is_autocast_cpu_enabled())
