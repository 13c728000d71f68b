"""NEF-F with compiled kernels between the matrix products; `fused` states the equations (B1) to (B6)."""

import numpy as np
import torch

from allennlp_nef.nn.kernels import full as kernels
from allennlp_nef.nn.sketching.fused_full import FusedFullRecursion


class CompiledFullRecursion(FusedFullRecursion):
    """`FusedFullRecursion` in float32 on a CPU."""

    def start_forward(self) -> None:
        super().start_forward()
        self._all_words = np.arange(self.batch * self.tokens)
        self._share_memory()

    def keep(self, rows: torch.Tensor) -> None:
        super().keep(rows)
        self._share_memory()

    def _share_memory(self) -> None:
        """Makes the sketches and the pre-activations arrays, a row each place and each word, of the same memory."""
        self._places = self._padded_sketches.view(-1, self.sketch_dim).numpy()
        self._table = self.preactivation.view(-1, self.preactivation_dim).numpy()

    def forward_step(self, step: int, size: int, use_cache: bool) -> None:
        words = self._words(size)
        hidden = self.empty(len(words), self.preactivation_dim)
        kernels.rows_of(self._table, words, hidden.numpy())
        if step > 0:  # s^0 = 0
            hidden.addmm_(self._windows_of(self._places, words), self.weight.t())
        scores = self.zeros(size * self.tokens)
        kernels.scores(hidden.numpy(), self.vector.numpy(), words, scores.numpy())
        alpha = self.attend(step, scores.view(size, self.tokens), use_cache)
        if use_cache:
            places = size * (self.tokens + 2 * self.context_size)
            self.cache[step] = hidden, self._places[:places].copy(), alpha, words
        kernels.update(
            hidden.numpy(),
            self.preattention_dim,
            alpha.reshape(-1).numpy(),
            words,
            self.tokens,
            self.context_size,
            self._places,
        )

    def start_backward(self, grad: torch.Tensor) -> None:
        super().start_backward(grad)
        self._grad_places = self._grad_padded.view(-1, self.sketch_dim).numpy()

    def backward_step(self, step: int, size: int) -> None:
        hidden, places, alpha, words = self.cache.pop(step)
        around = self.tokens, self.context_size
        grad_alpha = self.zeros(size, self.tokens)
        kernels.grad_attention(
            hidden.numpy(),
            self.preattention_dim,
            self._grad_places,
            words,
            *around,
            grad_alpha.view(-1).numpy(),
        )
        grad_scores = self.attention.backward(step, grad_alpha)  # (B2)
        if grad_scores is None:
            grad_scores = self.zeros(size, self.tokens)
        grad_hidden = self._grad_hidden[: len(words)]
        kernels.grad_preactivation(
            hidden.numpy(),
            self.vector.numpy(),
            alpha.reshape(-1).numpy(),
            grad_scores.reshape(-1).numpy(),
            self._grad_places,
            words,
            *around,
            grad_hidden.numpy(),
            self._grad_vector.numpy(),
            self._grad_preactivation.numpy(),
        )
        if step > 0:
            # (B5): W_s
            self._grad_weight.addmm_(grad_hidden.t(), self._windows_of(places, words))
            grad_windows = self._grad_windows[: len(words)]
            torch.mm(grad_hidden, self.weight, out=grad_windows)
            kernels.add_windows(grad_windows.numpy(), words, *around, self._grad_places)

    def _words(self, size: int) -> np.ndarray:
        """The words that the next step uses, of the first `size` sentences."""
        words = self.attention.open_words(size)
        return self._all_words[: size * self.tokens] if words is None else words.numpy()

    def _windows_of(self, places: np.ndarray, words: np.ndarray) -> torch.Tensor:
        """The window of each word: (words, window * sketch_dim), in a buffer that the next call overwrites."""
        windows = self._window_buffer[: len(words)]
        kernels.windows_of(places, words, self.tokens, self.context_size, windows.numpy())
        return windows
