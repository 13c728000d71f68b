"""Scores of additive attention, in bounded memory."""

from typing import Any, Optional, Tuple

import torch
from torch.autograd.function import once_differentiable

from allennlp_nef.nn.full_precision import full_precision

MOST_NUMBERS = 2**22
"""Of the hidden layer that are held at once, and kept for the backward pass: 16 MiB of float32, or one row."""
LARGEST = 40.0
"""The absolute value of queries and keys up to which exp(2 q) and exp(2 k) are numbers of float32."""


def additive_scores(
    queries: torch.Tensor, keys: torch.Tensor, vector: torch.Tensor
) -> torch.Tensor:
    """
    w^T tanh(q_i + k_j) for all i and j, the additive attention of Bahdanau et al. (ICLR 2015); differentiable once.

    The hidden layer has batch * n * m * dim numbers. Its rows are made in blocks of at most `MOST_NUMBERS`, one row at
    least, and made again in the backward pass where there are several: memory grows with n * m, not with n * m * dim.

    tanh(q + k) = 1 - 2 r with r = 1 / (1 + exp(2 q) exp(2 k)). On a CPU, that is two exponentials a word and a
    reciprocal a pair, in a third of the time of a tanh a pair, forward and backward.

    # Parameters

    queries : `torch.Tensor`, (batch, n, dim)
    keys : `torch.Tensor`, (batch, m, dim)
    vector : `torch.Tensor`, (dim,)
        w.

    # Returns

    `torch.Tensor`, (batch, n, m), in float32 at least.
    """
    dtype = torch.promote_types(queries.dtype, torch.float32)
    return _AdditiveScores.apply(queries.to(dtype), keys.to(dtype), vector.to(dtype))


class _AdditiveScores(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, queries: torch.Tensor, keys: torch.Tensor, vector: torch.Tensor
    ) -> torch.Tensor:
        scores = queries.new_empty(*queries.shape[:2], keys.size(1))
        ctx.kept = None
        with full_precision(queries.device):
            ctx.layer = _HiddenLayer(queries, keys)
            for rows in ctx.layer.blocks:
                halves = ctx.layer.halves(rows)
                scores[:, rows] = halves @ vector
                if len(ctx.layer.blocks) == 1 and any(ctx.needs_input_grad):
                    ctx.kept = halves
                del halves  # before the next block is made
            scores.mul_(-2).add_(vector.sum())
        ctx.save_for_backward(queries, keys, vector)
        return scores

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: torch.Tensor) -> Tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        queries, keys, vector = ctx.saved_tensors
        kept: Optional[torch.Tensor] = ctx.kept
        ctx.kept = None  # written over below; a second backward pass makes it again
        grad_queries, grad_keys = torch.empty_like(queries), torch.zeros_like(keys)
        with full_precision(grad.device):
            grad_vector = grad.sum().expand_as(vector).clone()
            for rows in ctx.layer.blocks:
                halves = ctx.layer.halves(rows) if kept is None else kept
                weights = grad[:, rows]  # (batch, rows, m)
                grad_vector.sub_(weights.reshape(-1) @ halves.flatten(0, -2), alpha=2)
                # 1 - tanh^2 = 4 r (1 - r), times what comes in; w and 4 are the same for all.
                torch.addcmul(halves, halves, halves, value=-1, out=halves)
                halves.mul_(weights.unsqueeze(-1))
                grad_queries[:, rows] = halves.sum(2)
                grad_keys += halves.sum(1)
                del halves
            factor = 4 * vector
            return grad_queries.mul_(factor), grad_keys.mul_(factor), grad_vector


class _HiddenLayer:
    """r = (1 - tanh(q_i + k_j)) / 2 of all pairs, a block of rows at a time."""

    def __init__(self, queries: torch.Tensor, keys: torch.Tensor) -> None:
        length = queries.size(1)
        size = max(1, MOST_NUMBERS // max(1, keys.numel()))
        self.blocks = [slice(start, start + size) for start in range(0, length, size)]
        self._queries, self._keys = queries, keys
        # Elsewhere than on a CPU a tanh costs no more, and the largest number would have to be waited for.
        self._is_small = queries.device.type == "cpu" and all(
            bool((x.abs() <= LARGEST).all()) for x in (queries, keys)
        )
        if self._is_small:
            self._queries, self._keys = (2 * queries).exp_(), (2 * keys).exp_()
            self._one = queries.new_ones(())

    def halves(self, rows: slice) -> torch.Tensor:
        """r: (batch, rows, m, dim)."""
        queries, keys = self._queries[:, rows].unsqueeze(2), self._keys.unsqueeze(1)
        if self._is_small:
            return torch.addcmul(self._one, queries, keys).reciprocal_()
        return (queries + keys).mul_(-2).sigmoid_()
