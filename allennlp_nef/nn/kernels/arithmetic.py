"""Exponential and tanh in float32, in forms that LLVM turns into vector instructions. Errors are at most 2e-7."""

import math
from typing import Any, Callable

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


def compiled_sums(function: Callable[..., Any]) -> Any:
    """`compiled`, where sums may be taken in any order."""
    return compiled(function, "reassoc", "nsz")


LOWEST = np.float32(-87.0)
"""Below this, the exponential counts as 0. It is at most 1.7e-38."""
ZERO, HALF, ONE = np.float32(0), np.float32(0.5), np.float32(1)
TWICE_NEGATIVE = np.float32(-2)
LOG2_E = np.float32(math.log2(math.e))
# log 2 in two parts, of which the first has few digits: products with small integers are exact.
LOG_2 = np.float32(0.693359375)
LOG_2_REST = np.float32(math.log(2) - 0.693359375)
C2, C3, C4, C5, C6, C7 = (np.float32(1 / math.factorial(i)) for i in range(2, 8))


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
    """tanh(x). NaN stays NaN."""
    power = exp(TWICE_NEGATIVE * abs(x))
    result = (ONE - power) / (ONE + power)
    return -result if x < ZERO else result
