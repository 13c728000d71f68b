import math
from collections.abc import Callable
from typing import Any

import torch
from torch.nn import functional

from allennlp_nef.exporting.unsupported import unsupported
from allennlp_nef.modules.attention_transforms import (
    ConstrainedSoftmaxTransform,
    SoftmaxTransform,
)
from allennlp_nef.modules.seq2seq_encoders import NeuralEasyFirst
from allennlp_nef.nn.numerics import exclude_scores
from allennlp_nef.nn.sketching import windows

TINY = 1e-38
State = tuple[torch.Tensor, torch.Tensor, torch.Tensor]
"""n - 1, a scalar; the sketches (batch, tokens, sketch_dim); beta (batch, tokens)."""


class PlainSketching(torch.nn.Module):
    """`neural_easy_first` without operations that depend on values, so that it can be exported.

    A number of steps is written out; N = L is a loop.

    # Parameters

    decoder : `NeuralEasyFirst`
        With `csoftmax` or `softmax`. Its weights are shared.

    # Raises

    `UserError` for other attention, or learned bounds.
    """

    def __init__(self, decoder: NeuralEasyFirst) -> None:
        super().__init__()
        attention = decoder.attention
        if type(attention) not in (ConstrainedSoftmaxTransform, SoftmaxTransform):
            raise unsupported("decoder.attention", attention, "csoftmax or softmax")
        if decoder.bounds is not None:
            raise unsupported("decoder.learned_bounds", "true", "false")
        self.decoder = decoder
        self.attention = attention

    def forward(self, states: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        """h (batch, tokens, input_dim), 0 in padding -> [h; s^N] or s^N."""
        decoder = self.decoder
        preactivation = functional.linear(
            windows(states, decoder.context_size), decoder.input_weight, decoder.bias
        )
        num_steps = decoder._steps_of(mask)
        sketch_dim = decoder.sketch_weight.size(0) - decoder.attention_vector.size(0)
        sketches = states.new_zeros(1, 1, sketch_dim).expand(*mask.shape, sketch_dim).clone()
        state = torch.zeros((), dtype=torch.long), sketches, torch.zeros_like(states[..., 0])

        def step(number: torch.Tensor, sketches: torch.Tensor, beta: torch.Tensor) -> State:
            return self._step(number, sketches, beta, preactivation, mask, num_steps)

        if decoder.num_steps == "length":
            longest = num_steps.max()
            state = _loop(lambda number, sketches, beta: number < longest, step, state)
        else:
            for _ in range(int(decoder.num_steps)):
                state = step(*state)
        return torch.cat([states, state[1]], -1) if decoder.concat_input else state[1]

    def _step(
        self,
        number: torch.Tensor,
        sketches: torch.Tensor,
        beta: torch.Tensor,
        preactivation: torch.Tensor,
        mask: torch.Tensor,
        num_steps: torch.Tensor,
    ) -> State:
        decoder = self.decoder
        size = decoder.attention_vector.size(0)
        hidden = preactivation + functional.linear(
            windows(sketches, decoder.context_size), decoder.sketch_weight
        )
        scores = hidden[..., :size].tanh().matmul(decoder.attention_vector)  # Eq. 2
        alpha = _attention(self.attention, scores, beta, mask)  # Eq. 3
        alpha = alpha.masked_fill((number >= num_steps).unsqueeze(-1), 0)
        weights, update = alpha.unsqueeze(-1), hidden[..., size:]
        if decoder.sketch_update == "single":
            update = (weights * update).sum(1, keepdim=True)
        return number + 1, sketches + weights * update.tanh(), beta + alpha  # Eqs. 4 and 7


def _attention(
    attention: Any, scores: torch.Tensor, beta: torch.Tensor, mask: torch.Tensor
) -> torch.Tensor:
    """alpha (batch, tokens), from the scores and the coverage."""
    if attention.coverage_penalty:
        scores = scores - attention.coverage_penalty * beta
    scores = scores / attention.temperature
    if isinstance(attention, ConstrainedSoftmaxTransform):
        bounds = (attention.upper_bound - beta).clamp(0, 1).masked_fill(~mask, 0)
        return constrained_softmax(scores, bounds)
    return exclude_scores(scores, ~mask).softmax(-1).masked_fill(~mask, 0)


def constrained_softmax(z: torch.Tensor, u: torch.Tensor) -> torch.Tensor:
    """Algorithm 3 over the last dimension: `allennlp_nef.nn.constrained_softmax` with operations that ONNX has.

    # Parameters

    z, u : `torch.Tensor`, (batch, n)
        Finite scores; bounds in [0, 1].
    """
    highest = exclude_scores(z, u <= 0).amax(-1, keepdim=True)
    lowered = (z - highest).clamp(max=0)
    # exp(z) / u, whose order is that of saturation.
    keys = (lowered - u.clamp(min=TINY).log()).masked_fill(u <= 0, -math.log(TINY) + 1)
    sorted_keys, order = keys.sort(dim=-1, descending=True)
    shares, bounds = lowered.gather(-1, order).exp(), u.gather(-1, order)
    mass = (1 - (bounds.cumsum(-1) - bounds)).clamp(min=0)
    rest = shares.flip(-1).cumsum(-1).flip(-1)
    # The last position is always below its bound.
    is_last = torch.arange(z.size(-1), device=z.device) == z.size(-1) - 1
    is_open = (shares * mass <= bounds * rest) | is_last
    closed = keys > exclude_scores(sorted_keys, ~is_open).amax(-1, keepdim=True)
    mass = (1 - (u * closed).sum(-1, keepdim=True)).clamp(min=0)
    weights = torch.minimum(exclude_scores(z, closed).softmax(-1) * mass, u)
    return torch.where(closed, u, weights)


def _loop(
    condition: Callable[..., torch.Tensor], step: Callable[..., State], state: State
) -> State:
    """A `while` loop that is exported as one."""
    from torch._higher_order_ops import while_loop

    result: State = while_loop(condition, step, state)
    return result
