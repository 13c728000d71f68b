"""NEF-S (Eq. 4) with a hand-written backward pass; `fused` states the equations (B1) to (B6).

One vector t updates all words of a sentence, so a step changes the pre-activations by a product of low rank:

    a_i += sum_k alpha_(i + k) W_k t,  k from -w to w

where W_k is the part of W_s for place k of the window. The pre-activations a are the state, and their gradient A is
carried backward. The sketches are s^N = sum_n alpha^n (t^n)^T, so every step sees the same gradient g. Hence, where A
is the gradient of the pre-activations after the step,

    (B1)  grad_alpha_i = g_i . t + sum_k A_(i - k) . W_k t + grad_average . a_s,i
    (B5)  grad_W_k += (sum_i alpha_(i + k) A_i) t^T,  grad_p = A before the first step
    (B6)  A before the step = A after it + (B3) + (B4)

and the gradient of t, from which grad_average = (1 - t^2) * grad_t follows, is
sum_i alpha_i g_i + sum_k W_k^T sum_i alpha_(i + k) A_i.
"""

import torch
from torch.nn import functional

from allennlp_nef.nn.numerics import float32_at_least
from allennlp_nef.nn.sketching.fused_recursion import FusedRecursion, tanh_, tanh_backward_


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
