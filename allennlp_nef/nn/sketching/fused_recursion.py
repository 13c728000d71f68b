"""The fused recursion of NEF-F and NEF-S: the order of the steps, the cache, the checkpoints, and the steps of each."""

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import torch
from torch.nn import functional

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


class FusedFullRecursion(FusedRecursion):
    """NEF-F. A step costs one matrix product, and two in the backward pass.

    Padding, and words that can have no more attention, are left out of the products where that saves time: what a step
    computes for such a word is multiplied by an attention of zero.
    """

    def start_forward(self) -> None:
        length = self.tokens + 2 * self.context_size
        self._padded_sketches = self.zeros(self.batch, length, self.sketch_dim)
        self._window_buffer = self.empty(self.batch * self.tokens, self.weight.size(1))

    def state(self) -> torch.Tensor:
        return self._padded_sketches.clone()

    def restore(self, state: torch.Tensor) -> None:
        self._padded_sketches.copy_(state)

    def sketches(self) -> torch.Tensor:
        sketches = self._without_padding(self._padded_sketches)
        return sketches.clone(memory_format=torch.contiguous_format)

    def forward_step(self, step: int, size: int, use_cache: bool) -> None:
        open_words = self._index_open_words(size)
        padded = self._padded_sketches[:size]
        hidden = self.preactivation[:size].view(-1, self.preactivation_dim)
        if open_words is not None:
            hidden = hidden.index_select(0, open_words.words)
        if step > 0:  # s^0 = 0
            hidden = torch.addmm(hidden, self._gather_windows(padded, open_words), self.weight.t())
        elif open_words is None:
            hidden = hidden.clone()
        tanh_(hidden)
        scores = hidden[:, : self.preattention_dim].mv(self.vector)  # Eq. 2
        alpha = self.attend(step, self._scatter(scores, size, open_words), use_cache)
        update = hidden[:, self.preattention_dim :]
        if use_cache:
            self.cache[step] = hidden, padded.clone(), alpha, open_words
        # Eq. 7
        if open_words is None:
            weights = alpha.to(self.dtype).unsqueeze(-1)
            self._without_padding(padded).addcmul_(update.view(size, self.tokens, -1), weights)
        else:
            weights = self._gather(alpha, open_words).unsqueeze(-1)
            padded.view(-1, self.sketch_dim).index_add_(0, open_words.centers, update * weights)

    def sketches_after(self, step: int, size: int) -> torch.Tensor:
        return self._without_padding(self._padded_sketches[:size])

    def keep(self, rows: torch.Tensor) -> None:
        super().keep(rows)
        self.preactivation = self.preactivation[rows]
        self._padded_sketches = self._padded_sketches[rows]

    def start_backward(self, grad: torch.Tensor) -> None:
        self._grad_padded = torch.zeros_like(self._padded_sketches)
        self._without_padding(self._grad_padded).copy_(grad)
        self._grad_windows = torch.empty_like(self._window_buffer)
        self._grad_hidden = self.empty(self.batch * self.tokens, self.preactivation_dim)
        self._grad_preactivation = self.zero_sums(self.batch * self.tokens, self.preactivation_dim)
        self._grad_weight = self.zero_sums(*self.weight.shape)
        self._grad_vector = self.zero_sums(*self.vector.shape)

    def add_gradient(self, step: int, grad: torch.Tensor) -> None:
        self._without_padding(self._grad_padded[: len(grad)]).add_(grad)

    def backward_step(self, step: int, size: int) -> None:
        hidden, padded_before, alpha, open_words = self.cache.pop(step)
        grad = self._grad_padded[:size]
        if open_words is None:
            grad = self._without_padding(grad).reshape(-1, self.sketch_dim)
        else:
            grad = grad.view(-1, self.sketch_dim).index_select(0, open_words.centers)
        dims = [self.preattention_dim, self.sketch_dim]
        preattention, update = hidden.split(dims, dim=-1)
        grad_hidden = self._grad_hidden[: len(hidden)]
        grad_preattention, grad_update = grad_hidden.split(dims, dim=-1)
        grad_alpha = self._scatter((grad * update).sum(-1), size, open_words)  # (B1)
        grad_scores = self.attention.backward(step, grad_alpha.to(alpha.dtype))  # (B2)
        # (B3), without its last factor
        torch.mul(grad, self._gather(alpha, open_words).unsqueeze(-1), out=grad_update)
        # (B4), without its last factor
        if grad_scores is None:
            grad_preattention.zero_()
        else:
            grad_scores = self._gather(grad_scores, open_words)
            torch.mul(grad_scores.unsqueeze(-1), self.vector, out=grad_preattention)
            self._grad_vector.add_(preattention.t().mv(grad_scores))
        tanh_backward_(grad_hidden, hidden)  # the last factors of (B3) and (B4)
        # (B5): p
        if open_words is None:
            self._grad_preactivation[: len(hidden)].add_(grad_hidden)
        else:
            added = grad_hidden.to(self._grad_preactivation.dtype)
            self._grad_preactivation.index_add_(0, open_words.words, added)
        if step > 0:
            self._backward_product(grad_hidden, padded_before, open_words)

    def _backward_product(
        self, grad: torch.Tensor, padded: torch.Tensor, open_words: "_OpenWords | None"
    ) -> None:
        """The backward pass of a step's product of W_s and the windows of the sketches."""
        size = len(padded)
        windows = self._gather_windows(padded, open_words)
        # (B5): W_s
        if self._grad_weight.dtype == self.dtype:
            self._grad_weight.addmm_(grad.t(), windows)
        else:
            self._grad_weight += grad.t().mm(windows)
        # (B6)
        grad_windows = self._grad_windows[: size * self.tokens]
        if open_words is None:
            torch.mm(grad, self.weight, out=grad_windows)
        else:
            grad_windows.zero_().index_copy_(0, open_words.words, grad.mm(self.weight))
        by_place = grad_windows.view(size, self.tokens, self.window, self.sketch_dim)
        grad_padded = self._grad_padded[:size]
        for place in range(self.window):  # not `+=`, which copies the sum onto itself
            grad_padded[:, place : place + self.tokens].add_(by_place[:, :, place])

    def gradients(self) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        grad_preactivation = self._grad_preactivation.view_as(self.preactivation)
        return grad_preactivation, self._grad_weight, self._grad_vector

    def _without_padding(self, padded: torch.Tensor) -> torch.Tensor:
        """(sentences, tokens + 2 * context_size, dim) -> a view (sentences, tokens, dim)."""
        return padded[:, self.context_size : self.context_size + self.tokens]

    def _gather_windows(
        self, padded: torch.Tensor, open_words: "_OpenWords | None"
    ) -> torch.Tensor:
        """The window of each word: (words, window * sketch_dim), in a buffer that the next call overwrites."""
        size, length, dim = padded.shape
        width = self.window * dim
        if open_words is None:
            windows = self._window_buffer[: size * self.tokens]
            overlapping = padded.as_strided((size, self.tokens, width), (length * dim, dim, 1))
            windows.view(size, self.tokens, width).copy_(overlapping)
            return windows
        overlapping = padded.as_strided((size * length - self.window + 1, width), (dim, 1))
        windows = self._window_buffer[: len(open_words.words)]
        return torch.index_select(overlapping, 0, open_words.windows, out=windows)

    def _scatter(
        self, values: torch.Tensor, size: int, open_words: "_OpenWords | None"
    ) -> torch.Tensor:
        """A value for each word in use -> (size, tokens), 0 for the other words."""
        if open_words is not None:
            zeros = values.new_zeros(size * self.tokens)
            values = zeros.index_copy_(0, open_words.words, values)
        return values.view(size, self.tokens)

    def _gather(self, values: torch.Tensor, open_words: "_OpenWords | None") -> torch.Tensor:
        """(size, tokens) -> a value for each word in use."""
        values = values.to(self.dtype).reshape(-1)
        return values if open_words is None else values.index_select(0, open_words.words)

    def _index_open_words(self, size: int) -> "_OpenWords | None":
        """The words that the next step uses; None for all words of the first `size` sentences."""
        words = self.attention.open_words(size)
        if words is None:
            return None
        windows = words + words.div(self.tokens, rounding_mode="floor") * (self.window - 1)
        return _OpenWords(words, windows, windows + self.context_size)


