"""NEF-F (Eq. 7) with a backward pass of its own: see `recomputed_sketching`."""

from typing import NamedTuple, Optional, Tuple

import torch

from allennlp_nef.nn.recomputed_recursion import Recursion, tanh_, tanh_backward_


class FullRecursion(Recursion):
    """A step costs one matrix product, and two in the backward pass.

    Words that can have no attention any more, and padding, are left out of them where that pays: all that a step
    computes of such a word is multiplied by zero.
    """

    def start(self) -> None:
        self._padded = self.zeros(self.batch, self.tokens + 2 * self.context_size, self.sketch_dim)
        self._windows = self.empty(self.batch * self.tokens, self.weight.size(1))

    def state(self) -> torch.Tensor:
        return self._padded.clone()

    def restore(self, state: torch.Tensor) -> None:
        self._padded.copy_(state)

    def sketches(self) -> torch.Tensor:
        return self._words(self._padded).clone(memory_format=torch.contiguous_format)

    def do(self, step: int, size: int, keep: bool) -> None:
        rows = self._rows(self.attention.open_words(size))
        padded = self._padded[:size]
        hidden = self.preactivation[:size].view(-1, self.rows)
        if rows is not None:
            hidden = hidden.index_select(0, rows.words)
        if step > 0:  # s^0 = 0
            hidden = torch.addmm(hidden, self._windows_of(padded, rows), self.weight.t())
        elif rows is None:
            hidden = hidden.clone()
        tanh_(hidden)
        scores = self._spread(hidden[:, : self.preattention_dim].mv(self.vector), size, rows)
        alpha = self.attend(step, scores, keep)
        update = hidden[:, self.preattention_dim :]
        if keep:
            self.kept[step] = hidden, padded.clone(), alpha, rows
        if rows is None:
            weights = alpha.to(self.dtype).unsqueeze(-1)
            self._words(padded).addcmul_(update.view(size, self.tokens, -1), weights)
        else:
            weights = self._select(alpha, rows).unsqueeze(-1)
            padded.view(-1, self.sketch_dim).index_add_(0, rows.centres, update * weights)

    def start_backward(self, grad: torch.Tensor) -> None:
        self._grad_padded = torch.zeros_like(self._padded)
        self._words(self._grad_padded).copy_(grad)
        self._grad_windows = torch.empty_like(self._windows)
        self._grad_hidden = self.empty(self.batch * self.tokens, self.rows)
        self._grad_preactivation = self.sums(self.batch * self.tokens, self.rows)
        self._grad_weight = self.sums(*self.weight.shape)
        self._grad_vector = self.sums(*self.vector.shape)

    def undo(self, step: int, size: int) -> None:
        hidden, before, alpha, rows = self.kept.pop(step)
        grad = self._grad_padded[:size]
        if rows is None:
            grad = self._words(grad).reshape(-1, self.sketch_dim)
        else:
            grad = grad.view(-1, self.sketch_dim).index_select(0, rows.centres)
        units, update = hidden.split([self.preattention_dim, self.sketch_dim], dim=-1)
        of_alpha = self._spread((grad * update).sum(-1), size, rows)
        of_scores = self.attention.backward(step, of_alpha.to(alpha.dtype))
        of_hidden = self._grad_hidden[: len(hidden)]
        of_units, of_update = of_hidden.split([self.preattention_dim, self.sketch_dim], dim=-1)
        torch.mul(grad, self._select(alpha, rows).unsqueeze(-1), out=of_update)
        if of_scores is None:
            of_units.zero_()
        else:
            of_scores = self._select(of_scores, rows)
            torch.mul(of_scores.unsqueeze(-1), self.vector, out=of_units)
            self._grad_vector.add_(units.t().mv(of_scores))
        tanh_backward_(of_hidden, hidden)
        if rows is None:
            self._grad_preactivation[: len(hidden)].add_(of_hidden)
        else:
            of_hidden_sums = of_hidden.to(self._grad_preactivation.dtype)
            self._grad_preactivation.index_add_(0, rows.words, of_hidden_sums)
        if step > 0:
            self._undo_product(of_hidden, before, rows)

    def _undo_product(
        self, grad: torch.Tensor, padded: torch.Tensor, rows: Optional["_Rows"]
    ) -> None:
        """Adds to the gradients of W_s and of the sketches what comes from a step's product of both."""
        size = len(padded)
        windows = self._windows_of(padded, rows)
        if self._grad_weight.dtype == self.dtype:
            self._grad_weight.addmm_(grad.t(), windows)
        else:
            self._grad_weight += grad.t().mm(windows)
        of_windows = self._grad_windows[: size * self.tokens]
        if rows is None:
            torch.mm(grad, self.weight, out=of_windows)
        else:
            of_windows.zero_().index_copy_(0, rows.words, grad.mm(self.weight))
        of_places = of_windows.view(size, self.tokens, self.window, self.sketch_dim)
        grad_padded = self._grad_padded[:size]
        for place in range(self.window):  # not `+=`, which copies the sum onto itself
            grad_padded[:, place : place + self.tokens].add_(of_places[:, :, place])

    def gradients(self) -> Tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        of_preactivation = self._grad_preactivation.view_as(self.preactivation)
        return of_preactivation, self._grad_weight, self._grad_vector

    def _words(self, padded: torch.Tensor) -> torch.Tensor:
        return padded[:, self.context_size : self.context_size + self.tokens]

    def _windows_of(self, padded: torch.Tensor, rows: Optional["_Rows"]) -> torch.Tensor:
        """(words, window * sketch_dim), in a buffer that the next call overwrites."""
        size, length, dim = padded.shape
        width = self.window * dim
        if rows is None:
            windows = self._windows[: size * self.tokens]
            overlapping = padded.as_strided((size, self.tokens, width), (length * dim, dim, 1))
            windows.view(size, self.tokens, width).copy_(overlapping)
            return windows
        overlapping = padded.as_strided((size * length - self.window + 1, width), (dim, 1))
        windows = self._windows[: len(rows.words)]
        return torch.index_select(overlapping, 0, rows.windows, out=windows)

    def _spread(self, values: torch.Tensor, size: int, rows: Optional["_Rows"]) -> torch.Tensor:
        """A value for each row -> (size, tokens), 0 for the words that have none."""
        if rows is not None:
            values = values.new_zeros(size * self.tokens).index_copy_(0, rows.words, values)
        return values.view(size, self.tokens)

    def _select(self, values: torch.Tensor, rows: Optional["_Rows"]) -> torch.Tensor:
        """(size, tokens) -> a value for each row."""
        values = values.to(self.dtype).reshape(-1)
        return values if rows is None else values.index_select(0, rows.words)

    def _rows(self, words: Optional[torch.Tensor]) -> Optional["_Rows"]:
        if words is None:
            return None
        windows = words + words.div(self.tokens, rounding_mode="floor") * (self.window - 1)
        return _Rows(words, windows, windows + self.context_size)


class _Rows(NamedTuple):
    """The words that a step is about, where it is not about all: (rows,), long."""

    words: torch.Tensor
    """Among the words of the batch."""
    windows: torch.Tensor
    """Their first neighbours, and so the starts of their windows, among the padded sentences' places."""
    centres: torch.Tensor
    """They themselves among those."""
