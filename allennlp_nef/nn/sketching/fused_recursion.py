"""What NEF-S and NEF-F share in the fused recursion: the order of the steps, the cache, and the checkpoints."""

import math
from collections.abc import Sequence
from typing import Any

import torch

from allennlp_nef.nn.numerics import float32_at_least, zero_padding
from allennlp_nef.nn.sketching.stepwise_attention import MakeAttention

MAX_CACHE_BYTES = 128 * 2**20
"""What the steps of a recursion may cache for the backward pass before some are computed again."""


class FusedRecursion:
    """A sketch recursion over a batch, forward and backward; see `fused` for the equations.

    The steps are divided into segments. A segment starts from a checkpoint: the state before its first step. Only the
    last segment is cached in the forward pass; the backward pass computes the others again from their checkpoints.

    # Parameters

    preactivation, sketch_weight, attention_vector, mask, context_size
        As in `reference.sketch_full`.
    make_attention : `MakeAttention`
    steps : `Sequence[int]`
        The steps of each sentence, in descending order.
    """

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
        self.dtype = preactivation.dtype
        self.batch, self.tokens, self.preactivation_dim = preactivation.shape
        self.preattention_dim = attention_vector.size(0)
        self.sketch_dim = self.preactivation_dim - self.preattention_dim
        self.context_size, self.window = context_size, 2 * context_size + 1
        self.preactivation = preactivation.detach().contiguous()
        self.weight = sketch_weight.detach().to(self.dtype)
        self.vector = attention_vector.detach().to(self.dtype).contiguous()
        self.mask = mask
        self.make_attention = make_attention
        # The number of sentences that take part in each step. They are the first ones of the batch.
        self.sizes: list[int] = []
        size = self.batch
        for step in range(max(steps, default=0)):
            while steps[size - 1] <= step:
                size -= 1
            self.sizes.append(size)
        numbers = self.batch * self.tokens * (self.preactivation_dim + self.sketch_dim)
        num_steps = len(self.sizes)
        self.segments = [range(num_steps)]
        if numbers * preactivation.element_size() * num_steps > MAX_CACHE_BYTES:
            length = math.ceil(math.sqrt(num_steps))
            self.segments = [
                range(start, min(start + length, num_steps))
                for start in range(0, num_steps, length)
            ]

    def forward(self, use_cache: bool, keep_history: bool = False) -> torch.Tensor:
        """The sketches: (batch, tokens, sketch_dim). With `use_cache`, `backward` may follow.

        With `keep_history`, `history` holds the sketches after each step, (batch, steps, tokens, sketch_dim); 0 after
        the last step of a sentence.
        """
        self.start()
        self.history: torch.Tensor | None = None
        if keep_history:
            self.history = self.zeros(self.batch, len(self.sizes), self.tokens, self.sketch_dim)
        self._checkpoints: list[Any] = []
        for segment in self.segments:
            if use_cache:
                self._checkpoints.append((self.state(), self.attention.state()))
            self._forward_segment(segment, use_cache and segment is self.segments[-1], self.history)
        return self.sketches()

    def backward(
        self, grad: torch.Tensor, grad_history: torch.Tensor | None = None
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """The gradients of the sketches, and of the history if it is kept -> those of the pre-activation, W_s and v."""
        if not self.cache:  # it is not the first backward pass
            self._start_attention()
        self.start_backward(zero_padding(grad, self.mask))
        if grad_history is not None:
            padding = ~self.mask[:, None, :, None]  # (batch, 1, tokens, 1)
            grad_history = grad_history.masked_fill(padding, 0)
        for segment, checkpoint in zip(self.segments[::-1], self._checkpoints[::-1]):
            if not self.cache:
                state, attention_state = checkpoint
                self.restore(state)
                self.attention.restore(attention_state)
                self._forward_segment(segment, True)
            try:
                for step in reversed(segment):
                    size = self.sizes[step]
                    if grad_history is not None:
                        self.add_gradient(step, grad_history[:size, step])
                    self.backward_step(step, size)
            except BaseException:
                self.cache.clear()  # another backward pass starts from the checkpoints
                raise
        return self.gradients()

    def start(self) -> None:
        """Starts a forward pass."""
        self._start_attention()
        self.start_forward()

    def _start_attention(self) -> None:
        self.cache: dict[int, tuple[Any, ...]] = {}
        self.attention = self.make_attention(self.mask, float32_at_least(self.dtype))

    def _forward_segment(
        self, segment: range, use_cache: bool, history: torch.Tensor | None = None
    ) -> None:
        for step in segment:
            size = self.sizes[step]
            self.forward_step(step, size, use_cache)
            if history is not None:
                history[:size, step] = self.sketches_after(step, size)

    def start_forward(self) -> None:
        """Makes the state before the first step."""
        raise NotImplementedError

    def state(self) -> torch.Tensor:
        """A copy of the state."""
        raise NotImplementedError

    def restore(self, state: torch.Tensor) -> None:
        """Goes back to a state."""
        raise NotImplementedError

    def sketches(self) -> torch.Tensor:
        """The sketches of the current state: (batch, tokens, sketch_dim), a new tensor."""
        raise NotImplementedError

    def forward_step(self, step: int, size: int, use_cache: bool) -> None:
        """Does a step of the first `size` sentences; with `use_cache`, caches what `backward_step` needs."""
        raise NotImplementedError

    def sketches_after(self, step: int, size: int) -> torch.Tensor:
        """The sketches of the first `size` sentences, (size, tokens, sketch_dim), until the next step changes them.

        To be called after each step.
        """
        raise NotImplementedError

    def keep(self, rows: torch.Tensor) -> None:
        """Leaves the other sentences out of all further steps. There can be no backward pass then.

        # Parameters

        rows : `torch.LongTensor`, (sentences,)
            Positions among the sentences of the last step, in ascending order.
        """
        self.batch = len(rows)
        self.attention.keep(rows)

    def start_backward(self, grad: torch.Tensor) -> None:
        """Takes the gradient of the sketches: (batch, tokens, sketch_dim), 0 in padding."""
        raise NotImplementedError

    def add_gradient(self, step: int, grad: torch.Tensor) -> None:
        """Adds the gradient of the sketches after a step (sentences, tokens, sketch_dim), before its backward pass."""
        raise NotImplementedError

    def backward_step(self, step: int, size: int) -> None:
        """Does the backward pass of a step, and removes the step from the cache."""
        raise NotImplementedError

    def gradients(self) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """The gradients of the pre-activation, W_s and v."""
        raise NotImplementedError

    def attend(self, step: int, scores: torch.Tensor, use_cache: bool) -> torch.Tensor:
        """The scores of Eq. 2 (sentences, tokens) -> alpha (sentences, tokens), Eq. 3."""
        return self.attention.forward(step, scores.to(float32_at_least(self.dtype)), use_cache)

    def zeros(self, *shape: int) -> torch.Tensor:
        """Zeros of the type of the pre-activation."""
        return self.preactivation.new_zeros(shape)

    def empty(self, *shape: int) -> torch.Tensor:
        """An uninitialized tensor of the type of the pre-activation."""
        return self.preactivation.new_empty(shape)

    def zero_sums(self, *shape: int) -> torch.Tensor:
        """Zeros that many steps are added to: in float32 at least."""
        return torch.zeros(shape, dtype=float32_at_least(self.dtype), device=self.mask.device)


def tanh_(x: torch.Tensor) -> torch.Tensor:
    """tanh in place. On CPUs torch's tanh takes three times as long as its sigmoid; here the error is at most 2e-7."""
    if x.dtype == torch.float32 and x.device.type == "cpu":
        return x.mul_(2).sigmoid_().mul_(2).sub_(1)
    return x.tanh_()


def tanh_backward_(grad: torch.Tensor, output: torch.Tensor) -> torch.Tensor:
    """grad * (1 - output^2), in place."""
    return torch.ops.aten.tanh_backward.grad_input(grad, output, grad_input=grad)
