"""Scores that are ratios of counts. What would divide by zero is 0."""

from typing import Any

import numpy


def ratio(numerator: Any, denominator: Any) -> Any:
    """The quotient, element by element; 0 where the denominator is 0."""
    out = numpy.zeros(numpy.shape(denominator))
    return numpy.divide(numerator, denominator, out=out, where=numpy.asarray(denominator) != 0)[()]


def precision_recall_f1(correct: Any, predicted: Any, gold: Any) -> tuple[Any, Any, Any]:
    """Precision, recall and F1 of counts, as fractions: F1 = 2 correct / (predicted + gold).

    The counts are numbers, or arrays of one shape, which the results then have too.
    """
    return (
        ratio(correct, predicted),
        ratio(correct, gold),
        ratio(2 * correct, predicted + gold),
    )
