"""The hidden layer of additive attention, a pair of words after the other: see `nn.additive_scores`."""

from typing import Any

import numpy as np

from allennlp_nef.nn._kernels.arithmetic import ONE, ZERO, compiled_sums


@compiled_sums
def scores(queries: Any, keys: Any, vector: Any, result: Any) -> None:
    """w^T r of each pair: (batch, n, m), from exp(2 q) (batch, n, dim) and exp(2 k) (batch, m, dim)."""
    for row in range(len(queries)):
        for i in range(queries.shape[1]):
            for j in range(keys.shape[1]):
                total = ZERO
                for d in range(vector.size):
                    total += vector[d] / (ONE + queries[row, i, d] * keys[row, j, d])
                result[row, i, j] = total


@compiled_sums
def add_gradients(
    queries: Any, keys: Any, grad: Any, grad_queries: Any, grad_keys: Any, grad_vector: Any
) -> None:
    """Adds grad * r (1 - r), summed over the other words, and to the vector's gradient grad * r of all pairs."""
    products = np.empty(grad_vector.size, grad_vector.dtype)  # of a row: long sums lose digits
    for row in range(len(queries)):
        for i in range(queries.shape[1]):
            for d in range(products.size):
                products[d] = ZERO
            for j in range(keys.shape[1]):
                for d in range(products.size):
                    r = ONE / (ONE + queries[row, i, d] * keys[row, j, d])
                    product = grad[row, i, j] * r
                    slope = product - product * r
                    grad_queries[row, i, d] += slope
                    grad_keys[row, j, d] += slope
                    products[d] += product
            for d in range(products.size):
                grad_vector[d] += products[d]
