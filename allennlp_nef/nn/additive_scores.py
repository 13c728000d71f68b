"""Scores of additive attention, with bounded memory."""

from typing import Any

import torch

from allennlp_nef.nn.numerics import differentiable_once, float32_at_least, full_precision

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

    # Raises

    `ValueError`: shapes do not agree.
    """
    shapes = [tuple(tensor.shape) for tensor in (queries, keys, vector)]
    sizes = {(shape[0], shape[-1]) for shape in shapes[:2] if len(shape) == 3}
    if (
        [len(shape) for shape in shapes] != [3, 3, 1]
        or len(sizes) != 1
        or shapes[2] != shapes[0][-1:]
    ):
        raise ValueError(
            "expected queries (batch, n, dim), keys (batch, m, dim) and a vector (dim,); got "
            + ", ".join(map(str, shapes))
        )
    dtype = float32_at_least(queries.dtype)
    return _AdditiveScores.apply(queries.to(dtype), keys.to(dtype), vector.to(dtype))


class _AdditiveScores(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, queries: torch.Tensor, keys: torch.Tensor, vector: torch.Tensor
    ) -> torch.Tensor:
        with full_precision(queries.device):
            ctx.layer = _hidden_layer(queries, keys)
            # Queries and keys, too, so that a change of them before the backward pass is an error.
            ctx.save_for_backward(vector, queries, keys)
            scores = ctx.layer.scores(vector, any(ctx.needs_input_grad))
            return scores.mul_(-2).add_(vector.sum())

    @staticmethod
    @differentiable_once("additive_scores")
    def backward(ctx: Any, grad: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        vector = ctx.saved_tensors[0]
        with full_precision(grad.device):
            # 1 - tanh^2 = 4 r (1 - r), times w and the gradient of the scores.
            grad_queries, grad_keys, products = ctx.layer.gradients(grad)
            factor = 4 * vector
            return grad_queries.mul_(factor), grad_keys.mul_(factor), grad.sum() - 2 * products


class _HiddenLayer:
    """r = (1 - tanh(q_i + k_j)) / 2 of all pairs, one block of rows at a time."""

    def __init__(self, queries: torch.Tensor, keys: torch.Tensor, are_exponentials: bool) -> None:
        length = queries.size(1)
        size = max(1, MAX_NUMBERS // max(1, keys.numel()))
        self.blocks = [slice(start, start + size) for start in range(0, length, size)]
        self._queries, self._keys = queries, keys
        self._one = queries.new_ones(()) if are_exponentials else None
        self._cache: torch.Tensor | None = None

    def scores(self, vector: torch.Tensor, keep: bool) -> torch.Tensor:
        """w^T r, (batch, n, m). If there is one block, it may be kept for the gradients."""
        scores = self._queries.new_empty(*self._queries.shape[:2], self._keys.size(1))
        for rows in self.blocks:
            r = self.block(rows)
            scores[:, rows] = r @ vector
            if len(self.blocks) == 1 and keep:
                self._cache = r
            del r  # before the next block is computed
        return scores

    def gradients(self, grad: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """The sums over the other words of grad * r (1 - r), and that over all pairs of grad * r, (dim,)."""
        cache = self._cache
        self._cache = None  # overwritten below; a second time it is computed again
        grad_queries, grad_keys = torch.empty_like(self._queries), torch.zeros_like(self._keys)
        products = self._keys.new_zeros(self._keys.size(-1))
        for rows in self.blocks:
            r = self.block(rows) if cache is None else cache
            weights = grad[:, rows]  # (batch, rows, m)
            # The sum of each row first: one sum over a million pairs has an error of 3e-4.
            products += (weights.unsqueeze(-2) @ r).sum((0, 1, 2))
            torch.addcmul(r, r, r, value=-1, out=r)
            r.mul_(weights.unsqueeze(-1))
            grad_queries[:, rows] = r.sum(2)
            grad_keys += r.sum(1)
            del r
        return grad_queries, grad_keys, products

    def block(self, rows: slice) -> torch.Tensor:
        """r of some rows: (batch, rows, m, dim)."""
        queries, keys = self._queries[:, rows].unsqueeze(2), self._keys.unsqueeze(1)
        if self._one is not None:
            return torch.addcmul(self._one, queries, keys).reciprocal_()
        return (queries + keys).mul_(-2).sigmoid_()


def _hidden_layer(queries: torch.Tensor, keys: torch.Tensor) -> _HiddenLayer:
    # On other devices tanh costs no more, and finding the largest number would need synchronization.
    is_small = queries.device.type == "cpu" and _is_small(queries) and _is_small(keys)
    if is_small:
        queries, keys = (2 * queries).exp_(), (2 * keys).exp_()
    return _HiddenLayer(queries, keys, is_small)


def _is_small(words: torch.Tensor) -> bool:
    if not words.numel():
        return True
    lowest, highest = words.aminmax()  # NaN where there is one
    return float(lowest) >= -MAX_EXPONENT and float(highest) <= MAX_EXPONENT
