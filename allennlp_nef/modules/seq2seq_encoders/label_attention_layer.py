from typing import Any, List, NamedTuple, Optional, Tuple

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
        self._kept: Optional[_Kept] = None
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
        is_kept = not (self.training or torch.is_grad_enabled() or _is_autocast(labels.device))
        if not is_kept or any(weight.is_inference() for weight in weights):
            return project_labels(*weights, self._num_heads, self._scale)
        # As long as the weights are these, and nobody has changed or moved one in place.
        kept, states = self._kept, [_state_of(weight) for weight in weights]
        is_same = kept is not None and all(a is b for a, b in zip(kept.weights, weights))
        if kept is None or not is_same or kept.states != states:
            projections = project_labels(*weights, self._num_heads, self._scale)
            kept = self._kept = _Kept(weights, states, projections)
        return kept.projections


class _Kept(NamedTuple):
    """Projections, and what they were made of."""

    weights: Tuple[torch.Tensor, ...]
    states: List[Any]
    projections: LabelProjections


def _state_of(weight: torch.Tensor) -> Any:
    return weight._version, weight.data_ptr(), weight.dtype, weight.device


def _is_autocast(device: torch.device) -> bool:
    """Under autocast products have another type than the weights."""
    try:
        return torch.is_autocast_enabled(device.type)
    except TypeError:  # torch 1.12
        return torch.is_autocast_enabled() or torch.is_autocast_cpu_enabled()
