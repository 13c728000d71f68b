"""Operations on rows of numbers, of which the kernels of a step are made."""

from typing import Any

from allennlp_nef.nn._kernels.arithmetic import ONE, ZERO, compiled, part_of_kernels, tanh


@compiled
def tanh_row(values: Any) -> None:
    for i in range(values.size):
        values[i] = tanh(values[i])


@part_of_kernels
def dot(a: Any, b: Any) -> Any:
    total = ZERO
    for i in range(a.size):
        total += a[i] * b[i]
    return total


@part_of_kernels
def copy(source: Any, target: Any) -> None:
    for i in range(target.size):
        target[i] = source[i]


@part_of_kernels
def add_product(factor: Any, source: Any, target: Any) -> None:
    for i in range(target.size):
        target[i] += factor * source[i]


@part_of_kernels
def add_tanh_gradient(factor: Any, grad: Any, output: Any, target: Any) -> None:
    """Adds the gradient of tanh, times a factor."""
    for i in range(output.size):
        target[i] += factor * grad[i] * (ONE - output[i] * output[i])


@part_of_kernels
def tanh_gradient(factor: Any, grad: Any, output: Any, result: Any) -> None:
    """The gradient of tanh, times a factor."""
    for i in range(output.size):
        result[i] = factor * grad[i] * (ONE - output[i] * output[i])
