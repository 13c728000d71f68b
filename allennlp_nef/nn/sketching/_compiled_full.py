"""NEF-F with compiled kernels between the matrix products; `fused` states the equations (B1) to (B6).

Kernels take arrays, which share the memory of the tensors. Each array is made once, not in each step: it takes as long
as a small kernel.
"""

import numpy as np
import torch

from allennlp_nef.nn._kernels import full as kernels
from allennlp_nef.nn.sketching.fused_recursion import FusedFullRecursion


class CompiledFullRecursion(FusedFullRecursion):
    """`FusedFullRecursion` in float32 on a CPU."""

    def start_forward(self) -> None:
        super().start_forward()
        self._all_words = np.arange(self.batch * self.tokens)
        self._vector_array = self.vector.numpy()
        self._windows_array = self._window_buffer.numpy()
        self._transposed_weight = self.weight.t()
        self._share_memory()

    def keep(self, rows: torch.Tensor) -> None:
        super().keep(rows)
        self._share_memory()

    def _share_memory(self) -> None:
        """Makes the sketches and the pre-activations arrays, a row each place and each word, of the same memory."""
        self._places = self._padded_sketches.view(-1, self.sketch_dim).numpy()
        self._table = self.preactivation.view(-1, self.preactivation_dim).numpy()

    def forward_step(self, step: int, size: int, use_cache: bool) -> None:
        words = self.attention.open_array(size)
        if words is None:
            words = self._all_words[: size * self.tokens]
        hidden = np.empty((len(words), self.preactivation_dim), np.float32)
        kernels.rows_of(self._table, words, hidden)
        if step > 0:  # s^0 = 0
            windows = self._windows_of(self._places, words)
            torch.from_numpy(hidden).addmm_(windows, self._transposed_weight)
        scores = np.zeros((size, self.tokens), np.float32)
        kernels.scores(hidden, self._vector_array, words, scores.reshape(-1))
        alpha = self.attention.forward_array(step, scores, use_cache).reshape(-1)
        if use_cache:
            places = size * (self.tokens + 2 * self.context_size)
            self.cache[step] = hidden, self._places[:places].copy(), alpha, words
        kernels.update(
            hidden,
            self.preattention_dim,
            alpha,
            words,
            self.tokens,
            self.context_size,
            self._places,
        )

    def start_backward(self, grad: torch.Tensor) -> None:
        super().start_backward(grad)
        self._grad_places = self._grad_padded.view(-1, self.sketch_dim).numpy()
        self._grad_windows_array = self._grad_windows.numpy()
        self._grad_hidden_array = self._grad_hidden.numpy()
        self._grad_vector_array = self._grad_vector.numpy()
        self._grad_table = self._grad_preactivation.numpy()

    def backward_step(self, step: int, size: int) -> None:
        hidden, places, alpha, words = self.cache.pop(step)
        around = self.tokens, self.context_size
        grad_alpha = np.zeros((size, self.tokens), np.float32)
        kernels.grad_attention(
            hidden,
            self.preattention_dim,
            self._grad_places,
            words,
            *around,
            grad_alpha.reshape(-1),
        )
        grad_scores = self.attention.backward_array(step, grad_alpha)  # (B2)
        if grad_scores is None:
            grad_scores = np.zeros_like(grad_alpha)
        kernels.grad_preactivation(
            hidden,
            self._vector_array,
            alpha,
            grad_scores.reshape(-1),
            self._grad_places,
            words,
            *around,
            self._grad_hidden_array[: len(words)],
            self._grad_vector_array,
            self._grad_table,
        )
        if step > 0:
            grad_hidden = self._grad_hidden[: len(words)]
            # (B5): W_s
            self._grad_weight.addmm_(grad_hidden.t(), self._windows_of(places, words))
            torch.mm(grad_hidden, self.weight, out=self._grad_windows[: len(words)])
            kernels.add_windows(self._grad_windows_array, words, *around, self._grad_places)

    def _windows_of(self, places: np.ndarray, words: np.ndarray) -> torch.Tensor:
        """The window of each word: (words, window * sketch_dim), in a buffer that the next call overwrites."""
        around = self.tokens, self.context_size
        kernels.windows_of(places, words, *around, self._windows_array)
        return self._window_buffer[: len(words)]
