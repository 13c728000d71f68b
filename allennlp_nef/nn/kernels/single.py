"""What a step of NEF-S does beside its matrix products. `nn.sketching.fused_single` states the equations.

`current` are the pre-activations, (sentences, tokens, preactivation_dim): the first columns, as many as `vector` has
numbers, are the attention's, and the others the sketch's. `columns` are W_k t of each place of the window, (sentences,
window, preactivation_dim).
"""

from typing import Any

from allennlp_nef.nn.kernels.arithmetic import ONE, ZERO, compiled
from allennlp_nef.nn.kernels.rows import add_product, copy, dot, tanh_gradient, tanh_row


@compiled
def scores(current: Any, vector: Any, hidden: Any, result: Any) -> None:
    """Eq. 2, and its hidden layer: (sentences, tokens, preattention_dim)."""
    for b in range(current.shape[0]):
        for i in range(current.shape[1]):
            copy(current[b, i], hidden[b, i])
            tanh_row(hidden[b, i])
            result[b, i] = dot(hidden[b, i], vector)


@compiled
def updates(current: Any, first: Any, alpha: Any, sketch_part: Any, result: Any) -> None:
    """Eq. 4: t of each sentence. `sketch_part` becomes a copy of the columns from `first` on."""
    for b in range(current.shape[0]):
        result[b] = ZERO
        for i in range(current.shape[1]):
            copy(current[b, i, first:], sketch_part[b, i])
            add_product(alpha[b, i], sketch_part[b, i], result[b])
        tanh_row(result[b])


@compiled
def add_columns(current: Any, alpha: Any, columns: Any) -> None:
    """Adds what the words of a window change: alpha_(i + k) W_k t."""
    tokens, context = current.shape[1], columns.shape[1] // 2
    for b in range(current.shape[0]):
        for i in range(tokens):
            for k in range(columns.shape[1]):
                j = i + k - context
                if 0 <= j < tokens and alpha[b, j] != ZERO:
                    add_product(alpha[b, j], columns[b, k], current[b, i])


@compiled
def grad_columns(grad: Any, alpha: Any, columns: Any, grad_alpha: Any, result: Any) -> None:
    """The terms with A of (B1), and the sums over words of (B5): (sentences, window, preactivation_dim)."""
    tokens, context = grad.shape[1], columns.shape[1] // 2
    for b in range(grad.shape[0]):
        for k in range(columns.shape[1]):
            result[b, k] = ZERO
        for i in range(tokens):
            for k in range(columns.shape[1]):
                j = i + k - context
                if 0 <= j < tokens:
                    grad_alpha[b, j] += dot(grad[b, i], columns[b, k])
                    if alpha[b, j] != ZERO:
                        add_product(alpha[b, j], grad[b, i], result[b, k])


@compiled
def add_grad_average(
    grad: Any, first: Any, alpha: Any, sketch_part: Any, grad_average: Any, grad_alpha: Any
) -> None:
    """The last term of (B1), and (B3), which is added to the gradient of the pre-activations."""
    for b in range(grad.shape[0]):
        for i in range(grad.shape[1]):
            grad_alpha[b, i] += dot(sketch_part[b, i], grad_average[b])
            if alpha[b, i] != ZERO:
                add_product(alpha[b, i], grad_average[b], grad[b, i, first:])


@compiled
def add_grad_hidden(
    grad: Any, vector: Any, hidden: Any, grad_scores: Any, grad_vector: Any, buffer: Any
) -> None:
    """(B4), which is added to the gradient of the pre-activations."""
    for b in range(grad.shape[0]):
        for i in range(grad.shape[1]):
            grad_score = grad_scores[b, i]
            if grad_score != ZERO:
                add_product(grad_score, hidden[b, i], grad_vector)
                tanh_gradient(grad_score, vector, hidden[b, i], buffer)
                add_product(ONE, buffer, grad[b, i, : buffer.size])
