from typing import List, NamedTuple, Tuple, Union

import torch
from overrides import overrides
from torch.nn.utils.rnn import PackedSequence

from allennlp_nef.modules.kept import KeptInEvaluation
from allennlp_nef.nn.label_attention import folded_weight, refined_states


class LabelStates(NamedTuple):
    """What a layer of label attention puts out for words, not yet put together."""

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
    """A BiLSTM of one layer over words, or over what a layer of label attention puts out.

    # Parameters

    input_dim : `int`
    hidden_dim : `int`
        Of both directions together.
    """

    def __init__(self, input_dim: int, hidden_dim: int) -> None:
        super().__init__()
        self.lstm = torch.nn.LSTM(input_dim, hidden_dim // 2, bidirectional=True)
        self._folded: KeptInEvaluation[Tuple[torch.Tensor, torch.Tensor]] = KeptInEvaluation()

    @overrides(check_signature=False)
    def forward(
        self, inputs: Union[torch.Tensor, LabelStates], batch_sizes: torch.Tensor
    ) -> torch.Tensor:
        """(words, input_dim) -> (words, hidden_dim), in the order of a `PackedSequence`.

        # Parameters

        inputs : `Union[torch.Tensor, LabelStates]`
        batch_sizes : `torch.LongTensor`, (tokens,)
            Of the packed sequence: the sentences that have a first word, a second one, and so on.
        """
        if isinstance(inputs, LabelStates) and self._pays(inputs):
            # In place of H^l its distributions, with weights to match.
            distributions = inputs.weights.flatten(1).to(inputs.states.dtype)
            words = torch.cat([inputs.states, distributions], dim=-1)
            return self._read(words, batch_sizes, self._weights(inputs.values))
        words = inputs.joined() if isinstance(inputs, LabelStates) else inputs
        return self.lstm(PackedSequence(words, batch_sizes))[0].data

    @overrides
    def train(self, mode: bool = True) -> "LabelLstm":
        self._folded.drop()
        return super().train(mode)

    def _pays(self, inputs: LabelStates) -> bool:
        """Whether the distributions are so much smaller than H^l that weights for them are worth making.

        Measured on CPUs; cuDNN wants its weights in one piece.
        """
        _, num_heads, num_labels = inputs.weights.shape
        cost = 2 if self.training else 1  # in training they are made anew for each batch
        is_small = cost * num_heads * num_labels <= inputs.states.size(-1)
        return is_small and inputs.states.device.type == "cpu"

    def _weights(self, values: torch.Tensor) -> List[torch.Tensor]:
        """Those of torch.nn.LSTM, in its order, for folded inputs."""
        (forth, *of_forth), (back, *of_back) = self.lstm.all_weights
        inputs = self._folded.get(_folded, (values, forth, back), self.training)
        return [inputs[0], *of_forth, inputs[1], *of_back]

    def _read(
        self, words: torch.Tensor, batch_sizes: torch.Tensor, weights: List[torch.Tensor]
    ) -> torch.Tensor:
        """What `self.lstm` makes of its input, with other weights."""
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


def _folded(
    values: torch.Tensor, forth: torch.Tensor, back: torch.Tensor
) -> Tuple[torch.Tensor, torch.Tensor]:
    return folded_weight(forth, values), folded_weight(back, values)