class _OpenWords(NamedTuple):
    """The words that a step uses, where it does not use all: each (words,), long."""

    words: torch.Tensor
    """Their indices among the words of the batch, sentence after sentence."""
    windows: torch.Tensor
    """Where their windows start, among the places of the padded sentences."""
    centers: torch.Tensor
    """Where they themselves are, among the places of the padded sentences."""


class FusedSingleRecursion(FusedRecursion):
    """NEF-S. A step changes the pre-activations of a sentence by a product of rank `window`."""

    def start_forward(self) -> None:
        steps = len(self.sizes)
        # W_k for each place k of the window: (sketch_dim, window * preactivation_dim).
        by_place = self.weight.view(self.preactivation_dim, self.window, self.sketch_dim)
        self._weight_by_place = by_place.permute(2, 1, 0).reshape(self.sketch_dim, -1)
        self._current = self.preactivation.clone()
        self._alphas = self.zeros(steps, self.batch, self.tokens)
        self._updates = self.zeros(steps, self.batch, self.sketch_dim)

    def state(self) -> torch.Tensor:
        return self._current.clone()

    def restore(self, state: torch.Tensor) -> None:
        self._current.copy_(state)

    def sketches(self) -> torch.Tensor:
        return self._alphas.permute(1, 2, 0).bmm(self._updates.transpose(0, 1))

    def forward_step(self, step: int, size: int, use_cache: bool) -> None:
        current = self._current[:size]
        hidden = current[..., : self.preattention_dim].clone(memory_format=torch.contiguous_format)
        hidden = tanh_(hidden).view(size * self.tokens, -1)
        scores = hidden.mv(self.vector).view(size, self.tokens)  # Eq. 2
        alpha = self.attend(step, scores, use_cache)
        weights, update = self._alphas[step, :size], self._updates[step, :size]
        weights.copy_(alpha)
        sketch_part = current[..., self.preattention_dim :]
        torch.bmm(weights.unsqueeze(1), sketch_part, out=update.unsqueeze(1))
        tanh_(update)
        if use_cache:
            sketch_part = sketch_part.clone(memory_format=torch.contiguous_format)
        change = None
        if step + 1 < len(self.sizes):
            size = min(size, self.sizes[step + 1])
            padded = functional.pad(weights[:size], (self.context_size, self.context_size))
            # A copy: overlapping rows are slow to multiply.
            windows = padded.unfold(1, self.window, 1).clone(memory_format=torch.contiguous_format)
            change = windows, self._change(windows, update[:size])
        if use_cache:
            self.cache[step] = hidden, sketch_part, change

    def _change(self, windows: torch.Tensor, updates: torch.Tensor) -> torch.Tensor:
        """Changes the pre-activations of the sentences with further steps.

        # Parameters

        windows : `torch.Tensor`, (sentences, tokens, window)
            The attention of each word and of the words in its window.
        updates : `torch.Tensor`, (sentences, sketch_dim)
            t.

        # Returns

        `torch.Tensor`, (sentences, window, preactivation_dim)
            W_k t of each place.
        """
        size = len(windows)
        columns = updates.mm(self._weight_by_place).view(size, self.window, self.preactivation_dim)
        self._current[:size].baddbmm_(windows, columns)
        return columns

    def sketches_after(self, step: int, size: int) -> torch.Tensor:
        alpha, update = self._alphas[step, :size], self._updates[step, :size]
        if step == 0:
            self._sum = self.zeros(self.batch, self.tokens, self.sketch_dim)
        return self._sum[:size].addcmul_(alpha.unsqueeze(-1), update.unsqueeze(1))

    def keep(self, rows: torch.Tensor) -> None:
        super().keep(rows)
        self._current = self._current[rows]
        self._sum = self._sum[rows]

    def start_backward(self, grad: torch.Tensor) -> None:
        alphas, updates = self._alphas.transpose(0, 1), self._updates.transpose(0, 1)
        # The terms with g in (B1) and in the gradient of t, for all steps at once: (steps, batch, ...).
        self._grad_alphas = updates.bmm(grad.transpose(1, 2)).transpose(0, 1).contiguous()
        self._grad_updates = alphas.bmm(grad).transpose(0, 1).contiguous()
        self._grad_current = self.zero_sums(*self.preactivation.shape)  # A
        # sum_i alpha_(i + k) A_i of each step
        columns_dim = self.window * self.preactivation_dim
        self._grad_columns = self.zeros(len(self.sizes), self.batch, columns_dim)
        self._grad_vector = self.zero_sums(*self.vector.shape)
        self._shifted = self.zeros(self.batch, self.window, self.tokens + 2 * self.context_size)
        self._grad_later = torch.zeros_like(grad)  # of the sketches after this step and later ones

    def add_gradient(self, step: int, grad: torch.Tensor) -> None:
        size = len(grad)
        later = self._grad_later[:size].add_(grad)
        alpha, update = self._alphas[step, :size], self._updates[step, :size]
        self._grad_alphas[step, :size] += later.bmm(update.unsqueeze(-1)).squeeze(-1)
        self._grad_updates[step, :size] += alpha.unsqueeze(1).bmm(later).squeeze(1)

    def backward_step(self, step: int, size: int) -> None:
        hidden, sketch_part, change = self.cache.pop(step)
        weights, update = self._alphas[step, :size], self._updates[step, :size]
        grad_alpha, grad_update = self._grad_alphas[step, :size], self._grad_updates[step, :size]
        if change is not None:
            grad_windows, added = self._backward_change(step, *change)
            grad_update[: len(added)] += added
            self._add_by_word(grad_windows, grad_alpha[: len(added)])
        grad_average = tanh_backward_(grad_update, update)
        grad_alpha = grad_alpha + (sketch_part * grad_average.unsqueeze(1)).sum(-1)  # (B1)
        grad = self._grad_current[:size]
        # (B3), added as in (B6)
        grad[..., self.preattention_dim :].addcmul_(
            weights.unsqueeze(-1).to(grad.dtype), grad_average.unsqueeze(1).to(grad.dtype)
        )
        grad_alpha = grad_alpha.to(float32_at_least(self.dtype))
        grad_scores = self.attention.backward(step, grad_alpha)  # (B2)
        if grad_scores is not None:
            grad_scores = grad_scores.to(self.dtype).reshape(-1)
            # (B4), added as in (B6)
            self._grad_vector += hidden.t().mv(grad_scores)
            grad_hidden = tanh_backward_(grad_scores.unsqueeze(-1) * self.vector, hidden)
            grad[..., : self.preattention_dim].add_(grad_hidden.view(size, self.tokens, -1))

    def _backward_change(
        self, step: int, windows: torch.Tensor, columns: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """The terms with A; caches the sum over words of (B5).

        # Returns

        `tuple[torch.Tensor, torch.Tensor]`
            The gradients of the weights of each window, (sentences, window, tokens), and what is added to those of t,
            (sentences, sketch_dim).
        """
        size = len(windows)  # of the sentences with further steps
        grad = self._grad_current[:size].to(self.dtype)
        grad_columns = self._grad_columns[step, :size]
        by_place = grad_columns.view(size, self.window, self.preactivation_dim)
        torch.bmm(windows.transpose(1, 2), grad, out=by_place)
        return columns.bmm(grad.transpose(1, 2)), grad_columns.mm(self._weight_by_place.t())

    def _add_by_word(self, grad_windows: torch.Tensor, grad_alpha: torch.Tensor) -> None:
        """Adds the gradients of the weights of each window, (sentences, window, tokens), to those of alpha."""
        # Each place of the window lies shifted in the buffer, so that a sum over places gives the gradients by word.
        size, length = len(grad_windows), self.tokens + 2 * self.context_size
        shifted = self._shifted[:size]
        diagonal = (self.window * length, length + 1, 1)
        shifted.as_strided(grad_windows.shape, diagonal).copy_(grad_windows)
        grad_alpha += shifted.sum(1)[:, self.context_size : self.context_size + self.tokens]

    def gradients(self) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        # (B5): W_s, of all steps at once
        updates = self._updates.view(-1, self.sketch_dim)
        columns = self._grad_columns.view(-1, self.window * self.preactivation_dim)
        grad_weight = updates.t().mm(columns)
        grad_weight = grad_weight.view(self.sketch_dim, self.window, self.preactivation_dim)
        grad_weight = grad_weight.permute(2, 1, 0).reshape(self.preactivation_dim, -1)
        return self._grad_current, grad_weight, self._grad_vector
