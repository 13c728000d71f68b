"""NEF-S with compiled kernels between the matrix products; `fused_single` states the equations."""

import torch

from allennlp_nef.nn.kernels import single as kernels
from allennlp_nef.nn.sketching.fused_recursion import tanh_backward_
from allennlp_nef.nn.sketching.fused_single import FusedSingleRecursion


class CompiledSingleRecursion(FusedSingleRecursion):
    """`FusedSingleRecursion` in float32 on a CPU."""

    def forward_step(self, step: int, size: int, use_cache: bool) -> None:
        current = self._current[:size].numpy()
        hidden = self.empty(size, self.tokens, self.preattention_dim)
        scores = self.empty(size, self.tokens)
        kernels.scores(current, self.vector.numpy(), hidden.numpy(), scores.numpy())
        weights, update = self._alphas[step, :size], self._updates[step, :size]
        weights.copy_(self.attend(step, scores, use_cache))
        sketch_part = self.empty(size, self.tokens, self.sketch_dim)
        kernels.updates(
            current, self.preattention_dim, weights.numpy(), sketch_part.numpy(), update.numpy()
        )
        columns = update.mm(self._weight_by_place).view(size, self.window, self.preactivation_dim)
        self._end_step(step, weights, hidden, sketch_part, columns, use_cache)

    def start_backward(self, grad: torch.Tensor) -> None:
        super().start_backward(grad)
        self._buffer = torch.empty_like(self.vector)

    def backward_step(self, step: int, size: int) -> None:
        hidden, sketch_part, columns, windows = self.cache.pop(step)
        weights, update = self._alphas[step, :size], self._updates[step, :size]
        grad_alpha = self._grad_alphas[:size, step].contiguous()
        grad_update = self._grad_updates[:size, step]
        grad = self._grad_current[:size].numpy()
        if windows is not None:
            self._backward_change(step, windows, columns, grad_alpha, grad_update)
        grad_average = tanh_backward_(grad_update.contiguous(), update)
        kernels.add_grad_average(
            grad,
            self.preattention_dim,
            weights.numpy(),
            sketch_part.numpy(),
            grad_average.numpy(),
            grad_alpha.numpy(),
        )
        grad_scores = self.attention.backward(step, grad_alpha)  # (B2)
        if grad_scores is not None:
            kernels.add_grad_hidden(
                grad,
                self.vector.numpy(),
                hidden.numpy(),
                grad_scores.contiguous().numpy(),
                self._grad_vector.numpy(),
                self._buffer.numpy(),
            )

    def _add_by_word(self, grad_windows: torch.Tensor, grad_alpha: torch.Tensor) -> None:
        kernels.add_by_word(grad_windows.numpy(), grad_alpha.numpy())

    def _weight_windows(self, weights: torch.Tensor) -> torch.Tensor:
        windows = self.empty(len(weights), self.tokens, self.window)
        kernels.windows_of(weights.numpy(), windows.numpy())
        return windows
