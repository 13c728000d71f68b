from typing import Any

import torch
from allennlp.modules.seq2seq_encoders import GruSeq2SeqEncoder, LstmSeq2SeqEncoder, Seq2SeqEncoder
from torch.nn import functional

from allennlp_nef.exporting.unsupported import unsupported


class PlainRecurrent(torch.nn.Module):
    """An `lstm` or `gru` of AllenNLP as a scan over the words: packed sequences cannot be exported.

    In padding the state stays 0, so that the backward direction starts at the last word.

    # Parameters

    encoder : `Seq2SeqEncoder`
        Of these two types. Its weights are shared.

    # Raises

    `UserError` for other encoders.
    """

    def __init__(self, encoder: Seq2SeqEncoder) -> None:
        super().__init__()
        if type(encoder) not in (LstmSeq2SeqEncoder, GruSeq2SeqEncoder):
            raise unsupported("encoder", encoder, "lstm or gru")
        self.module: Any = encoder._module
        if getattr(self.module, "proj_size", 0):
            raise unsupported("encoder", "proj_size", "an lstm without it")

    def forward(self, vectors: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        """Vectors (batch, tokens, dim) -> states (batch, tokens, output_dim), 0 in padding."""
        kept = mask.t().unsqueeze(-1).to(vectors.dtype)  # (tokens, batch, 1)
        states = vectors.transpose(0, 1)
        for layer in range(self.module.num_layers):
            directions = [self._direction(states, kept, f"_l{layer}", False)]
            if self.module.bidirectional:
                directions.append(self._direction(states, kept, f"_l{layer}_reverse", True))
            states = torch.cat(directions, -1)
        return states.transpose(0, 1)

    def _direction(
        self, inputs: torch.Tensor, kept: torch.Tensor, suffix: str, reverse: bool
    ) -> torch.Tensor:
        """(tokens, batch, dim) -> (tokens, batch, hidden_size)."""
        from torch._higher_order_ops.scan import scan

        names = ["weight_ih", "weight_hh", *(["bias_ih", "bias_hh"] if self.module.bias else [])]
        weights = [getattr(self.module, name + suffix) for name in names]
        input_weight, weight, input_bias, bias = (*weights, None, None)[:4]
        gates = functional.linear(inputs, input_weight, input_bias)
        start = inputs.new_zeros(inputs.size(1), self.module.hidden_size)
        is_lstm = isinstance(self.module, torch.nn.LSTM)

        def step(state: tuple[torch.Tensor, ...], given: tuple[torch.Tensor, ...]) -> Any:
            word, is_word = given
            recurrent = functional.linear(state[0], weight, bias)
            new = (_lstm if is_lstm else _gru)(word, recurrent, state)
            new = tuple(each * is_word for each in new)
            return new, new[0].clone()

        initial = (start, start.clone()) if is_lstm else (start,)
        _, states = scan(step, initial, (gates, kept), reverse=reverse)
        return states


def _lstm(
    word: torch.Tensor, recurrent: torch.Tensor, state: tuple[torch.Tensor, ...]
) -> tuple[torch.Tensor, ...]:
    inputs, forget, cell, output = (word + recurrent).chunk(4, -1)
    memory = forget.sigmoid() * state[1] + inputs.sigmoid() * cell.tanh()
    return output.sigmoid() * memory.tanh(), memory


def _gru(
    word: torch.Tensor, recurrent: torch.Tensor, state: tuple[torch.Tensor, ...]
) -> tuple[torch.Tensor, ...]:
    (reset, update, new), (old_reset, old_update, old) = word.chunk(3, -1), recurrent.chunk(3, -1)
    update = (update + old_update).sigmoid()
    candidate = (new + (reset + old_reset).sigmoid() * old).tanh()
    return (candidate + update * (state[0] - candidate),)
