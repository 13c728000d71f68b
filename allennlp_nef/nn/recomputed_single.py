"""NEF-S (Eq. 4) with a backward pass of its own: see `recomputed_sketching`."""

from typing import Tuple

import torch

from allennlp_nef.nn.recomputed_recursion import Recursion, float32_at_least, tanh_, tanh_backward_


class SingleRecursion(Recursion):
    """NEF-S. A step changes the pre-activations by products of rank `window` a sentence."""

    def start(self) -> None:
        steps = len(self.sizes)
        # One matrix for each place of the window: (sketch_dim, window * rows).
        by_place = self.weight.view(self.rows, self.window, self.sketch_dim).permute(2, 1, 0)
        self._by_place = by_place.reshape(self.sketch_dim, -1)
        self._current = self.preactivation.clone()
        self._alphas = self.zeros(steps, self.batch, self.tokens)
        self._updates = self.zeros(steps, self.batch, self.sketch_dim)
        self._padded = self.zeros(self.batch, self.tokens + 2 * self.context_size)

    def state(self) -> torch.Tensor:
        return self._current.clone()

    def restore(self, state: torch.Tensor) -> None:
        self._current.copy_(state)

    def sketches(self) -> torch.Tensor:
        return self._alphas.permute(1, 2, 0).bmm(self._updates.transpose(0, 1))

    def do(self, step: int, size: int, keep: bool) -> None:
        current = self._current[:size]
        hidden = current[..., : self.preattention_dim].clone(memory_format=torch.contiguous_format)
        hidden = tanh_(hidden).view(size * self.tokens, -1)
        scores = hidden.mv(self.vector).view(size, self.tokens)
        alpha = self.attend(step, scores, keep)
        weights, update = self._alphas[step, :size], self._updates[step, :size]
        weights.copy_(alpha)
        of_sketch = current[..., self.preattention_dim :]
        torch.bmm(weights.unsqueeze(1), of_sketch, out=update.unsqueeze(1))
        tanh_(update)
        columns = update.mm(self._by_place).view(size, self.window, self.rows)
        if keep:
            of_sketch = of_sketch.clone(memory_format=torch.contiguous_format)
            self.kept[step] = hidden, of_sketch, columns
        if step + 1 < len(self.sizes):
            size = self.sizes[step + 1]
            self._current[:size].baddbmm_(self._spread(weights[:size]), columns[:size])

    def start_backward(self, grad: torch.Tensor) -> None:
        alphas, updates = self._alphas.transpose(0, 1), self._updates.transpose(0, 1)
        self._grad_alphas = updates.bmm(grad.transpose(1, 2))  # (batch, steps, tokens)
        self._grad_updates = alphas.bmm(grad)  # (batch, steps, sketch_dim)
        self._grad_current = self.sums(*self.preactivation.shape)
        self._grad_columns = self.zeros(len(self.sizes), self.batch, self.window * self.rows)
        self._grad_vector = self.sums(*self.vector.shape)
        self._shifted = self.zeros(self.batch, self.window, self.tokens + 2 * self.context_size)

    def undo(self, step: int, size: int) -> None:
        hidden, of_sketch, columns = self.kept.pop(step)
        weights, update = self._alphas[step, :size], self._updates[step, :size]
        of_weights, of_update = self._grad_alphas[:size, step], self._grad_updates[:size, step]
        if step + 1 < len(self.sizes):
            later = self.sizes[step + 1]
            self._undo_change(step, columns[:later], of_weights[:later], of_update[:later])
        of_average = tanh_backward_(of_update.contiguous(), update)
        of_weights = of_weights + (of_sketch * of_average.unsqueeze(1)).sum(-1)
        grad = self._grad_current[:size]
        grad[..., self.preattention_dim :].addcmul_(
            weights.unsqueeze(-1).to(grad.dtype), of_average.unsqueeze(1).to(grad.dtype)
        )
        of_scores = self.attention.backward(step, of_weights.to(float32_at_least(self.dtype)))
        if of_scores is not None:
            of_scores = of_scores.to(self.dtype).reshape(-1)
            self._grad_vector += hidden.t().mv(of_scores)
            of_hidden = tanh_backward_(of_scores.unsqueeze(-1) * self.vector, hidden)
            of_attention = grad[..., : self.preattention_dim]
            of_attention.add_(of_hidden.view(size, self.tokens, -1))

    def _undo_change(
        self, step: int, columns: torch.Tensor, of_weights: torch.Tensor, of_update: torch.Tensor
    ) -> None:
        """Adds to the gradients of a step's weights and update what comes from the later pre-activations."""
        size = len(columns)
        grad = self._grad_current[:size].to(self.dtype)
        of_columns = self._grad_columns[step, :size]
        spread = self._spread(self._alphas[step, :size])
        torch.bmm(spread.transpose(1, 2), grad, out=of_columns.view(size, self.window, self.rows))
        of_update += of_columns.mm(self._by_place.t())
        # Each place of the window lies shifted in the buffer, so that a sum over places gives the gradients by word.
        length = self.tokens + 2 * self.context_size
        shifted = self._shifted[:size]
        diagonal = (self.window * length, length + 1, 1)
        of_spread = shifted.as_strided((size, self.window, self.tokens), diagonal)
        of_spread.copy_(columns.bmm(grad.transpose(1, 2)))
        of_weights += shifted.sum(1)[:, self.context_size : self.context_size + self.tokens]

    def gradients(self) -> Tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        of_places = (
            self._updates.view(-1, self.sketch_dim)
            .t()
            .mm(self._grad_columns.view(-1, self.window * self.rows))
        )
        of_places = of_places.view(self.sketch_dim, self.window, self.rows)
        return (
            self._grad_current,
            of_places.permute(2, 1, 0).reshape(self.rows, -1),
            self._grad_vector,
        )

    def _spread(self, weights: torch.Tensor) -> torch.Tensor:
        """Each word's weight and those of its neighbours: (sentences, tokens, window)."""
        size, length = len(weights), self._padded.size(1)
        self._padded[:size, self.context_size : self.context_size + self.tokens] = weights
        # A copy: overlapping rows are slow to multiply.
        return self._padded.as_strided(
            (size, self.tokens, self.window), (length, 1, 1)
        ).contiguous()
