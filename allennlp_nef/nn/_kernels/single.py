"""What a step of NEF-S does beside its matrix products. `nn.sketching.fused_single` states the equations.

`current` are the pre-activations, (sentences, tokens, preactivation_dim): the first columns, as many as `vector` has
numbers, are the attention's, and the others the sketch's.
"""

from typing import Any

from allennlp_nef.nn._kernels.arithmetic import (
    ONE,
    ZERO,
    add_product,
    add_tanh_gradient,
    compiled,
    compiled_sums,
    copy,
    dot,
    tanh_gradient,
    tanh_row,
)


@compiled_sums
def scores(current: Any, vector: Any, hidden: Any, result: Any) -> None:
    """Eq. 2, and its hidden layer: (sentences, tokens, preattention_dim)."""
    for b in range(current.shape[0]):
        for i in range(current.shape[1]):
            copy(current[b, i], hidden[b, i])
    tanh_row(
        hidden.reshape(-1)
    )  # one long row: the end of each, where no vector instruction fits, is slow
    for b in range(current.shape[0]):
        for i in range(current.shape[1]):
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
def windows_of(alpha: Any, windows: Any) -> None:
    """The attention of each word and of the words around it, 0 beyond the sentence: (sentences, tokens, window)."""
    tokens, context = alpha.shape[1], windows.shape[2] // 2
    for b in range(windows.shape[0]):
        for i in range(tokens):
            for k in range(windows.shape[2]):
                j = i + k - context
                windows[b, i, k] = alpha[b, j] if 0 <= j < tokens else ZERO


@compiled_sums
def add_change(grad: Any, alpha: Any, columns: Any, grad_columns: Any, grad_alpha: Any) -> None:
    """The terms with A: adds those of (B1) to the gradients of alpha, and fills in the sums over words of (B5).

    `columns` are W_k t of each place of the window, and `grad_columns` their gradients: (sentences, window,
    preactivation_dim).
    """
    tokens, context = grad.shape[1], columns.shape[1] // 2
    for b in range(columns.shape[0]):
        grad_columns[b] = ZERO
        for i in range(tokens):
            for k in range(columns.shape[1]):
                j = i + k - context
                if 0 <= j < tokens:
                    grad_alpha[b, j] += dot(grad[b, i], columns[b, k])
                    if alpha[b, j] != ZERO:
                        add_product(alpha[b, j], grad[b, i], grad_columns[b, k])


@compiled_sums
def add_grad_average(
    grad: Any,
    first: Any,
    alpha: Any,
    sketch_part: Any,
    update: Any,
    grad_update: Any,
    grad_alpha: Any,
) -> None:
    """The last term of (B1), and (B3), which is added to the gradient of the pre-activations.

    The gradients of t become those of its average, before tanh.
    """
    for b in range(grad.shape[0]):
        grad_average = grad_update[b]
        tanh_gradient(ONE, grad_average, update[b], grad_average)
        for i in range(grad.shape[1]):
            grad_alpha[b, i] += dot(sketch_part[b, i], grad_average)
            if alpha[b, i] != ZERO:
                add_product(alpha[b, i], grad_average, grad[b, i, first:])


@compiled
def add_grad_hidden(
    grad: Any, vector: Any, hidden: Any, grad_scores: Any, grad_vector: Any
) -> None:
    """(B4), which is added to the gradient of the pre-activations."""
    for b in range(grad.shape[0]):
        for i in range(grad.shape[1]):
            grad_score = grad_scores[b, i]
            if grad_score != ZERO:
                add_product(grad_score, hidden[b, i], grad_vector)
                add_tanh_gradient(grad_score, vector, hidden[b, i], grad[b, i])
