"""Scores of additive attention, with bounded memory."""

from typing import Any, Optional, Tuple

import torch
from torch.autograd.function import once_differentiable

from allennlp_nef.nn.numerics import float32_at_least, full_precision

MAX_NUMBERS = 2**22
"""The size of a block of the hidden layer: 16 MiB of float32, or one row if that is larger."""
MAX_EXPONENT = 40.0
"""The absolute value of queries and keys up to which exp(2 q) and exp(2 k) fit into float32."""


def additive_scores(
    queries: torch.Tensor, keys: torch.Tensor, vector: torch.Tensor
) -> torch.Tensor:
    """
    w^T tanh(q_i + k_j) for all i and j, the additive attention of Bahdanau et al. (ICLR 2015); differentiable once.

    The hidden layer has batch * n * m * dim numbers. It is computed in blocks of rows with at most `MAX_NUMBERS`
    numbers, or of one row. If there are several blocks, the backward pass computes them again. So memory grows with
    n * m, not with n * m * dim.

    tanh(q + k) = 1 - 2 r with r = 1 / (1 + exp(2 q) exp(2 k)). On a CPU this takes two exponentials a word and one
    reciprocal a pair: a third of the time of one tanh a pair, forward and backward.

    # Parameters

    queries : `torch.Tensor`, (batch, n, dim)
    keys : `torch.Tensor`, (batch, m, dim)
    vector : `torch.Tensor`, (dim,)
        w.

    # Returns

    `torch.Tensor`, (batch, n, m), in float32 at least.
    """
    dtype = float32_at_least(queries.dtype)
    return _AdditiveScores.apply(queries.to(dtype), keys.to(dtype), vector.to(dtype))


class _AdditiveScores(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, queries: torch.Tensor, keys: torch.Tensor, vector: torch.Tensor
    ) -> torch.Tensor:
        scores = queries.new_empty(*queries.shape[:2], keys.size(1))
        ctx.cache = None
        with full_precision(queries.device):
            ctx.layer = _HiddenLayer(queries, keys)
            for rows in ctx.layer.blocks:
                r = ctx.layer.block(rows)
                scores[:, rows] = r @ vector
                if len(ctx.layer.blocks) == 1 and any(ctx.needs_input_grad):
                    ctx.cache = r
                del r  # before the next block is computed
            scores.mul_(-2).add_(vector.sum())
        ctx.save_for_backward(queries, keys, vector)
        return scores

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: torch.Tensor) -> Tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        queries, keys, vector = ctx.saved_tensors
        cache: Optional[torch.Tensor] = ctx.cache
        ctx.cache = None  # overwritten below; a second backward pass computes it again
        grad_queries, grad_keys = torch.empty_like(queries), torch.zeros_like(keys)
        with full_precision(grad.device):
            grad_vector = grad.sum().expand_as(vector).clone()
            for rows in ctx.layer.blocks:
                r = ctx.layer.block(rows) if cache is None else cache
                weights = grad[:, rows]  # (batch, rows, m)
                grad_vector.sub_(weights.reshape(-1) @ r.flatten(0, -2), alpha=2)
                # 1 - tanh^2 = 4 r (1 - r), times the gradient of the scores. The factors 4 and w follow at the end.
                torch.addcmul(r, r, r, value=-1, out=r)
                r.mul_(weights.unsqueeze(-1))
                grad_queries[:, rows] = r.sum(2)
                grad_keys += r.sum(1)
                del r
            factor = 4 * vector
            return grad_queries.mul_(factor), grad_keys.mul_(factor), grad_vector


class _HiddenLayer:
    """r = (1 - tanh(q_i + k_j)) / 2 of all pairs, one block of rows at a time."""

    def __init__(self, queries: torch.Tensor, keys: torch.Tensor) -> None:
        length = queries.size(1)
        size = max(1, MAX_NUMBERS // max(1, keys.numel()))
        self.blocks = [slice(start, start + size) for start in range(0, length, size)]
        self._queries, self._keys = queries, keys
        # On other devices tanh costs no more, and finding the largest number would need synchronization.
        self._is_small = queries.device.type == "cpu" and all(
            bool((x.abs() <= MAX_EXPONENT).all()) for x in (queries, keys)
        )
        if self._is_small:
            self._queries, self._keys = (2 * queries).exp_(), (2 * keys).exp_()
            self._one = queries.new_ones(())

    def block(self, rows: slice) -> torch.Tensor:
        """r of some rows: (batch, rows, m, dim)."""
        queries, keys = self._queries[:, rows].unsqueeze(2), self._keys.unsqueeze(1)
        if self._is_small:
            return torch.addcmul(self._one, queries, keys).reciprocal_()
        return (queries + keys).mul_(-2).sigmoid_()
