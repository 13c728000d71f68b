from typing import NamedTuple

import torch
from overrides import overrides
from torch.nn.utils.rnn import PackedSequence

from allennlp_nef.modules.cache import Cache
from allennlp_nef.nn.label_attention import folded_weight, refined_states


class LabelStates(NamedTuple):
    """The output of a layer of label attention for words, in parts."""

    states: torch.Tensor
    """H^w: (words, dim)."""
    weights: torch.Tensor
    """alpha: (words, heads, labels)."""
    values: torch.Tensor
    """V W^V: (heads, labels, dim / heads)."""

    def joined(self) -> torch.Tensor:
        """[H^w; H^l]: (words, 2 * dim)."""
        return torch.cat([self.states, refined_states(*self)], dim=-1)


class LabelLstm(torch.nn.Module):
    """A BiLSTM of one layer over words, or over the output of a layer of label attention.

    # Parameters

    input_dim : `int`
    hidden_dim : `int`
        The dimension of both directions together.
    """

    def __init__(self, input_dim: int, hidden_dim: int) -> None:
        super().__init__()
        self.lstm = torch.nn.LSTM(input_dim, hidden_dim // 2, bidirectional=True)
        self._folded: Cache[tuple[torch.Tensor, torch.Tensor]] = Cache()

    @overrides(check_signature=False)
    def forward(
        self, inputs: torch.Tensor | LabelStates, batch_sizes: torch.Tensor
    ) -> torch.Tensor:
        """(words, input_dim) -> (words, hidden_dim), in the order of a `PackedSequence`.

        # Parameters

        inputs : `torch.Tensor | LabelStates`
        batch_sizes : `torch.LongTensor`, (tokens,)
            Of the packed sequence: the sentences that have a first word, a second one, and so on.
        """
        if isinstance(inputs, LabelStates) and self._is_folded(inputs):
            # [H^w; alpha] and folded weights have the same product as [H^w; H^l] and the weights.
            distributions = inputs.weights.flatten(1).to(inputs.states.dtype)
            words = torch.cat([inputs.states, distributions], dim=-1)
            return self._run(words, batch_sizes, self._folded_weights(inputs.values))
        words = inputs.joined() if isinstance(inputs, LabelStates) else inputs
        return self.lstm(PackedSequence(words, batch_sizes))[0].data

    @overrides
    def train(self, mode: bool = True) -> "LabelLstm":
        self._folded.clear()
        return super().train(mode)

    def _is_folded(self, inputs: LabelStates) -> bool:
        """Whether alpha is so much smaller than H^l that folding the weights saves time.

        On CPUs only, where it was measured; cuDNN needs its weights in one piece.
        """
        _, num_heads, num_labels = inputs.weights.shape
        cost = 2 if self.training else 1  # in training the weights are folded for each batch
        is_small = cost * num_heads * num_labels <= inputs.states.size(-1)
        return is_small and inputs.states.device.type == "cpu"

    def _folded_weights(self, values: torch.Tensor) -> list[torch.Tensor]:
        """The weights of `self.lstm`, in its order, those of the input folded."""
        (forward, *forward_rest), (backward, *backward_rest) = self.lstm.all_weights
        folded = self._folded.get(_fold, (values, forward, backward), self.training)
        return [folded[0], *forward_rest, folded[1], *backward_rest]

    def _run(
        self, words: torch.Tensor, batch_sizes: torch.Tensor, weights: list[torch.Tensor]
    ) -> torch.Tensor:
        """The output of `self.lstm` with other weights."""
        zeros = words.new_zeros(2, int(batch_sizes[0]), self.lstm.hidden_size)
        states, _, _ = torch.lstm(
            words,
            batch_sizes,
            (zeros, zeros),
            weights,
            has_biases=True,
            num_layers=1,
            dropout=0.0,
            train=self.training,
            bidirectional=True,
        )
        return states


def _fold(
    values: torch.Tensor, forward: torch.Tensor, backward: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    return folded_weight(forward, values), folded_weight(backward, values)
