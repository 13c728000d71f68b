"""Rows of arrays, and exponential and tanh in float32 as vector instructions. Errors are at most 2e-7."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.extending import intrinsic


def compiled(function: Callable[..., Any], *further: str) -> Any:
    """Compiles a kernel at its first call, and keeps the code beside the module or in the user's cache.

    As in C, divisions by zero raise no exception. A product may be fused with a sum; `further` are names of other
    freedoms, as LLVM has them.
    """
    options: Any = {"error_model": "numpy", "fastmath": {"contract", *further}, "nogil": True}
    try:
        return njit(cache=True, **options)(function)
    except RuntimeError:  # there is no folder to write to: it is compiled in each process
        return njit(**options)(function)


def part_of_kernels(function: Callable[..., Any]) -> Any:
    """Compiles a function into each kernel that calls it, with the options of that kernel.

    This saves the call, which takes as long as a row of 100 numbers.
    """
    return njit(inline="always")(function)


def compiled_sums(function: Callable[..., Any]) -> Any:
    """`compiled`, where sums may be taken in any order."""
    return compiled(function, "reassoc", "nsz")


LOWEST = np.float32(-87.0)
"""Below this, the exponential counts as 0. It is at most 1.7e-38."""
ZERO, HALF, ONE, TWO = np.float32(0), np.float32(0.5), np.float32(1), np.float32(2)
LOG2_E = np.float32(math.log2(math.e))
# log 2 in two parts, of which the first has few digits: products with small integers are exact.
LOG_2 = np.float32(0.693359375)
LOG_2_REST = np.float32(math.log(2) - 0.693359375)
C2, C3, C4, C5, C6, C7 = (np.float32(1 / math.factorial(i)) for i in range(2, 8))
LARGEST = np.float32(9)
"""Above this, tanh counts as 1."""
P0, P1, P2 = np.float32(135135), np.float32(17325), np.float32(378)
Q1, Q2, Q3 = np.float32(62370), np.float32(3150), np.float32(28)


def _typed_truncate(context: Any, number: Any) -> Any:
    """A float32 without its digits after the point."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.sitofp(builder.fptosi(arguments[0], ir.IntType(32)), ir.FloatType())

    return types.float32(types.float32), generate


def _typed_power_of_2(context: Any, number: Any) -> Any:
    """2 to a whole number, a float32 from -126 to 127: its exponent in bits."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        bits = ir.IntType(32)
        exponent = builder.add(builder.fptosi(arguments[0], bits), ir.Constant(bits, 127))
        return builder.bitcast(builder.shl(exponent, ir.Constant(bits, 23)), ir.FloatType())

    return types.float32(types.float32), generate


_truncate: Any = intrinsic(_typed_truncate)
_power_of_2: Any = intrinsic(_typed_power_of_2)


@compiled
def exp(x: Any) -> Any:
    """exp(x) of a number that is not positive. NaN stays NaN."""
    is_zero = x < LOWEST
    x = LOWEST if is_zero else x
    exponent = _truncate(x * LOG2_E - HALF)
    r = x - exponent * LOG_2
    r = r - exponent * LOG_2_REST
    series = ONE + r * (ONE + r * (C2 + r * (C3 + r * (C4 + r * (C5 + r * (C6 + r * C7))))))
    return ZERO if is_zero else series * _power_of_2(exponent)


@compiled
def tanh(x: Any) -> Any:
    """tanh(x). NaN stays NaN.

    With p / q for tanh(x / 2), it is 2 p q / (p^2 + q^2). p / q is Lambert's continued fraction x / (1 + x^2 / (3 +
    x^2 / (5 + ...))) of x / 2, to its seventh term.
    """
    x = LARGEST if x > LARGEST else (-LARGEST if x < -LARGEST else x)
    half = HALF * x
    square = half * half
    p = half * (P0 + square * (P1 + square * (P2 + square)))
    q = P0 + square * (Q1 + square * (Q2 + square * Q3))
    return TWO * p * q / (p * p + q * q)


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
