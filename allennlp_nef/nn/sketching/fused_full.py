"""NEF-F (Eq. 7) with a hand-written backward pass; `fused` states the equations (B1) to (B6)."""

from typing import NamedTuple

import torch

from allennlp_nef.nn.sketching.fused_recursion import FusedRecursion, tanh_, tanh_backward_


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
