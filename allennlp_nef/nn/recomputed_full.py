"""NEF-F (Eq. 7) with a backward pass of its own: see `recomputed_sketching`."""

from typing import Tuple

import torch

from allennlp_nef.nn.recomputed_recursion import Recursion, tanh_, tanh_backward_


class FullRecursion(Recursion):
    """NEF-F. A step costs one matrix product, and two in the backward pass."""

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
        preactivation = self.preactivation[:size].view(-1, self.rows)
        padded = self._padded[:size]
        if step == 0:  # s^0 = 0
            hidden = preactivation.clone()
        else:
            hidden = torch.addmm(preactivation, self._windows_of(padded), self.weight.t())
        tanh_(hidden)
        alpha = self.attend(step, hidden[:, : self.preattention_dim], keep)
        if keep:
            self.kept[step] = hidden, padded.clone(), alpha
        weights = alpha.to(self.dtype).unsqueeze(-1)
        self._words(padded).addcmul_(self._of_sketch(hidden), weights)

    def start_backward(self, grad: torch.Tensor) -> None:
        self._grad_padded = torch.zeros_like(self._padded)
        self._words(self._grad_padded).copy_(grad)
        self._grad_windows = torch.empty_like(self._windows)
        self._grad_hidden = self.empty(self.batch * self.tokens, self.rows)
        self._grad_preactivation = self.sums(*self.preactivation.shape)
        self._grad_weight = self.sums(*self.weight.shape)
        self._grad_vector = self.sums(*self.vector.shape)

    def undo(self, step: int, size: int) -> None:
        hidden, before, alpha = self.kept.pop(step)
        grad = self._words(self._grad_padded[:size])
        of_alpha = (grad * self._of_sketch(hidden)).sum(-1)
        of_scores = self.attention.backward(step, of_alpha.to(alpha.dtype))
        of_hidden = self._grad_hidden[: len(hidden)]
        torch.mul(grad, alpha.to(self.dtype).unsqueeze(-1), out=self._of_sketch(of_hidden))
        of_attention = of_hidden[:, : self.preattention_dim]
        if of_scores is None:
            of_attention.zero_()
        else:
            of_scores = of_scores.to(self.dtype).reshape(-1)
            torch.mul(of_scores.unsqueeze(-1), self.vector, out=of_attention)
            self._grad_vector += hidden[:, : self.preattention_dim].t().mv(of_scores)
        tanh_backward_(of_hidden, hidden)
        self._grad_preactivation[:size] += of_hidden.view(size, self.tokens, -1)
        if step > 0:
            self._undo_product(of_hidden, before)

    def _undo_product(self, grad: torch.Tensor, padded: torch.Tensor) -> None:
        """Adds to the gradients of W_s and of the sketches what comes from a step's product of both."""
        of_windows = torch.mm(grad, self.weight, out=self._grad_windows[: len(grad)])
        of_places = of_windows.view(len(padded), self.tokens, self.window, self.sketch_dim)
        for place in range(self.window):
            self._grad_padded[: len(padded), place : place + self.tokens] += of_places[:, :, place]
        windows = self._windows_of(padded)
        if self._grad_weight.dtype == self.dtype:
            self._grad_weight.addmm_(grad.t(), windows)
        else:
            self._grad_weight += grad.t().mm(windows)

    def gradients(self) -> Tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        return self._grad_preactivation, self._grad_weight, self._grad_vector

    def _words(self, padded: torch.Tensor) -> torch.Tensor:
        return padded[:, self.context_size : self.context_size + self.tokens]

    def _of_sketch(self, hidden: torch.Tensor) -> torch.Tensor:
        """The columns of the sketch: (sentences, tokens, sketch_dim)."""
        return hidden.view(-1, self.tokens, self.rows)[..., self.preattention_dim :]

    def _windows_of(self, padded: torch.Tensor) -> torch.Tensor:
        """(sentences * tokens, window * sketch_dim), in a buffer that the next call overwrites."""
        size, length, dim = padded.shape
        windows = self._windows[: size * self.tokens].view(size, self.tokens, -1)
        windows.copy_(padded.as_strided(windows.shape, (length * dim, dim, 1)))
        return windows.view(size * self.tokens, -1)
