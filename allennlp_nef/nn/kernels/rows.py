"""Operations on rows of numbers, of which the kernels of a step are made."""

from typing import Any

from allennlp_nef.nn.kernels.arithmetic import ONE, ZERO, compiled, compiled_sums, tanh


@compiled
def tanh_row(values: Any) -> None:
    for i in range(values.size):
        values[i] = tanh(values[i])


@compiled_sums
def dot(a: Any, b: Any) -> Any:
    total = ZERO
    for i in range(a.size):
        total += a[i] * b[i]
    return total


@compiled
def copy(source: Any, target: Any) -> None:
    for i in range(target.size):
        target[i] = source[i]


@compiled
def add_product(factor: Any, source: Any, target: Any) -> None:
    for i in range(target.size):
        target[i] += factor * source[i]


@compiled
def tanh_gradient(factor: Any, grad: Any, output: Any, result: Any) -> None:
    """The gradient of tanh, times a factor."""
    for i in range(output.size):
        result[i] = factor * grad[i] * (ONE - output[i] * output[i])
