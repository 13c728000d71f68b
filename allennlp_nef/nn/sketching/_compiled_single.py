"""NEF-S with compiled kernels between the matrix products; `fused_single` states the equations.

Kernels take arrays, which share the memory of the tensors. Each array is made once, not in each step: it takes as long
as a small kernel.
"""

import numpy as np
import torch

from allennlp_nef.nn._kernels import single as kernels
from allennlp_nef.nn.sketching.fused_recursion import FusedSingleRecursion


class CompiledSingleRecursion(FusedSingleRecursion):
    """`FusedSingleRecursion` in float32 on a CPU."""

    def start_forward(self) -> None:
        super().start_forward()
        self._vector_array = self.vector.numpy()
        self._alpha_array, self._update_array = self._alphas.numpy(), self._updates.numpy()
        self._current_array = self._current.numpy()

    def keep(self, rows: torch.Tensor) -> None:
        super().keep(rows)
        self._current_array = self._current.numpy()

    def forward_step(self, step: int, size: int, use_cache: bool) -> None:
        current, update = self._current_array[:size], self._update_array[step, :size]
        hidden, scores = self._array(size, self.preattention_dim), self._array(size)
        kernels.scores(current, self._vector_array, hidden, scores)
        alpha = self.attention.forward_array(step, scores, use_cache)
        self._alpha_array[step, :size] = alpha
        sketch_part = self._array(size, self.sketch_dim)
        kernels.updates(current, self.preattention_dim, alpha, sketch_part, update)
        change = None
        if step + 1 < len(self.sizes):
            size = min(size, self.sizes[step + 1])
            windows = self._array(size, self.window)
            kernels.windows_of(alpha, windows)
            columns = self._change(torch.from_numpy(windows), torch.from_numpy(update[:size]))
            change = columns.numpy()
        if use_cache:
            self.cache[step] = hidden, sketch_part, change

    def _array(self, size: int, *shape: int) -> np.ndarray:
        return np.empty((size, self.tokens, *shape), np.float32)

    def start_backward(self, grad: torch.Tensor) -> None:
        super().start_backward(grad)
        shape = len(self.sizes), self.batch, self.window, self.preactivation_dim
        self._grad_columns_array = self._grad_columns.numpy().reshape(shape)
        self._grad_vector_array = self._grad_vector.numpy()
        self._grad_alpha_array = self._grad_alphas.numpy()
        self._grad_update_array = self._grad_updates.numpy()
        self._grad_array = self._grad_current.numpy()

    def backward_step(self, step: int, size: int) -> None:
        hidden, sketch_part, change = self.cache.pop(step)
        grad, grad_alpha = self._grad_array[:size], self._grad_alpha_array[step, :size]
        grad_update = self._grad_update_array[step, :size]
        if change is not None:
            further = len(change)
            kernels.add_change(
                grad,
                self._alpha_array[step],
                change,
                self._grad_columns_array[step],
                grad_alpha,
            )
            self._grad_updates[step, :further].addmm_(
                self._grad_columns[step, :further], self._weight_by_place.t()
            )
        kernels.add_grad_average(
            grad,
            self.preattention_dim,
            self._alpha_array[step, :size],
            sketch_part,
            self._update_array[step, :size],
            grad_update,
            grad_alpha,
        )
        grad_scores = self.attention.backward_array(step, grad_alpha)  # (B2)
        if grad_scores is not None:
            kernels.add_grad_hidden(
                grad,
                self._vector_array,
                hidden,
                grad_scores,
                self._grad_vector_array,
            )
