"""Checks of the options of components."""

import math

from allennlp.common.checks import ConfigurationError


def check_integers(low: int = 1, high: float = math.inf, **options: int) -> None:
    """Raises a `ConfigurationError` unless all options are integers from `low` to `high`."""
    for name, value in options.items():
        if type(value) is not int or not low <= value <= high:
            expected = f"of at least {low}" if high == math.inf else f"from {low} to {high}"
            raise ConfigurationError(f"{name}: expected an integer {expected}, got {value!r}")


def check_numbers(low: float, high: float = math.inf, **options: float) -> None:
    """Raises a `ConfigurationError` unless all options are finite numbers from `low` to `high`."""
    for name, value in options.items():
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        if not is_number or not low <= value <= high or math.isinf(value):
            expected = f"at least {low:g}" if high == math.inf else f"from {low:g} to {high:g}"
            raise ConfigurationError(f"{name}: expected a number {expected}, got {value!r}")
