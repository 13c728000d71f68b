"""What the forms of `recomputed_sketching` share."""

import math
from typing import Any, Callable, Dict, List, Sequence, Tuple

import torch

from allennlp_nef.nn.stepwise_attention import StepwiseAttention

MakeAttention = Callable[[torch.Tensor, torch.dtype], StepwiseAttention]
"""Mask (batch, tokens) and the type of alpha -> the attention of a run."""

MOST_BYTES = 128 * 2**20
"""What the steps of a recursion may keep for the backward pass before some are computed again."""


class Recursion:
    """What both forms share: the segments of steps, each of which starts from a state that is kept."""

    def __init__(
        self,
        preactivation: torch.Tensor,
        sketch_weight: torch.Tensor,
        attention_vector: torch.Tensor,
        make_attention: MakeAttention,
        mask: torch.Tensor,
        steps: Sequence[int],
        context_size: int,
    ) -> None:
        self.dtype = dtype = preactivation.dtype
        self.batch, self.tokens, self.rows = preactivation.shape
        self.preattention_dim = attention_vector.size(0)
        self.sketch_dim = self.rows - self.preattention_dim
        self.context_size, self.window = context_size, 2 * context_size + 1
        self.preactivation = preactivation.detach().contiguous()
        self.weight = sketch_weight.detach().to(dtype)
        self.vector = attention_vector.detach().to(dtype)
        self.mask = mask
        self.make_attention = make_attention
        # The sentences that take part in each step: those that end with it have left before the next.
        self.sizes: List[int] = []
        size = self.batch
        for step in range(steps[0]):
            while steps[size - 1] <= step:
                size -= 1
            self.sizes.append(size)
        kept = (
            self.batch * self.tokens * (self.rows + self.sketch_dim) * preactivation.element_size()
        )
        self.segments = [range(len(self.sizes))]
        if kept * len(self.sizes) > MOST_BYTES:
            length = math.ceil(math.sqrt(len(self.sizes)))
            self.segments = [
                range(start, min(start + length, len(self.sizes)))
                for start in range(0, len(self.sizes), length)
            ]

    def forward(self, keep: bool) -> torch.Tensor:
        """The sketches: (batch, tokens, sketch_dim)."""
        self._start_attention()
        self.start()
        self._states: List[Any] = []
        for segment in self.segments:
            if keep:
                self._states.append((self.state(), self.attention.state()))
            self._advance(segment, keep and segment is self.segments[-1])
        return self.sketches()

    def backward(self, grad: torch.Tensor) -> Tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """The gradient of the sketches -> those of the pre-activation, W_s and v."""
        if not self.kept:  # a second time
            self._start_attention()
        self.start_backward(grad.masked_fill(~self.mask.unsqueeze(-1), 0))
        for segment, (state, of_attention) in zip(self.segments[::-1], self._states[::-1]):
            if not self.kept:
                self.restore(state)
                self.attention.restore(of_attention)
                self._advance(segment, True)
            try:
                for step in reversed(segment):
                    self.undo(step, self.sizes[step])
            except BaseException:
                self.kept.clear()  # another backward pass starts from the states
                raise
        return self.gradients()

    def _start_attention(self) -> None:
        self.kept: Dict[int, Tuple[Any, ...]] = {}
        self.attention = self.make_attention(self.mask, float32_at_least(self.dtype))

    def _advance(self, segment: range, keep: bool) -> None:
        for step in segment:
            self.do(step, self.sizes[step], keep)

    def start(self) -> None:
        """Makes the state before the first step."""
        raise NotImplementedError

    def state(self) -> torch.Tensor:
        """A copy of the state."""
        raise NotImplementedError

    def restore(self, state: torch.Tensor) -> None:
        raise NotImplementedError

    def sketches(self) -> torch.Tensor:
        """(batch, tokens, sketch_dim), a new tensor."""
        raise NotImplementedError

    def do(self, step: int, size: int, keep: bool) -> None:
        """A step of the first `size` sentences; puts what `undo` needs of it in `kept`, if asked to."""
        raise NotImplementedError

    def start_backward(self, grad: torch.Tensor) -> None:
        """Takes the gradient of the sketches: (batch, tokens, sketch_dim), 0 in padding."""
        raise NotImplementedError

    def undo(self, step: int, size: int) -> None:
        """The backward pass of a step; takes it from `kept`."""
        raise NotImplementedError

    def gradients(self) -> Tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """Of the pre-activation, W_s and v."""
        raise NotImplementedError

    def attend(self, step: int, scores: torch.Tensor, keep: bool) -> torch.Tensor:
        """The scores of Eq. 2 (sentences, tokens) -> alpha (sentences, tokens)."""
        return self.attention.forward(step, scores.to(float32_at_least(self.dtype)), keep)

    def zeros(self, *shape: int) -> torch.Tensor:
        return self.preactivation.new_zeros(shape)

    def empty(self, *shape: int) -> torch.Tensor:
        return self.preactivation.new_empty(shape)

    def sums(self, *shape: int) -> torch.Tensor:
        """Zeros that many steps are added to."""
        return torch.zeros(shape, dtype=float32_at_least(self.dtype), device=self.mask.device)


def float32_at_least(dtype: torch.dtype) -> torch.dtype:
    return torch.promote_types(dtype, torch.float32)


def tanh_(x: torch.Tensor) -> torch.Tensor:
    """In place. On CPUs torch's tanh takes three times as long as its sigmoid; here the error is at most 2e-7."""
    if x.dtype == torch.float32 and x.device.type == "cpu":
        return x.mul_(2).sigmoid_().mul_(2).sub_(1)
    return x.tanh_()


def tanh_backward_(grad: torch.Tensor, output: torch.Tensor) -> torch.Tensor:
    """grad * (1 - output^2), in place."""
    return torch.ops.aten.tanh_backward.grad_input(grad, output, grad_input=grad)
